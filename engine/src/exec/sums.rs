//! Sums of products of two slices over the dimensions that the output lacks, one after the other:
//! dot products, products with one row, whatever is too small or thin for packed panels.
//!
//! How a number of the output is summed depends on the shapes alone, never on how the output is cut
//! into tasks.

use super::number::Number;
use super::products::LANES;
use super::strides::{Input, Local, merge, offset};
use crate::layout::dims::Name;

/// Numbers that are summed before they are added to the sum of all: rounding errors grow with the
/// number of additions in a row.
const BLOCK: usize = 2048;
/// Results whose sums grow together.
const CHUNK: usize = 512;

/// Loops over both inputs.
#[derive(Debug, Clone)]
struct Loops {
    sizes: Vec<usize>,
    strides: [Vec<usize>; 2],
}

impl Loops {
    fn new(sizes: &[usize], strides: &[Vec<usize>]) -> Self {
        let (sizes, mut merged) = merge(sizes, strides);
        let right = merged.pop().unwrap_or_default();
        Self { sizes, strides: [merged.pop().unwrap_or_default(), right] }
    }

    /// The innermost loop: its size and strides.
    fn last(&self) -> (usize, [usize; 2]) {
        let last = |strides: &[usize]| strides.last().copied().unwrap_or(0);
        (self.sizes.last().copied().unwrap_or(1), [last(&self.strides[0]), last(&self.strides[1])])
    }

    /// Where the `at`th round of the outer loops begins in both inputs.
    fn outer(&self, at: usize) -> [usize; 2] {
        let outer = self.sizes.len() - 1;
        let from = |strides: &[usize]| offset(at, &self.sizes[..outer], &strides[..outer]);
        [from(&self.strides[0]), from(&self.strides[1])]
    }

    /// Rounds of the outer loops.
    fn rounds(&self) -> usize {
        self.sizes[..self.sizes.len() - 1].iter().product()
    }
}

/// How such sums are computed; the same on every processor.
#[derive(Debug, Clone)]
pub struct Sums {
    kept: Loops,
    gone: Loops,
}

impl Sums {
    /// The plan for slices of these dimensions.
    pub fn new(inputs: &[&Local; 2], out: &Local) -> Self {
        let kept: Vec<Vec<usize>> = inputs.iter().map(|i| i.strides_along(out)).collect();
        let mut gone = Local { names: Vec::new(), sizes: Vec::new() };
        for input in inputs {
            for (name, &size) in input.names.iter().zip(&input.sizes) {
                if !out.names.contains(name) && !gone.names.contains(name) {
                    gone.names.push(Name::clone(name));
                    gone.sizes.push(size);
                }
            }
        }
        let strides: Vec<Vec<usize>> = inputs.iter().map(|i| i.strides_along(&gone)).collect();
        Self { kept: Loops::new(&out.sizes, &kept), gone: Loops::new(&gone.sizes, &strides) }
    }

    /// Products that go into one result.
    pub fn summed(&self) -> usize {
        self.gone.sizes.iter().product()
    }

    /// Computes the results `start..`.
    pub fn compute<T: Number>(&self, inputs: [Input<'_, T>; 2], start: usize, out: &mut [T]) {
        let (run, steps) = self.kept.last();
        let (length, [a, b]) = self.gone.last();
        let one_by_one = (a == 1 && b == 1 && length >= LANES) || run == 1;
        super::strides::runs(run, start, out, |round, within, part| {
            let [x, y] = self.kept.outer(round);
            for (i, part) in part.chunks_mut(if one_by_one { 1 } else { CHUNK }).enumerate() {
                let within = within + i * if one_by_one { 1 } else { CHUNK };
                let at = [x + within * steps[0], y + within * steps[1]];
                match part {
                    [single] if one_by_one => *single = self.dot(inputs, at),
                    many => self.many(inputs, at, many),
                }
            }
        });
    }

    /// One result.
    fn dot<T: Number>(&self, [x, y]: [Input<'_, T>; 2], [at_x, at_y]: [usize; 2]) -> T {
        let (run, [a, b]) = self.gone.last();
        let mut sum = T::zero();
        for round in 0..self.gone.rounds() {
            let [from_x, from_y] = self.gone.outer(round);
            let (x, y) = (x.tail(at_x + from_x), y.tail(at_y + from_y));
            if a == 1 && b == 1 {
                for (x, y) in x[..run].chunks(BLOCK).zip(y[..run].chunks(BLOCK)) {
                    sum = sum + T::dot(x, y);
                }
            } else {
                for i in 0..run {
                    sum = sum + x[i * a] * y[i * b];
                }
            }
        }
        sum
    }

    /// A run of results, to all of which the same sums are added in turn.
    fn many<T: Number>(&self, [x, y]: [Input<'_, T>; 2], [at_x, at_y]: [usize; 2], out: &mut [T]) {
        let (run, [a, b]) = self.gone.last();
        let steps = self.kept.last().1;
        out.fill(T::zero());
        for round in 0..self.gone.rounds() {
            let [from_x, from_y] = self.gone.outer(round);
            for k in 0..run {
                let x = x.tail(at_x + from_x + k * a);
                let y = y.tail(at_y + from_y + k * b);
                T::add_products(steps, x, y, out);
            }
        }
    }
}
