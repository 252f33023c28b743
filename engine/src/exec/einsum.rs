//! The product of two slices, summed over shared dimensions, as batched matrix products.
//!
//! Dimensions fall into four groups: *batch* (in both inputs and the output), *rows* (first input
//! and output), *columns* (second input and output) and *summed* (not in the output). The output
//! is then, per batch position, one matrix product [rows × summed]·[summed × columns]. An input
//! whose groups do not lie at one stride each is copied first; an output stored in another order
//! is computed in group order and permuted.
//!
//! Large products are blocked (`gemm`), the right sides packed once for all who multiply with them;
//! small and thin ones are not worth the packing. Output tiles are fixed by shape, never by thread
//! count, and a sum is never split.

use super::gemm::{self, Matrix, SUM_BLOCK};
use super::number::Number;
use super::strides::{Local, merge, offset};
use crate::layout::dims::Name;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder as _};
use std::borrow::Cow;

/// Rows of one tile of a large product.
const TILE_ROWS: usize = 128;
/// Multiplications that make a tile of its own worth while.
const TILE_WORK: usize = 1 << 16;

/// Multiplications from which packing pays.
const BLOCKED_WORK: usize = 1 << 12;
/// Rows from which it does.
const BLOCKED_ROWS: usize = 4;

/// How one einsum is computed; the same on every processor.
#[derive(Debug, Clone)]
pub struct EinsumPlan {
    swapped: bool,
    batch: usize,
    rows: usize,
    columns: usize,
    summed: usize,
    left: Side,
    right: Side,
    /// How the output in group order maps to storage order, where they differ.
    permute: Option<Permute>,
}

/// One input seen as a batch of matrices.
#[derive(Debug, Clone)]
enum Side {
    /// Read in place: loops over the batch, stride of the outer and the inner matrix dimension.
    Direct { batch_sizes: Vec<usize>, batch_strides: Vec<usize>, outer: usize, inner: usize },
    /// Copied to [batch, outer, inner] first, walking these loops.
    Packed { sizes: Vec<usize>, strides: Vec<usize>, outer: usize, inner: usize },
}

#[derive(Debug, Clone)]
struct Permute {
    sizes: Vec<usize>,
    /// Strides of the storage order's loops in the group-ordered result.
    strides: Vec<usize>,
}

impl EinsumPlan {
    /// The plan for slices of these dimensions.
    pub fn new(a: &Local, b: &Local, out: &Local) -> Self {
        let direct = Self::with_order(a, b, out, false);
        if direct.permute.is_none() {
            return direct;
        }
        let swapped = Self::with_order(b, a, out, true);
        if swapped.permute.is_none() { swapped } else { direct }
    }

    fn with_order(a: &Local, b: &Local, out: &Local, swapped: bool) -> Self {
        let has = |l: &Local, n: &Name| l.names.contains(n);
        let pick = |f: &dyn Fn(&Name) -> bool| -> Vec<Name> {
            out.names.iter().filter(|n| f(n)).cloned().collect()
        };
        let batch = pick(&|n| has(a, n) && has(b, n));
        let rows = pick(&|n| has(a, n) && !has(b, n));
        let columns = pick(&|n| !has(a, n));
        let mut summed: Vec<Name> = a.names.iter().filter(|n| !has(out, n)).cloned().collect();
        summed.extend(b.names.iter().filter(|n| !has(out, n) && !has(a, n)).cloned());
        let size = |names: &[Name]| -> Vec<usize> {
            names.iter().map(|n| a.size(n).max(b.size(n))).collect()
        };
        let order: Vec<Name> = batch.iter().chain(&rows).chain(&columns).cloned().collect();
        let permute = (order != out.names).then(|| {
            let group = Local { sizes: size(&order), names: order };
            let strides = group.strides_along(out);
            let (sizes, mut strides) = merge(&out.sizes, &[strides]);
            Permute { sizes, strides: strides.swap_remove(0) }
        });
        let product = |names: &[Name]| size(names).iter().product();
        Self {
            swapped,
            batch: product(&batch),
            rows: product(&rows),
            columns: product(&columns),
            summed: product(&summed),
            left: Side::new(a, &size, &batch, &rows, &summed),
            right: Side::new(b, &size, &batch, &summed, &columns),
            permute,
        }
    }

