//! Matrix products: `c[i][j] = Σₖ a[i][k]·b[k][j]`, blocked for the caches.
//!
//! Both matrices are packed into panels ([`Side::pack`]), so that the register tiles ([`Tile`]) read
//! memory in order whatever the strides were. The smaller one is packed whole, once for all tasks
//! ([`Whole::Panels`]); of the larger one, every task packs its own part, block by block of
//! [`SUM_BLOCK`] sums, and what it has packed it multiplies while it is in the cache. After Goto and
//! van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
//!
//! What a number of the result is depends on the shapes alone, never on how the product is cut into
//! tasks: every one is the sum over blocks of [`SUM_BLOCK`] in order.

mod tile;
mod pack;

pub use pack::{Side, Steps};
pub use tile::{Compute, Tile, Tiled};

use std::ops::Range;

/// Summed elements of a block.
pub const SUM_BLOCK: usize = 256;

/// Rows of a block of the left matrix, which stays in the second level cache; a multiple of every
/// tile's rows.
pub const ROW_BLOCK: usize = 132;

/// Which side of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    /// The left matrix, whose lanes are the rows of the result.
    Left,
    /// The right one, whose lanes are its columns.
    Right,
}

impl Hand {
    /// The other.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// Lanes of a panel.
    pub fn width<T: Tiled>(self) -> usize {
        match self {
            Self::Left => T::tile().rows,
            Self::Right => T::tile().columns,
        }
    }

    /// Numbers in the panels of so many lanes and sums.
    pub fn panels<T: Tiled>(self, lanes: usize, sums: usize) -> usize {
        lanes.next_multiple_of(self.width::<T>()) * sums
    }
}

