//! Work along one axis that depends on the order of its elements: greatest elements, running sums.
//!
//! A slice is seen as [outer, size, inner]; every line of `size` elements is worked on by itself.

use super::number::Number;
use crate::graph::op::Running;
use std::cmp::Ordering;

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

    /// Positions of the `count` greatest elements of every line, greatest first, the first of equals
    /// before the others; `out` is [outer, inner, count].
    pub fn top_k<T: Number>(self, input: &[T], count: usize, out: &mut [T]) {
        let mut order: Vec<usize> = Vec::new();
        for (line, ranks) in out.chunks_mut(count).enumerate() {
            let base = line / self.inner * self.size * self.inner + line % self.inner;
            let at = |i: usize| input[base + i * self.inner];
            let before = |a: &usize, b: &usize| {
                at(*b).partial_cmp(&at(*a)).unwrap_or(Ordering::Equal).then(a.cmp(b))
            };
            order.clear();
            order.extend(0..self.size);
            if count < self.size {
                order.select_nth_unstable_by(count - 1, before);
            }
            order[..count].sort_unstable_by(before);
            for (rank, &position) in ranks.iter_mut().zip(&order) {
                *rank = T::from_f64(position as f64);
            }
        }
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
