//! Matrix products: `c[i][j] = Σₖ a[i][k]·b[k][j]`, blocked for the caches.
//!
//! Both matrices are packed into panels, so that the register tiles ([`Tile`]) read memory in order
//! whatever the strides were: the right one whole, once per step and shared by all who multiply
//! with it, the left one block by block ([`ROW_BLOCK`] × [`SUM_BLOCK`] numbers stay in the second
//! level cache) by whoever needs it. After Goto and van de Geijn, "Anatomy of High-Performance
//! Matrix Multiplication" (2008).
//!
//! What a number of the result is depends on the shapes alone, never on how the rows are cut into
//! tasks: every one is the sum over blocks of [`SUM_BLOCK`] in order.

mod tile;

pub use tile::{Tile, Tiled};

use std::ops::Range;

/// Summed elements of a block.
pub const SUM_BLOCK: usize = 256;

/// Rows of a block of the left matrix; a multiple of every tile's rows.
pub const ROW_BLOCK: usize = 132;

/// Panels that are packed together.
const TOGETHER: usize = 8;

/// A matrix within a slice.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'x, T> {
    /// Its elements and others.
    pub data: &'x [T],
    /// Where it begins.
    pub at: usize,
    /// From row to row.
    pub row: usize,
    /// From column to column.
    pub column: usize,
}

/// Numbers in the panels of a right matrix.
pub const fn panel_elements<T: Tiled>(summed: usize, columns: usize) -> usize {
    summed * columns.next_multiple_of(T::COLUMNS)
}

/// Packs the `block`th block of summed elements of a right matrix with so many columns.
pub fn pack_right<T: Tiled + Copy + Default>(
    matrix: Matrix<'_, T>,
    sums: Range<usize>,
    columns: usize,
    out: &mut [T],
) {
    let from = Matrix { at: matrix.at + sums.start * matrix.row, ..matrix };
    let panel = sums.len() * T::COLUMNS;
    // Several panels at a time, so that rows are read in long runs.
    for (i, group) in out.chunks_mut(TOGETHER * panel).enumerate() {
        let first = i * TOGETHER * T::COLUMNS;
        if matrix.column == 1 && first + TOGETHER * T::COLUMNS <= columns {
            for k in 0..sums.len() {
                let start = from.at + k * from.row + first;
                let row = &from.data[start..start + TOGETHER * T::COLUMNS];
                for (j, run) in row.chunks_exact(T::COLUMNS).enumerate() {
                    group[j * panel + k * T::COLUMNS..][..T::COLUMNS].copy_from_slice(run);
                }
            }
            continue;
        }
        for (j, panel) in group.chunks_mut(panel).enumerate() {
            let first = first + j * T::COLUMNS;
            let lanes = first..columns.min(first + T::COLUMNS);
            pack(from, sums.len(), lanes, T::COLUMNS, panel);
        }
    }
}

/// Packs `lanes` (columns of `from`) into a panel of `width`, `length` rows long; what is missing
/// is zero.
fn pack<T: Copy + Default>(
    from: Matrix<'_, T>,
    length: usize,
    lanes: Range<usize>,
    width: usize,
    panel: &mut [T],
) {
    let Matrix { data, at, row, column } = from;
    let (count, at) = (lanes.len(), at + lanes.start * column);
    if count < width {
        panel.fill(T::default());
    }
    if column == 1 {
        for (k, out) in panel.chunks_exact_mut(width).enumerate() {
            let start = at + k * row;
            out[..count].copy_from_slice(&data[start..start + count]);
        }
        return;
    }
    for lane in 0..count {
        let source = &data[at + lane * column..];
        let out = panel.chunks_exact_mut(width);
        if row == 1 {
            out.zip(&source[..length]).for_each(|(out, &x)| out[lane] = x);
        } else {
            out.zip(source.iter().step_by(row)).for_each(|(out, &x)| out[lane] = x);
        }
    }
}

/// Computes rows of a product: `left` begins with them, `right` are the panels of all `summed` ×
/// `columns` numbers, `out` the rows one after the other. `scratch` is memory for a block.
pub fn multiply<T: Tiled + Copy + Default>(
    left: Matrix<'_, T>,
    right: &[T],
    (summed, columns): (usize, usize),
    out: &mut [T],
    scratch: &mut Vec<T>,
) {
    let (rows, tile) = (out.len() / columns, T::tile());
    scratch.resize(ROW_BLOCK * SUM_BLOCK, T::default());
    let padded = columns.next_multiple_of(T::COLUMNS);
    for sum in (0..summed).step_by(SUM_BLOCK) {
        let length = SUM_BLOCK.min(summed - sum);
        let panels = &right[sum * padded..(sum + length) * padded];
        // Blocks of like heights.
        let height = rows.div_ceil(rows.div_ceil(ROW_BLOCK)).next_multiple_of(T::ROWS);
        for row in (0..rows).step_by(height) {
            let count = height.min(rows - row);
            for (i, panel) in scratch.chunks_mut(length * T::ROWS).enumerate() {
                let first = i * T::ROWS;
                if first >= count {
                    break;
                }
                // Rows of the left matrix are the lanes of its panels.
                let at = left.at + sum * left.column + row * left.row;
                let across = Matrix { at, row: left.column, column: left.row, ..left };
                pack(across, length, first..count.min(first + T::ROWS), T::ROWS, panel);
            }
            let out = &mut out[row * columns..(row + count) * columns];
            block(scratch, panels, (length, count, columns), out, (tile, sum == 0));
        }
    }
}

