//! Tapes over cache-sized chunks: each instruction runs over a chunk of elements before the next
//! does, so the interpretation costs little and intermediate results never leave the cache.

use super::number::Number;
use super::strides::{Input, Local, gather, merge, offset};
use crate::graph::init::uniform;
use crate::graph::op::Noise;
use crate::layout::dims::Shape;
use crate::spmd::tape::{Instr, Tape};

/// Elements per chunk.
const CHUNK: usize = 512;

/// How one tape is computed; the same on every processor but for the positions of its slices.
#[derive(Debug, Clone)]
pub struct TapePlan {
    tape: Tape,
    sizes: Vec<usize>,
    strides: Vec<Vec<usize>>,
    /// For each axis of the output: its size and row-major stride.
    axes: Vec<(usize, usize)>,
    /// Row-major strides of the whole output.
    whole: Vec<u64>,
    reads_position: bool,
}

/// When a step is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// The training step, from 1.
    pub step: u64,
    /// Whether a run trains, rather than looks at what it has learnt.
    pub training: bool,
    /// The micro-batch.
    pub micro: u64,
    /// Its share of the mini-batch's rows.
    pub share: f64,
}

impl Moment {
    /// What random numbers are drawn by, beside the seed: the training step. All looks have the
    /// same, so that what is learnt can be compared from step to step.
    const fn drawn(self) -> u64 {
        if self.training { self.step } else { 0 }
    }
}

impl TapePlan {
    /// The plan for slices of these dimensions.
    pub fn new(tape: &Tape, inputs: &[Local], out: &Local, shape: &Shape) -> Self {
        let mut strides: Vec<Vec<usize>> = inputs.iter().map(|i| i.strides_along(out)).collect();
        // The output's own loops take part, so that merged loops stay row-major in it.
        strides.push(out.strides_along(out));
        let (sizes, mut strides) = merge(&out.sizes, &strides);
        strides.pop();
        let axes = out.names.iter().zip(&out.sizes).map(|(n, &s)| (s, out.stride(n))).collect();
        let after = |i: usize| shape.dims()[i + 1..].iter().map(|d| d.size).product();
        let whole = (0..shape.rank()).map(after).collect();
        let reads_position = tape.reads_position();
        Self { tape: tape.clone(), sizes, strides, axes, whole, reads_position }
    }

    /// Whether the result differs between processors whose inputs are the same.
    pub const fn reads_position(&self) -> bool {
        self.reads_position
    }

    /// The row-major index into the whole output of element `at` of a slice.
    fn global(&self, at: usize, begin: &[u64]) -> u64 {
        let axes = self.axes.iter().zip(begin).zip(&self.whole);
        axes.map(|((&(size, stride), b), whole)| (b + (at / stride % size) as u64) * whole).sum()
    }

    /// The numbers of an input for the results `at..`, where they lie side by side.
    fn run<'x, T: Copy>(
        &self,
        input: Input<'x, T>,
        k: usize,
        (at, length): (usize, usize),
    ) -> Option<&'x [T]> {
        let (strides, outer) = (&self.strides[k], self.sizes.len() - 1);
        let run = self.sizes[outer];
        let lies = strides[outer] == 1 && at % run + length <= run;
        lies.then(|| {
            let base = offset(at / run, &self.sizes[..outer], &strides[..outer]);
            input.run(base + at % run, length)
        })
    }

    /// Computes the results `start..`; `begin` is the slice's first position along each axis, and
    /// `registers` is memory.
    pub fn compute<T: Number>(
        &self,
        inputs: &[Input<'_, T>],
        begin: &[u64],
        moment: Moment,
        (start, out): (usize, &mut [T]),
        registers: &mut Vec<T>,
    ) {
        let code = self.tape.code();
        if registers.len() < code.len() * CHUNK {
            registers.resize(code.len() * CHUNK, T::zero());
        }
        let last = code.len() - 1;
        // Loads that need no copy.
        let mut loaded: Vec<Option<&[T]>> = vec![None; code.len()];
        for (c, out) in out.chunks_mut(CHUNK).enumerate() {
            let (at, length) = (start + c * CHUNK, out.len());
            for (i, instr) in code.iter().enumerate() {
                let (before, rest) = registers.split_at_mut(i * CHUNK);
                if let Instr::Load(k) = *instr {
                    let k = usize::from(k);
                    loaded[i] = self.run(inputs[k], k, (at, length));
                    if loaded[i].is_some() && i < last {
                        continue;
                    }
                }
                let target = if i == last { &mut *out } else { &mut rest[..length] };
                let r = |k: u16| {
                    let k = usize::from(k);
                    loaded[k].unwrap_or_else(|| &before[k * CHUNK..][..length])
                };
                match *instr {
                    Instr::Load(k) => {
                        let k = usize::from(k);
                        gather(inputs[k], &self.sizes, &self.strides[k], at, target);
                    }
                    Instr::Constant(x) => {
                        if c == 0 || i == last {
                            target.fill(T::from_f64(x));
                        }
                    }
                    Instr::Training => target.fill(T::from_f64(f64::from(moment.training))),
                    Instr::Share => target.fill(T::from_f64(moment.share)),
                    Instr::StepNumber => target.fill(T::from_f64(moment.step as f64)),
                    Instr::Index(axis) => {
                        let (size, stride) = self.axes[usize::from(axis)];
                        let first = begin[usize::from(axis)] as usize;
                        for (k, t) in target.iter_mut().enumerate() {
                            *t = T::from_f64((first + (at + k) / stride % size) as f64);
                        }
                    }
                    Instr::Noise(_, Noise::Dropout(_)) if !moment.training => {
                        target.fill(T::one());
                    }
                    Instr::Noise(stream, noise) => {
                        let stream = stream ^ moment.drawn().wrapping_mul(0xD1B5_4A32_D192_ED03);
                        for (k, t) in target.iter_mut().enumerate() {
                            let u = uniform(stream, self.global(at + k, begin));
                            *t = T::from_f64(match noise {
                                Noise::Uniform => u,
                                Noise::Dropout(rate) if u < rate => 0.0,
                                Noise::Dropout(rate) => 1.0 / (1.0 - rate),
                            });
                        }
                    }
                    Instr::One(e, a) => T::map(e, r(a), target),
                    Instr::Two(e, a, b) => T::zip(e, r(a), r(b), target),
                    Instr::Three(_, a, b, c) => T::select(r(a), r(b), r(c), target),
                }
            }
        }
    }
}