    /// Elements of the output in one tile: a whole number of rows within one batch position.
    fn tile(&self) -> usize {
        let work = self.rows * self.columns * self.summed;
        let rows = if work <= TILE_WORK || self.rows <= TILE_ROWS {
            self.rows
        } else if self.rows <= 4 * TILE_ROWS {
            TILE_ROWS
        } else {
            2 * TILE_ROWS
        };
        rows.max(1) * self.columns
    }

    /// The left and the right input.
    pub const fn sides<'x, T>(&self, a: &'x [T], b: &'x [T]) -> (&'x [T], &'x [T]) {
        if self.swapped { (b, a) } else { (a, b) }
    }

    /// The left input in matrix form, copied where it must be.
    pub fn left<'x, T: Number>(&self, left: &'x [T]) -> Cow<'x, [T]> {
        self.left.pack(left)
    }

    /// The right input in matrix form, copied where it must be.
    pub fn right<'x, T: Number>(&self, right: &'x [T]) -> Cow<'x, [T]> {
        self.right.pack(right)
    }

    /// Whether the product is blocked, so that right sides are packed into panels.
    pub const fn is_blocked(&self) -> bool {
        self.rows >= BLOCKED_ROWS && self.rows * self.columns * self.summed >= BLOCKED_WORK
    }

    /// Numbers in the panels of a right side.
    pub const fn panel_elements<T: Number>(&self) -> usize {
        self.batch * gemm::panel_elements::<T>(self.summed, self.columns)
    }

    /// Cuts panels into parts that can be packed independently, each with its batch position and
    /// its first summed element.
    pub fn panel_parts<'o, T: Number>(&self, out: &'o mut [T]) -> Vec<(usize, usize, &'o mut [T])> {
        let padded = self.columns.next_multiple_of(T::COLUMNS);
        let mut parts = Vec::new();
        for (batch, matrix) in out.chunks_mut((self.summed * padded).max(1)).enumerate() {
            for (i, part) in matrix.chunks_mut(SUM_BLOCK * padded).enumerate() {
                parts.push((batch, i * SUM_BLOCK, part));
            }
        }
        parts
    }

    /// Packs one part of the panels.
    pub fn pack_part<T: Number>(&self, right: &[T], (batch, sum): (usize, usize), part: &mut [T]) {
        let (at, row, column) = self.right.matrix(batch, self.summed * self.columns);
        let sums = sum..self.summed.min(sum + SUM_BLOCK);
        T::pack_right(Matrix { data: right, at, row, column }, sums, self.columns, part);
    }

    /// Cuts an output into tiles that can be computed independently, each with its first element.
    pub fn tiles<'o, T: Number>(&self, out: &'o mut [T]) -> Vec<(usize, &'o mut [T])> {
        let matrix = (self.rows * self.columns).max(1);
        let tile = self.tile().max(1);
        let mut tiles = Vec::new();
        for (i, matrix_out) in out.chunks_mut(matrix).enumerate() {
            for (j, part) in matrix_out.chunks_mut(tile).enumerate() {
                tiles.push((i * matrix + j * tile, part));
            }
        }
        tiles
    }

    /// Whether the result in group order must be permuted by [`EinsumPlan::permute`].
    pub const fn is_permuted(&self) -> bool {
        self.permute.is_some()
    }

    /// Elements of the output.
    pub const fn elements(&self) -> usize {
        self.batch * self.rows * self.columns
    }

    /// Computes one tile, `part` of the output in group order beginning at element `start`; `right`
    /// are panels where the product is blocked.
    pub fn compute<T: Number>(&self, left: &[T], right: &[T], start: usize, part: &mut [T]) {
        let matrix = self.rows * self.columns;
        let batch = start / matrix;
        let first_row = start % matrix / self.columns;
        let (at, row, column) = self.left.matrix(batch, self.rows * self.summed);
        let at = at + first_row * row;
        if self.is_blocked() {
            let size = gemm::panel_elements::<T>(self.summed, self.columns);
            let panels = &right[batch * size..(batch + 1) * size];
            let left = Matrix { data: left, at, row, column };
            let shape = (self.summed, self.columns);
            T::multiply(left, panels, shape, part);
            return;
        }
        let rows = part.len() / self.columns;
        let (bt, b_row, b_column) = self.right.matrix(batch, self.summed * self.columns);
        let a = view(left, at, (rows, self.summed), (row, column));
        let b = view(right, bt, (self.summed, self.columns), (b_row, b_column));
        let c = ArrayViewMut2::from_shape((rows, self.columns), part);
        if let (Some(a), Some(b), Ok(mut c)) = (a, b, c) {
            general_mat_mul(T::one(), &a, &b, T::zero(), &mut c);
        }
    }

    /// Copies the part beginning at `start` of the output in storage order from the result in
    /// group order.
    pub fn permute<T: Number>(&self, grouped: &[T], start: usize, part: &mut [T]) {
        if let Some(p) = &self.permute {
            gather(grouped, &p.sizes, &p.strides, start, part);
        }
    }
}