/// One packed block of the left matrix times all panels of the right one.
fn block<T: Tiled + Copy + Default>(
    left: &[T],
    right: &[T],
    (length, rows, columns): (usize, usize, usize),
    out: &mut [T],
    (tile, first): (Tile<T>, bool),
) {
    let mut edge = Vec::new();
    for (j, b) in right.chunks(length * T::COLUMNS).enumerate() {
        let column = j * T::COLUMNS;
        let width = T::COLUMNS.min(columns - column);
        for (i, row) in (0..rows).step_by(T::ROWS).enumerate() {
            let a = &left[i * length * T::ROWS..(i + 1) * length * T::ROWS];
            let height = T::ROWS.min(rows - row);
            let c = &mut out[row * columns + column..];
            if width == T::COLUMNS && height == T::ROWS {
                let end = (T::ROWS - 1) * columns + T::COLUMNS;
                tile(a, b, &mut c[..end], columns, first);
                continue;
            }
            // At the edges the tile is larger than what is left of the result.
            edge.clear();
            edge.resize(T::ROWS * T::COLUMNS, T::default());
            for r in 0..height {
                edge[r * T::COLUMNS..][..width].copy_from_slice(&c[r * columns..][..width]);
            }
            tile(a, b, &mut edge, T::COLUMNS, first);
            for r in 0..height {
                c[r * columns..][..width].copy_from_slice(&edge[r * T::COLUMNS..][..width]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product<T: Tiled + Copy + Default>(
        (rows, summed, columns): (usize, usize, usize),
        transposed: (bool, bool),
        number: impl Fn(usize) -> T,
        cut: usize,
    ) -> (Vec<T>, Vec<T>, Vec<T>) {
        let a: Vec<T> = (0..rows * summed).map(&number).collect();
        let b: Vec<T> = (0..summed * columns).map(|i| number(i + 7)).collect();
        let strides = |t: bool, r: usize, c: usize| if t { (1, r) } else { (c, 1) };
        let (ra, ca) = strides(transposed.0, rows, summed);
        let (rb, cb) = strides(transposed.1, summed, columns);
        let right = Matrix { data: &b, at: 0, row: rb, column: cb };
        let padded = columns.next_multiple_of(T::COLUMNS);
        let mut panels = vec![T::default(); panel_elements::<T>(summed, columns)];
        for (i, part) in panels.chunks_mut(SUM_BLOCK * padded).enumerate() {
            let start = i * SUM_BLOCK;
            pack_right(right, start..summed.min(start + SUM_BLOCK), columns, part);
        }
        let mut out = vec![T::default(); rows * columns];
        let mut scratch = Vec::new();
        for (i, part) in out.chunks_mut(cut * columns).enumerate() {
            let left = Matrix { data: &a, at: i * cut * ra, row: ra, column: ca };
            multiply(left, &panels, (summed, columns), part, &mut scratch);
        }
        (a, b, out)
    }

    #[test]
    fn whole_numbers_multiply_exactly_whatever_the_shape() {
        for shape in [(1, 1, 1), (6, 3, 16), (7, 300, 17), (130, 5, 40), (121, 513, 33)] {
            for transposed in [(false, false), (true, false), (false, true), (true, true)] {
                let (rows, summed, columns) = shape;
                let number = |i: usize| ((i * 7 + i / 5) % 9) as f64 - 4.0;
                let (a, b, out) = product(shape, transposed, number, 50);
                let single = product(shape, transposed, |i| number(i) as f32, rows).2;
                let x = |i: usize, k: usize| {
                    a[if transposed.0 { k * rows + i } else { i * summed + k }]
                };
                let y = |k: usize, j: usize| {
                    b[if transposed.1 { j * summed + k } else { k * columns + j }]
                };
                for (at, (&double, &single)) in out.iter().zip(&single).enumerate() {
                    let (i, j) = (at / columns, at % columns);
                    let sum: f64 = (0..summed).map(|k| x(i, k) * y(k, j)).sum();
                    assert_eq!(double.to_bits(), (sum + 0.0).to_bits(), "{shape:?}");
                    assert_eq!(f64::from(single).to_bits(), (sum + 0.0).to_bits(), "{shape:?}");
                }
            }
        }
    }

    #[test]
    fn how_rows_are_cut_changes_no_bit() {
        let number = |i: usize| (i as f32 * 0.37).sin();
        let whole = product((200, 700, 50), (false, true), number, 200).2;
        let cut = product((200, 700, 50), (false, true), number, 32).2;
        assert!(whole.iter().zip(&cut).all(|(x, y)| x.to_bits() == y.to_bits()));
    }
}
