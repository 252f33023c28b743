//! Local work: what processors compute from their own slices, cut into tasks for the pool.

use super::Host;
use crate::exec::einsum::{Matrices, Packing};
use crate::exec::kernel::{Kernel, Place, TASK};
use crate::exec::number::Number;
use crate::exec::pool::Pool;
use crate::index::{Pnum, ValueId};
use crate::spmd::program::Step;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Operations that one thread does faster than it wakes another.
const FEW: u64 = 1 << 15;

impl<T: Number, P: Pool> Host<T, P> {
    /// Processors with the same inputs compute the same: which result each of those at work gets,
    /// and the first processor of each result.
    fn distinct(&self, step: &Step, by_position: bool) -> (Vec<usize>, Vec<usize>) {
        let mut seen: BTreeMap<(Vec<usize>, Vec<u64>), usize> = BTreeMap::new();
        let (mut owner, mut first) = (Vec::new(), Vec::new());
        for pnum in self.program.pnums(self.program.stage(step)) {
            let p = pnum.0 as usize;
            let address =
                |v: &ValueId| self.at(*v)[p].as_ref().map_or(0, |s| Arc::as_ptr(s).addr());
            let inputs: Vec<usize> = step.inputs.iter().map(address).collect();
            let blocks = match step.output() {
                Some(output) if by_position => {
                    self.program.values[output].layout.blocks(&self.program.mesh, pnum)
                }
                _ => Vec::new(),
            };
            let next = first.len();
            let index = *seen.entry((inputs, blocks)).or_insert(next);
            if index == next {
                first.push(p);
            }
            owner.push(index);
        }
        (owner, first)
    }

    fn inputs(&self, step: &Step, p: usize) -> Vec<&[T]> {
        step.inputs.iter().map(|&v| self.at(v)[p].as_ref().map_or(&[][..], |s| &s.0[..])).collect()
    }

    pub(super) fn product(&mut self, step: &Step, plan: &Matrices, output: ValueId) {
        let (owner, first) = self.distinct(step, false);
        let length = self.program.slice_elements(output) as usize;
        let mut buffers = std::mem::take(&mut self.buffers);
        let mut results: Vec<Vec<T>> = first.iter().map(|_| buffers.take(length)).collect();
        let inputs = first.iter().map(|&p| self.inputs(step, p));
        let sides: Vec<(&[T], &[T])> = inputs.map(|i| plan.sides(i[0], i[1])).collect();
        let operations = self.program.flops(step) * first.len() as u64;
        // What several processors multiply with is packed once.
        let (wholes, whole_of) = same(sides.iter().map(|side| side.1));
        let mut panels: Vec<Vec<T>> =
            wholes.iter().map(|_| buffers.take(plan.panels::<T>())).collect();
        let packings = wholes.iter().zip(&mut panels);
        let packings = packings.flat_map(|(whole, panels)| plan.packings(whole, panels)).collect();
        self.spread(operations, packings, Packing::pack);
        let (parts, part_of) = same(sides.iter().map(|side| side.0));
        let mut shared: Vec<Vec<(&[T], &[T], &mut [T])>> =
            parts.iter().map(|_| Vec::new()).collect();
        for ((out, &whole), &part) in results.iter_mut().zip(&whole_of).zip(&part_of) {
            shared[part].push((wholes[whole], &panels[whole], out));
        }
        let tasks = parts.iter().zip(shared);
        let tasks = tasks.flat_map(|(part, results)| plan.tasks(part, results)).collect();
        self.spread(operations, tasks, |mut task| T::multiply(&mut task));
        for buffer in panels {
            buffers.give_back(buffer);
        }
        self.buffers = buffers;
        self.store(output, results, &owner);
    }

    pub(super) fn local(&mut self, step: &Step, output: ValueId, kernel: &Kernel) {
        let (owner, first) = self.distinct(step, kernel.reads_position());
        let length = self.program.slice_elements(output) as usize;
        let mut results: Vec<Vec<T>> = first.iter().map(|_| self.buffers.take(length)).collect();
        let context: Vec<(Vec<&[T]>, Place)> = first
            .iter()
            .map(|&p| {
                let place =
                    kernel.place(&self.program, step, output, (Pnum(p as u32), self.moment.micro));
                (self.inputs(step, p), place)
            })
            .collect();
        let moment = self.moment;
        let operations = self.program.flops(step).max(length as u64) * first.len() as u64;
        self.spread(operations, chunks(&mut results, kernel.task(length)), |(i, start, part)| {
            let (inputs, place) = &context[i];
            kernel.compute(inputs, place, moment, start, part);
        });
        drop(context);
        self.store(output, results, &owner);
    }

    /// Adds a tensor to what earlier micro-batches left of it.
    pub(super) fn accumulate(&mut self, step: &Step, output: ValueId) {
        let both = Step { inputs: vec![output, step.inputs[0]], ..step.clone() };
        let (owner, first) = self.distinct(&both, false);
        let length = self.program.slice_elements(output) as usize;
        let mut results: Vec<Vec<T>> = first.iter().map(|_| self.buffers.take(length)).collect();
        let sides: Vec<Vec<&[T]>> = first.iter().map(|&p| self.inputs(&both, p)).collect();
        let operations = (length * first.len()) as u64;
        self.spread(operations, chunks(&mut results, TASK), |(i, start, part)| {
            let end = start + part.len();
            let side = |k: usize| &sides[i][k][start..end];
            for ((out, &a), &b) in part.iter_mut().zip(side(0)).zip(side(1)) {
                *out = a + b;
            }
        });
        drop(sides);
        self.release(output);
        self.store(output, results, &owner);
    }

    /// Does tasks of so many operations in all: by the pool, or right here where waking others
    /// takes longer than the work.
    pub(super) fn spread<W: Send>(
        &self,
        operations: u64,
        tasks: Vec<W>,
        work: impl Fn(W) + Sync + Send,
    ) {
        if operations < FEW {
            tasks.into_iter().for_each(work);
        } else {
            self.pool.each(tasks, work);
        }
    }
}

/// The different slices among these, and which of them each is.
fn same<'x, T>(slices: impl Iterator<Item = &'x [T]>) -> (Vec<&'x [T]>, Vec<usize>) {
    let mut different: Vec<&[T]> = Vec::new();
    let which = slices.map(|slice| {
        let known = different.iter().position(|d| std::ptr::eq(*d, slice));
        known.unwrap_or_else(|| {
            different.push(slice);
            different.len() - 1
        })
    });
    let which = which.collect();
    (different, which)
}

/// All buffers cut into tasks: (which buffer, first element, part).
pub(super) fn chunks<T>(buffers: &mut [Vec<T>], task: usize) -> Vec<(usize, usize, &mut [T])> {
    let mut out = Vec::new();
    for (i, buffer) in buffers.iter_mut().enumerate() {
        for (j, part) in buffer.chunks_mut(task).enumerate() {
            out.push((i, j * task, part));
        }
    }
    out
}
