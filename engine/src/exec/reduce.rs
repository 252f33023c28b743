//! Sums, means, maxima and minima of a slice over the dimensions that the output lacks.
//!
//! Accumulation is in 64-bit floats whatever the number type, in storage order of the input.

use super::number::Number;
use super::strides::{Local, merge, offset};
use crate::graph::op::Reduction;

/// How one reduction is computed; the same on every processor.
#[derive(Debug, Clone)]
pub struct ReducePlan {
    reduction: Reduction,
    /// Multiplied onto every result: 1 / number of elements for a mean.
    scale: f64,
    kept_sizes: Vec<usize>,
    kept_strides: Vec<usize>,
    gone_sizes: Vec<usize>,
    gone_strides: Vec<usize>,
}

impl ReducePlan {
    /// The plan; `whole` is the number of elements of the whole tensor that go into one result.
    pub fn new(reduction: Reduction, input: &Local, out: &Local, whole: f64) -> Self {
        let kept = input.strides_along(out);
        let (kept_sizes, mut kept_strides) = merge(&out.sizes, &[kept]);
        let gone = input.names.iter().enumerate().filter(|(_, n)| !out.names.contains(n));
        let (sizes, strides): (Vec<usize>, Vec<usize>) =
            gone.map(|(i, n)| (input.sizes[i], input.stride(n))).unzip();
        let (gone_sizes, mut gone_strides) = merge(&sizes, &[strides]);
        let scale = if reduction == Reduction::Mean { 1.0 / whole } else { 1.0 };
        Self {
            reduction,
            scale,
            kept_sizes,
            kept_strides: kept_strides.swap_remove(0),
            gone_sizes,
            gone_strides: gone_strides.swap_remove(0),
        }
    }

    /// Elements that go into one result.
    pub fn reduced(&self) -> usize {
        self.gone_sizes.iter().product()
    }

    /// Computes the results `start..` of the output.
    pub fn compute<T: Number>(&self, input: &[T], start: usize, out: &mut [T]) {
        let empty = match self.reduction {
            Reduction::Sum | Reduction::Mean => 0.0,
            Reduction::Max => f64::NEG_INFINITY,
            Reduction::Min => f64::INFINITY,
        };
        let mut sums = vec![empty; out.len()];
        let (run, step) = (
            self.gone_sizes.last().copied().unwrap_or(1),
            self.gone_strides.last().copied().unwrap_or(1),
        );
        let outer = self.gone_sizes.len() - 1;
        let count: usize = self.gone_sizes[..outer].iter().product();
        if step == 1 {
            // What goes lies together: one result after the other.
            for (i, sum) in sums.iter_mut().enumerate() {
                let base = offset(start + i, &self.kept_sizes, &self.kept_strides);
                for g in 0..count {
                    let at =
                        base + offset(g, &self.gone_sizes[..outer], &self.gone_strides[..outer]);
                    *sum = self.fold(*sum, &input[at..at + run]);
                }
            }
        } else {
            // What stays lies together: pass over the input row by row.
            for g in 0..count * run {
                let at = offset(g, &self.gone_sizes, &self.gone_strides);
                self.add_row(input, at, start, &mut sums);
            }
        }
        for (o, sum) in out.iter_mut().zip(sums) {
            *o = T::from_f64(sum * self.scale);
        }
    }

    fn fold<T: Number>(&self, first: f64, run: &[T]) -> f64 {
        match self.reduction {
            Reduction::Sum | Reduction::Mean => {
                // Four lanes, so that the adds do not wait for each other.
                let mut lanes = [0.0; 4];
                let chunks = run.chunks_exact(4);
                let rest: f64 = chunks.remainder().iter().map(|x| x.to_f64()).sum();
                for chunk in chunks {
                    for (lane, x) in lanes.iter_mut().zip(chunk) {
                        *lane += x.to_f64();
                    }
                }
                first + ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + rest
            }
            Reduction::Max => run.iter().fold(first, |m, x| m.greater(x.to_f64())),
            Reduction::Min => run.iter().fold(first, |m, x| m.lesser(x.to_f64())),
        }
    }

    fn add_row<T: Number>(&self, input: &[T], base: usize, start: usize, sums: &mut [f64]) {
        let run = self.kept_sizes.last().copied().unwrap_or(1);
        let step = self.kept_strides.last().copied().unwrap_or(1);
        let outer = self.kept_sizes.len() - 1;
        let mut i = 0;
        while i < sums.len() {
            let within = (start + i) % run;
            let take = (run - within).min(sums.len() - i);
            let row = (start + i) / run;
            let at = base
                + offset(row, &self.kept_sizes[..outer], &self.kept_strides[..outer])
                + within * step;
            for (k, sum) in sums[i..i + take].iter_mut().enumerate() {
                let x = input[at + k * step].to_f64();
                *sum = match self.reduction {
                    Reduction::Sum | Reduction::Mean => *sum + x,
                    Reduction::Max => sum.greater(x),
                    Reduction::Min => sum.lesser(x),
                };
            }
            i += take;
        }
    }
}
