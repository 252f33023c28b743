//! Sums, means, maxima and minima of a slice over the dimensions that the output lacks.
//!
//! Accumulation is in 64-bit floats whatever the number type, in storage order of the input.

use super::number::Number;
use super::strides::{Input, Local, merge, offset};
use crate::graph::op::Reduction;

/// Partial results of a run.
const LANES: usize = 8;

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
    pub fn compute<T: Number>(&self, input: Input<'_, T>, start: usize, out: &mut [T]) {
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
                    *sum = self.fold(*sum, input.run(at, run));
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
            Reduction::Sum | Reduction::Mean => first + folded(0.0, run, |a, b| a + b),
            Reduction::Max => folded(first, run, f64::greater),
            Reduction::Min => folded(first, run, f64::lesser),
        }
    }

    fn add_row<T: Number>(&self, input: Input<'_, T>, base: usize, start: usize, sums: &mut [f64]) {
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
            let row = input.tail(at).iter().step_by(step.max(1)).map(|x| x.to_f64());
            let row = sums[i..i + take].iter_mut().zip(row);
            match self.reduction {
                Reduction::Sum | Reduction::Mean => row.for_each(|(sum, x)| *sum += x),
                Reduction::Max => row.for_each(|(sum, x)| *sum = sum.greater(x)),
                Reduction::Min => row.for_each(|(sum, x)| *sum = sum.lesser(x)),
            }
            i += take;
        }
    }
}

/// A run combined in lanes, so that one number does not wait for the one before.
fn folded<T: Number>(first: f64, run: &[T], combine: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [first; LANES];
    let (chunks, rest) = run.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, x.to_f64());
        }
    }
    let rest = rest.iter().map(|x| x.to_f64());
    lanes.into_iter().chain(rest).fold(first, combine)
}