/// The side of a product that a task needs whole.
#[derive(Debug, Clone, Copy)]
pub enum Whole<'x, T> {
    /// Packed before, for all tasks: block of sums after block of sums.
    Panels(&'x [T]),
    /// To be packed by the only task that needs it.
    Side(Side<'x, T>),
}

/// What one result has of a task: the other side, and the rows that the task computes of it.
#[derive(Debug)]
pub struct Share<'x, 'o, T> {
    /// The side that is needed whole.
    pub whole: Whole<'x, T>,
    /// The rows, or the task's columns of all rows.
    pub rows: Vec<&'o mut [T]>,
}

/// A task: some lanes of one side, for all results that share it.
#[derive(Debug)]
pub struct Part<'x, 'o, T> {
    /// The side that is cut into tasks.
    pub side: Side<'x, T>,
    /// Which side that is.
    pub hand: Hand,
    /// This task's lanes.
    pub lanes: Range<usize>,
    /// The results.
    pub shares: Vec<Share<'x, 'o, T>>,
}

/// Memory that a thread keeps for what it packs.
#[derive(Debug, Default)]
pub struct Scratch<T> {
    part: Vec<T>,
    whole: Vec<T>,
    edge: Vec<T>,
}

impl<T> Scratch<T> {
    /// No memory yet.
    pub const fn new() -> Self {
        Self { part: Vec::new(), whole: Vec::new(), edge: Vec::new() }
    }
}

/// Makes room for `length` numbers.
fn grown<T: Copy + Default>(memory: &mut Vec<T>, length: usize) -> &mut [T] {
    if memory.len() < length {
        memory.resize(length, T::default());
    }
    &mut memory[..length]
}

/// Does a task.
pub fn multiply<T: Tiled + Copy + Default>(task: &mut Part<'_, '_, T>, scratch: &mut Scratch<T>) {
    let Part { side, hand, lanes, shares } = task;
    let (tile, summed) = (T::tile(), side.sums.len());
    let Scratch { part, whole, edge } = scratch;
    for start in (0..summed).step_by(SUM_BLOCK) {
        let sums = start..summed.min(start + SUM_BLOCK);
        let length = sums.len();
        let part = grown(part, hand.panels::<T>(lanes.len(), length));
        side.pack(hand.width::<T>(), lanes.clone(), sums.clone(), part);
        for share in &mut *shares {
            let other = match &share.whole {
                Whole::Panels(panels) => {
                    let width = panels.len() / summed;
                    &panels[start * width..sums.end * width]
                }
                Whole::Side(side) => {
                    let (hand, lanes) = (hand.other(), side.lanes.len());
                    let whole = grown(whole, hand.panels::<T>(lanes, length));
                    side.pack(hand.width::<T>(), 0..lanes, sums.clone(), whole);
                    whole
                }
            };
            let (left, right) = match hand {
                Hand::Left => (&*part, other),
                Hand::Right => (other, &*part),
            };
            for (rows, left) in
                share.rows.chunks_mut(ROW_BLOCK).zip(left.chunks(ROW_BLOCK * length))
            {
                block((left, right, length), rows, (tile, start == 0), edge);
            }
        }
    }
}

/// Panels of the left side times all panels of the right one.
fn block<T: Tiled + Copy + Default>(
    (left, right, length): (&[T], &[T], usize),
    rows: &mut [&mut [T]],
    (tile, first): (Tile<T>, bool),
    edge: &mut Vec<T>,
) {
    let columns = rows.first().map_or(0, |row| row.len());
    let compute = tile.compute;
    for (j, b) in right.chunks_exact(length * tile.columns).enumerate() {
        let column = j * tile.columns;
        let width = tile.columns.min(columns - column);
        for (rows, a) in rows.chunks_mut(tile.rows).zip(left.chunks_exact(length * tile.rows)) {
            if width == tile.columns && rows.len() == tile.rows {
                compute(a, b, rows, column, first);
                continue;
            }
            // At the edges the tile is larger than what is left of the result.
            let edge = grown(edge, tile.rows * tile.columns);
            let mut whole: Vec<&mut [T]> = edge.chunks_exact_mut(tile.columns).collect();
            for (row, whole) in rows.iter().zip(&mut whole) {
                whole[..width].copy_from_slice(&row[column..column + width]);
            }
            compute(a, b, &mut whole, 0, first);
            for (row, whole) in rows.iter_mut().zip(&whole) {
                row[column..column + width].copy_from_slice(&whole[..width]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Shape = (usize, usize, usize);

    /// A product cut into tasks of `cut` lanes of the side `hand`; the other one is packed before or
    /// by each task.
    fn product<T: Tiled + Copy + Default>(
        (rows, summed, columns): Shape,
        transposed: (bool, bool),
        number: impl Fn(usize) -> T,
        (hand, cut, before): (Hand, usize, bool),
    ) -> (Vec<T>, Vec<T>, Vec<T>) {
        let a: Vec<T> = (0..rows * summed).map(&number).collect();
        let b: Vec<T> = (0..summed * columns).map(|i| number(i + 7)).collect();
        let steps = |n: usize, stride: usize| Steps::new(&[n], &[stride]);
        let (ra, ka) = if transposed.0 { (1, rows) } else { (summed, 1) };
        let (kb, cb) = if transposed.1 { (1, summed) } else { (columns, 1) };
        let (ra, ka, kb, cb) =
            (steps(rows, ra), steps(summed, ka), steps(summed, kb), steps(columns, cb));
        let left = Side { data: &a, at: 0, lanes: &ra, sums: &ka };
        let right = Side { data: &b, at: 0, lanes: &cb, sums: &kb };
        let (side, whole) = if hand == Hand::Left { (left, right) } else { (right, left) };
        let other = hand.other();
        let mut panels = vec![T::default(); other.panels::<T>(whole.lanes.len(), summed)];
        let padded = panels.len() / summed;
        for (i, block) in panels.chunks_mut(SUM_BLOCK * padded).enumerate() {
            let sums = i * SUM_BLOCK..summed.min((i + 1) * SUM_BLOCK);
            whole.pack(other.width::<T>(), 0..whole.lanes.len(), sums, block);
        }
        let mut out = vec![T::default(); rows * columns];
        let mut parts: Vec<Vec<&mut [T]>> =
            (0..side.lanes.len().div_ceil(cut)).map(|_| Vec::new()).collect();
        for (i, row) in out.chunks_mut(columns).enumerate() {
            match hand {
                Hand::Left => parts[i / cut].push(row),
                Hand::Right => {
                    row.chunks_mut(cut).zip(&mut parts).for_each(|(r, part)| part.push(r));
                }
            }
        }
        let mut scratch = Scratch::new();
        for (i, rows) in parts.into_iter().enumerate() {
            let lanes = i * cut..side.lanes.len().min((i + 1) * cut);
            let whole = if before { Whole::Panels(&panels) } else { Whole::Side(whole) };
            let shares = vec![Share { whole, rows }];
            multiply(&mut Part { side, hand, lanes, shares }, &mut scratch);
        }
        (a, b, out)
    }

    #[test]
    fn whole_numbers_multiply_exactly_whatever_the_shape() {
        let cuts = [(Hand::Left, 48, true), (Hand::Right, 16, true), (Hand::Left, 1000, false)];
        for shape in [(1, 1, 1), (6, 3, 16), (7, 300, 17), (140, 5, 150), (121, 513, 33)] {
            for transposed in [(false, false), (true, false), (false, true), (true, true)] {
                for cut in cuts {
                    let number = |i: usize| ((i * 7 + i / 5) % 9) as f64 - 4.0;
                    let (a, b, double) = product(shape, transposed, number, cut);
                    let single = product(shape, transposed, |i| number(i) as f32, cut).2;
                    let expected = by_definition(shape, transposed, &a, &b);
                    for ((x, double), single) in expected.into_iter().zip(double).zip(single) {
                        assert_eq!(double.to_bits(), x.to_bits(), "{shape:?}");
                        assert_eq!(f64::from(single).to_bits(), x.to_bits(), "{shape:?}");
                    }
                }
            }
        }
    }

    fn by_definition(
        (rows, summed, columns): Shape,
        transposed: (bool, bool),
        a: &[f64],
        b: &[f64],
    ) -> Vec<f64> {
        let x = |i: usize, k: usize| a[if transposed.0 { k * rows + i } else { i * summed + k }];
        let y = |k: usize, j: usize| b[if transposed.1 { j * summed + k } else { k * columns + j }];
        let at = |at: usize| (at / columns, at % columns);
        let sum = |(i, j)| (0..summed).map(|k| x(i, k) * y(k, j)).sum::<f64>() + 0.0;
        (0..rows * columns).map(|i| sum(at(i))).collect()
    }

    #[test]
    fn how_a_product_is_cut_changes_no_bit() {
        let number = |i: usize| (i as f32 * 0.37).sin();
        let cut = |cut| product((200, 700, 50), (false, true), number, cut).2;
        let whole = cut((Hand::Left, 200, true));
        for other in [(Hand::Left, 24, true), (Hand::Right, 16, true), (Hand::Right, 50, false)] {
            assert!(whole.iter().zip(cut(other)).all(|(x, y)| x.to_bits() == y.to_bits()));
        }
    }
}
