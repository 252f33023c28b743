//! Work along one axis that depends on the order of its elements: greatest elements, running sums.
//!
//! A slice is seen as [outer, size, inner]; every line of `size` elements is worked on by itself.

use super::number::Number;
use crate::graph::op::Running;

/// A slice seen along one axis.
#[derive(Debug, Clone, Copy)]
pub struct Lines {
    size: usize,
    inner: usize,
}

impl Lines {
    /// The lines of a slice of these sizes along an axis.
    pub fn new(sizes: &[u64], axis: usize) -> Self {
        Self {
            size: sizes[axis] as usize,
            inner: sizes[axis + 1..].iter().product::<u64>() as usize,
        }
    }

    /// Positions of the greatest elements of every line, greatest first, the first of equals before
    /// the others; the line begins at position `first`, and `out` is [outer, inner, count].
    pub fn top_k<T: Number>(self, input: &[T], first: u64, out: &mut [T]) {
        let count = out.len() / (input.len() / self.size);
        let mut order = Vec::new();
        for (line, ranks) in out.chunks_mut(count).enumerate() {
            let base = self.base(line);
            self.greatest(count, &mut order, |i| (input[base + i * self.inner], i));
            for (rank, &i) in ranks.iter_mut().zip(&order) {
                *rank = T::from_f64((first + i as u64) as f64);
            }
        }
    }

    /// The greatest elements of every line and their positions; `out` is [outer, count, inner, 2].
    pub fn candidates<T: Number>(self, input: &[T], first: u64, out: &mut [T]) {
        let lines = input.len() / self.size;
        let count = out.len() / (2 * lines);
        let mut order = Vec::new();
        for line in 0..lines {
            let base = self.base(line);
            self.greatest(count, &mut order, |i| (input[base + i * self.inner], i));
            for (rank, &i) in order.iter().enumerate() {
                let outer = line / self.inner * count;
                let at = 2 * ((outer + rank) * self.inner + line % self.inner);
                out[at] = input[base + i * self.inner];
                out[at + 1] = T::from_f64((first + i as u64) as f64);
            }
        }
    }

    /// Positions of the greatest of such candidates; `out` is [outer, inner, count].
    pub fn top_k_of_candidates<T: Number>(self, input: &[T], out: &mut [T]) {
        let inner = self.inner / 2;
        let count = out.len() / (input.len() / (2 * self.size));
        let mut order = Vec::new();
        for (line, ranks) in out.chunks_mut(count).enumerate() {
            let base = line / inner * self.size * self.inner + 2 * (line % inner);
            let position = |i: usize| input[base + i * self.inner + 1];
            self.greatest(count, &mut order, |i| {
                (input[base + i * self.inner], position(i).to_f64() as usize)
            });
            for (rank, &i) in ranks.iter_mut().zip(&order) {
                *rank = position(i);
            }
        }
    }

    /// Where a line begins.
    const fn base(self, line: usize) -> usize {
        line / self.inner * self.size * self.inner + line % self.inner
    }

    /// The `count` greatest of a line, by element and then by position, into `order`. What is no
    /// number counts as the greatest.
    fn greatest<T: Number>(
        self,
        count: usize,
        order: &mut Vec<usize>,
        at: impl Fn(usize) -> (T, usize),
    ) {
        let before = |a: &usize, b: &usize| {
            let (a, b) = (at(*a), at(*b));
            let is_none = |x: T| x.to_f64().is_nan();
            let by_element =
                b.0.partial_cmp(&a.0).unwrap_or_else(|| is_none(b.0).cmp(&is_none(a.0)));
            by_element.then(a.1.cmp(&b.1))
        };
        order.clear();
        order.extend(0..self.size);
        if count < self.size {
            order.select_nth_unstable_by(count - 1, before);
        }
        order.truncate(count);
        order.sort_unstable_by(before);
    }

    /// Sums of the elements up to each position of every line, in 64-bit floats.
    pub fn cumsum<T: Number>(self, input: &[T], running: Running, out: &mut [T]) {
        let mut sums = vec![0.0; self.inner];
        let block = self.size * self.inner;
        for (input, out) in input.chunks(block).zip(out.chunks_mut(block)) {
            sums.fill(0.0);
            for i in 0..self.size {
                let row = if running.reverse { self.size - 1 - i } else { i } * self.inner;
                for (k, sum) in sums.iter_mut().enumerate() {
                    let before = *sum;
                    *sum += input[row + k].to_f64();
                    out[row + k] = T::from_f64(if running.exclusive { before } else { *sum });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    /// A diverged run goes on to say so: no order of numbers and what is none ends in a panic.
    #[test]
    fn what_is_no_number_is_the_greatest() {
        let line: Vec<f64> =
            (0..64).map(|i| if i % 3 == 1 { f64::NAN } else { f64::from(i) }).collect();
        let mut ranks = [0.0; 24];
        Lines::new(&[64], 0).top_k(&line, 0, &mut ranks);
        let nones = (0..64).filter(|i| i % 3 == 1).map(f64::from);
        let numbers = [63.0, 62.0, 60.0];
        assert_eq!(ranks.to_vec(), nones.chain(numbers).collect::<Vec<f64>>());
    }
}
