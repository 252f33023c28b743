//! The product of two slices, summed over shared dimensions, as batched matrix products.
//!
//! The last dimensions of the output that only one input has are the *columns*, and that input is
//! the right one; those that only the other has are the *rows*; all others of the output are the
//! *batch*. Dimensions that the output lacks are *summed*. The output is then, per batch position,
//! one matrix product [rows × summed]·[summed × columns]. Inputs are packed from wherever they lie
//! (`gemm`), and rows of the output lie where they must, so that nothing is permuted or copied.
//!
//! What is too small or thin for packing, or has no such columns, is computed by [`Sums`].

use super::gemm::{Hand, Part, SUM_BLOCK, Share, Side, Steps, Whole};
use super::number::Number;
use super::strides::{Local, merge};
use super::sums::Sums;
use crate::layout::dims::Name;
use std::ops::Range;

/// Multiplications from which packing pays.
const BLOCKED_WORK: usize = 1 << 12;
/// Rows and columns from which it does.
const BLOCKED_LANES: usize = 4;

/// Multiplications that make a task of its own worth while.
const TASK_WORK: usize = 1 << 18;
/// Tasks that a step should have at least, for threads to share.
const TASKS: usize = 8;
/// The least and the most lanes of a task, and what they are multiples of, left and right: multiples
/// of every tile.
const LEFT_CUT: [usize; 3] = [48, super::gemm::ROW_BLOCK, 12];
const RIGHT_CUT: [usize; 3] = [64, 256, 32];

/// How one einsum is computed; the same on every processor.
#[derive(Debug, Clone)]
pub enum Einsum {
    /// As matrix products.
    Matrices(Matrices),
    /// Sum by sum.
    Sums(Sums),
}

impl Einsum {
    /// The plan for slices of these dimensions.
    pub fn new(a: &Local, b: &Local, out: &Local) -> Self {
        let direct = Matrices::new(a, b, out, false).or_else(|| Matrices::new(b, a, out, true));
        direct.map_or_else(|| Self::Sums(Sums::new(&[a, b], out)), Self::Matrices)
    }
}

/// Batched matrix products.
#[derive(Debug, Clone)]
pub struct Matrices {
    swapped: bool,
    rows: usize,
    columns: usize,
    summed: usize,
    left: Place,
    right: Place,
    /// The batch position and the row of every run of columns in the output.
    runs: Vec<(u32, u32)>,
    /// The side that is cut into tasks, and how many of its lanes a task has.
    part: Hand,
    cut: usize,
}

/// Where an input's matrices lie.
#[derive(Debug, Clone)]
struct Place {
    batch: Steps,
    lanes: Steps,
    sums: Steps,
}

/// What is packed before the tasks: part of a side that all of them need whole.
#[derive(Debug)]
pub struct Packing<'x, 'o, T> {
    side: Side<'x, T>,
    hand: Hand,
    lanes: Range<usize>,
    sums: Range<usize>,
    out: &'o mut [T],
}