fn view<T>(
    data: &[T],
    at: usize,
    shape: (usize, usize),
    strides: (usize, usize),
) -> Option<ArrayView2<'_, T>> {
    ArrayView2::from_shape(shape.strides(strides), data.get(at..)?).ok()
}

impl Side {
    fn new(
        local: &Local,
        size: &dyn Fn(&[Name]) -> Vec<usize>,
        batch: &[Name],
        outer: &[Name],
        inner: &[Name],
    ) -> Self {
        let strides =
            |names: &[Name]| -> Vec<usize> { names.iter().map(|n| local.stride(n)).collect() };
        let missing = |names: &[Name]| names.iter().any(|n| !local.names.contains(n));
        let (batch_sizes, mut batch_strides) = merge(&size(batch), &[strides(batch)]);
        let (outer_sizes, outer_strides) = merge(&size(outer), &[strides(outer)]);
        let (inner_sizes, inner_strides) = merge(&size(inner), &[strides(inner)]);
        let one_each = outer_sizes.len() == 1 && inner_sizes.len() == 1;
        let unit = outer_strides[0][0] == 1 || inner_strides[0][0] == 1;
        if one_each && unit && !missing(outer) && !missing(inner) {
            return Self::Direct {
                batch_sizes,
                batch_strides: batch_strides.swap_remove(0),
                outer: outer_strides[0][0],
                inner: inner_strides[0][0],
            };
        }
        let all: Vec<Name> = batch.iter().chain(outer).chain(inner).cloned().collect();
        let (sizes, mut packed) = merge(&size(&all), &[strides(&all)]);
        let inner = size(inner).iter().product();
        Self::Packed { sizes, strides: packed.swap_remove(0), outer: inner, inner: 1 }
    }

    fn pack<'x, T: Number>(&self, data: &'x [T]) -> Cow<'x, [T]> {
        match self {
            Self::Direct { .. } => Cow::Borrowed(data),
            Self::Packed { sizes, strides, .. } => {
                let mut out = vec![T::zero(); sizes.iter().product()];
                gather(data, sizes, strides, 0, &mut out);
                Cow::Owned(out)
            }
        }
    }

    /// Where the matrix of a batch position begins, and its two strides.
    fn matrix(&self, batch: usize, elements: usize) -> (usize, usize, usize) {
        match self {
            Self::Direct { batch_sizes, batch_strides, outer, inner } => {
                (offset(batch, batch_sizes, batch_strides), *outer, *inner)
            }
            Self::Packed { outer, inner, .. } => (batch * elements, *outer, *inner),
        }
    }
}

/// Fills `out` with the elements at linear positions `start..` of the loops `sizes` over `data`.
pub fn gather<T: Copy>(
    data: &[T],
    sizes: &[usize],
    strides: &[usize],
    start: usize,
    out: &mut [T],
) {
    let (Some(&run), Some(&step)) = (sizes.last(), strides.last()) else { return };
    let outer = (&sizes[..sizes.len() - 1], &strides[..strides.len() - 1]);
    let (mut at, mut rest) = (start, out);
    while !rest.is_empty() {
        let within = at % run;
        let take = (run - within).min(rest.len());
        let base = offset(at / run, outer.0, outer.1) + within * step;
        let (part, after) = rest.split_at_mut(take);
        match step {
            0 => part.fill(data[base]),
            1 => part.copy_from_slice(&data[base..base + take]),
            _ => {
                for (o, &x) in part.iter_mut().zip(data[base..].iter().step_by(step)) {
                    *o = x;
                }
            }
        }
        at += take;
        rest = after;
    }
}