/// What a result has beside the side that is cut: the side that is needed whole, its panels if it is
/// packed, and the output.
pub type Other<'x, 'o, T> = (&'x [T], &'x [T], &'o mut [T]);

impl<T: Number> Packing<'_, '_, T> {
    /// Packs it.
    pub fn pack(self) {
        T::pack(self.side, self.hand, (self.lanes, self.sums), self.out);
    }
}

impl Matrices {
    /// The matrix products whose columns are dimensions of `b`; none if that is not worth while.
    fn new(a: &Local, b: &Local, out: &Local, swapped: bool) -> Option<Self> {
        let has = |l: &Local, n: &Name| l.names.contains(n);
        let kept = out.names.iter().rposition(|n| has(a, n) || !has(b, n)).map_or(0, |i| i + 1);
        let (outer, columns) = out.names.split_at(kept);
        let (rows, batch): (Vec<Name>, Vec<Name>) =
            outer.iter().cloned().partition(|n| has(a, n) && !has(b, n));
        let mut summed: Vec<Name> = a.names.iter().filter(|n| !has(out, n)).cloned().collect();
        summed.extend(b.names.iter().filter(|n| !has(out, n) && !has(a, n)).cloned());
        let size = |names: &[Name]| -> Vec<usize> {
            names.iter().map(|n| a.size(n).max(b.size(n))).collect()
        };
        let count = |names: &[Name]| size(names).iter().product::<usize>();
        let (m, n, k) = (count(&rows), count(columns), count(&summed));
        if m.min(n) < BLOCKED_LANES || m * n * k < BLOCKED_WORK {
            return None;
        }
        // Sums in the order that is stored side by side in either input.
        let steps = |l: &Local, names: &[Name]| {
            let strides: Vec<usize> = names.iter().map(|n| l.stride(n)).collect();
            let (sizes, strides) = merge(&size(names), &[strides]);
            Steps::new(&sizes, &strides[0])
        };
        let place = |l: &Local, lanes: &[Name]| Place {
            batch: steps(l, &batch),
            lanes: steps(l, lanes),
            sums: steps(l, &summed),
        };
        let group = |names: &[Name]| Local { names: names.to_vec(), sizes: size(names) };
        let at =
            |names: &[Name]| Steps::new(&size(outer), &group(names).strides_along(&group(outer)));
        let (batch_of, row_of) = (at(&batch), at(&rows));
        let runs = (0..count(outer)).map(|i| (batch_of.at(i) as u32, row_of.at(i) as u32));
        // The smaller side is needed whole by all tasks, the other is cut.
        let part = if m < n { Hand::Right } else { Hand::Left };
        let (lanes, [least, most, unit]) =
            if part == Hand::Right { (n, RIGHT_CUT) } else { (m, LEFT_CUT) };
        let pieces = TASKS.div_ceil(count(&batch)).min((m * n * k).div_ceil(TASK_WORK));
        let cut = lanes.div_ceil(pieces).next_multiple_of(unit).clamp(least, most);
        Some(Self {
            swapped,
            rows: m,
            columns: n,
            summed: k,
            left: place(a, &rows),
            right: place(b, columns),
            runs: runs.collect(),
            part,
            cut,
        })
    }

    /// The input that is cut into tasks and the one that tasks need whole.
    pub const fn sides<'x, T>(&self, a: &'x [T], b: &'x [T]) -> (&'x [T], &'x [T]) {
        let left_is_second = self.swapped;
        let part_is_right = matches!(self.part, Hand::Right);
        if left_is_second == part_is_right { (a, b) } else { (b, a) }
    }

    const fn place(&self, hand: Hand) -> &Place {
        match hand {
            Hand::Left => &self.left,
            Hand::Right => &self.right,
        }
    }

    fn side<'x, T>(&'x self, hand: Hand, data: &'x [T], batch: usize) -> Side<'x, T> {
        let place = self.place(hand);
        Side { data, at: place.batch.at(batch), lanes: &place.lanes, sums: &place.sums }
    }

    fn pieces(&self) -> usize {
        self.place(self.part).lanes.len().div_ceil(self.cut)
    }

    /// Numbers in the panels of the side that is needed whole; none where it is packed by the only
    /// task that needs it.
    pub fn panels<T: Number>(&self) -> usize {
        if self.pieces() == 1 { 0 } else { self.left.batch.len() * self.matrix::<T>() }
    }

    fn matrix<T: Number>(&self) -> usize {
        let hand = self.part.other();
        hand.panels::<T>(self.place(hand).lanes.len(), self.summed)
    }

    /// Cuts panels into parts that can be packed independently.
    pub fn packings<'x, 'o, T: Number>(
        &'x self,
        whole: &'x [T],
        panels: &'o mut [T],
    ) -> Vec<Packing<'x, 'o, T>> {
        let hand = self.part.other();
        let lanes = self.place(hand).lanes.len();
        let padded = hand.panels::<T>(lanes, 1);
        let cut = lanes.div_ceil(2).next_multiple_of(8 * hand.width::<T>());
        let mut parts = Vec::new();
        for (batch, matrix) in panels.chunks_mut(self.matrix::<T>().max(1)).enumerate() {
            let side = self.side(hand, whole, batch);
            for (i, block) in matrix.chunks_mut(SUM_BLOCK * padded).enumerate() {
                let sums = i * SUM_BLOCK..self.summed.min((i + 1) * SUM_BLOCK);
                for (j, out) in block.chunks_mut(cut * sums.len()).enumerate() {
                    let lanes = j * cut..lanes.min((j + 1) * cut);
                    parts.push(Packing { side, hand, lanes, sums: sums.clone(), out });
                }
            }
        }
        parts
    }

    /// The tasks that compute results which share the side that is cut.
    pub fn tasks<'x, 'o, T: Number>(
        &'x self,
        part: &'x [T],
        results: Vec<Other<'x, 'o, T>>,
    ) -> Vec<Part<'x, 'o, T>> {
        let (hand, lanes) = (self.part, self.place(self.part).lanes.len());
        let pieces = self.pieces();
        let task = |i: usize| Part {
            side: self.side(hand, part, i / pieces),
            hand,
            lanes: i % pieces * self.cut..lanes.min((i % pieces + 1) * self.cut),
            shares: Vec::new(),
        };
        let mut tasks: Vec<Part<'x, 'o, T>> =
            (0..self.left.batch.len() * pieces).map(task).collect();
        for (other, panels, out) in results {
            for (i, task) in tasks.iter_mut().enumerate() {
                let batch = i / pieces;
                let whole = if pieces == 1 {
                    Whole::Side(self.side(hand.other(), other, batch))
                } else {
                    let size = self.matrix::<T>();
                    Whole::Panels(&panels[batch * size..(batch + 1) * size])
                };
                let rows = if hand == Hand::Left { task.lanes.len() } else { self.rows };
                task.shares.push(Share { whole, rows: Vec::with_capacity(rows) });
            }
            let mut push = |i: usize, run: &'o mut [T]| {
                if let Some(share) = tasks[i].shares.last_mut() {
                    share.rows.push(run);
                }
            };
            for (&(batch, row), run) in self.runs.iter().zip(out.chunks_mut(self.columns)) {
                let first = batch as usize * pieces;
                match hand {
                    Hand::Left => push(first + row as usize / self.cut, run),
                    Hand::Right => {
                        run.chunks_mut(self.cut).enumerate().for_each(|(i, r)| push(first + i, r));
                    }
                }
            }
        }
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::{Einsum, Packing};
    use crate::exec::number::Number as _;
    use crate::exec::strides::{Input, Local, offset};
    use crate::layout::dims::Name;

    /// What the plan computes, and the same by its definition.
    fn both(a: &Local, b: &Local, out: &Local) -> (bool, Vec<f64>, Vec<f64>) {
        let numbers = |l: &Local, by: usize| -> Vec<f64> {
            (0..l.elements()).map(|i| ((i * by + i / 3) % 11) as f64 - 5.0).collect()
        };
        let (x, y) = (numbers(a, 7), numbers(b, 5));
        let mut found = vec![f64::NAN; out.elements()];
        let by_matrices = match Einsum::new(a, b, out) {
            Einsum::Matrices(plan) => {
                let mut panels = vec![0.0; plan.panels::<f64>()];
                let (part, whole) = plan.sides(&x[..], &y[..]);
                plan.packings(whole, &mut panels).into_iter().for_each(Packing::pack);
                for mut task in plan.tasks(part, vec![(whole, &panels, &mut found)]) {
                    f64::multiply(&mut task);
                }
                true
            }
            Einsum::Sums(plan) => {
                for (i, part) in found.chunks_mut(7).enumerate() {
                    plan.compute([Input::whole(&x), Input::whole(&y)], i * 7, part);
                }
                false
            }
        };
        let mut all = Local { names: out.names.clone(), sizes: out.sizes.clone() };
        for input in [a, b] {
            for (name, &size) in input.names.iter().zip(&input.sizes) {
                if !all.names.contains(name) {
                    all.names.push(Name::clone(name));
                    all.sizes.push(size);
                }
            }
        }
        let mut expected = vec![0.0; out.elements()];
        let at = |l: &Local, i: usize| offset(i, &all.sizes, &l.strides_along(&all));
        for i in 0..all.elements() {
            expected[at(out, i)] += x[at(a, i)] * y[at(b, i)];
        }
        (by_matrices, found, expected)
    }

    #[test]
    fn whatever_the_order_of_dimensions() {
        let sizes = [("b", 3), ("h", 4), ("l", 19), ("m", 33), ("k", 21), ("d", 2)];
        let local = |names: &str| {
            let dims = names.chars().map(|c| sizes.iter().find(|s| s.0 == c.to_string()).unwrap());
            let (names, sizes) = dims.map(|&(name, size)| (name.into(), size)).unzip();
            Local { names, sizes }
        };
        let cases = [
            ("lk", "km", "lm", true),
            ("kl", "mk", "ml", true),
            ("blhk", "bmhk", "bhlm", true),
            ("bhlm", "bmhk", "blhk", true),
            ("blhk", "hkd", "bld", false),
            ("bld", "blhk", "dhk", false),
            ("bhlm", "bmkd", "blkhd", false),
            ("kbl", "mhk", "bmlh", true),
            ("blm", "blm", "m", false),
            ("blm", "blm", "bl", false),
            ("blm", "lm", "mb", false),
            ("k", "km", "m", false),
            ("mk", "k", "m", false),
            ("lk", "bd", "ldkb", false),
        ];
        for (a, b, out, is_large) in cases {
            let (by_matrices, found, expected) = both(&local(a), &local(b), &local(out));
            assert!(by_matrices || !is_large, "{a} {b} -> {out}");
            for (x, y) in found.iter().zip(&expected) {
                assert_eq!(x.to_bits(), (y + 0.0).to_bits(), "{a} {b} -> {out}");
            }
        }
    }
}
