//! Local work: what processors compute from their own slices, cut into tasks for the pool.

use super::Host;
use crate::exec::einsum::EinsumPlan;
use crate::exec::kernel::{Kernel, Place};
use crate::exec::number::Number;
use crate::exec::pool::Pool;
use crate::index::{Pnum, ValueId};
use crate::spmd::program::Step;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Elements of one task of element-wise, reducing or moving work.
pub(super) const TASK: usize = 1 << 15;

/// Operations that one thread does faster than it wakes another.
const FEW: u64 = 1 << 15;

impl<T: Number, P: Pool> Host<T, P> {
    /// Processors with the same inputs compute the same: which result each of them gets, and the
    /// first processor of each result.
    fn distinct(&self, step: &Step, by_position: bool) -> (Vec<usize>, Vec<usize>) {
        let mut seen: BTreeMap<(Vec<usize>, Vec<u64>), usize> = BTreeMap::new();
        let (mut owner, mut first) = (Vec::new(), Vec::new());
        for pnum in self.program.mesh.pnums() {
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

    pub(super) fn einsum(&mut self, step: &Step, plan: &EinsumPlan, output: ValueId) {
        let (owner, first) = self.distinct(step, false);
        let mut buffers = std::mem::take(&mut self.buffers);
        let mut results: Vec<Vec<T>> =
            first.iter().map(|_| buffers.take(plan.elements())).collect();
        let sides: Vec<(&[T], &[T])> = first
            .iter()
            .map(|&p| {
                let inputs = self.inputs(step, p);
                plan.sides(inputs[0], inputs[1])
            })
            .collect();
        // A right side that several processors multiply with is packed once.
        let mut rights: Vec<&[T]> = Vec::new();
        let right_of: Vec<usize> = sides
            .iter()
            .map(|side| {
                let same = rights.iter().position(|r| std::ptr::eq(*r, side.1));
                same.unwrap_or_else(|| {
                    rights.push(side.1);
                    rights.len() - 1
                })
            })
            .collect();
        let lefts: Vec<Cow<'_, [T]>> = sides.iter().map(|side| plan.left(side.0)).collect();
        let rights: Vec<Cow<'_, [T]>> = rights.iter().map(|r| plan.right(r)).collect();
        let operations = self.program.flops(step) * first.len() as u64;
        let blocked = if plan.is_blocked() { rights.len() } else { 0 };
        let mut panels: Vec<Vec<T>> =
            (0..blocked).map(|_| buffers.take(plan.panel_elements::<T>())).collect();
        let mut parts = Vec::new();
        for (panels, right) in panels.iter_mut().zip(&rights) {
            let of_right = plan.panel_parts(panels).into_iter();
            parts.extend(of_right.map(|(batch, sum, part)| (right, batch, sum, part)));
        }
        self.spread(operations, parts, |(right, batch, sum, part)| {
            plan.pack_part(right, (batch, sum), part);
        });
        let mut tasks = Vec::new();
        for ((out, left), &right) in results.iter_mut().zip(&lefts).zip(&right_of) {
            let right = panels.get(right).map_or(&*rights[right], |p| p);
            let tiles = plan.tiles(out).into_iter();
            tasks.extend(tiles.map(|(start, part)| (left, right, start, part)));
        }
        self.spread(operations, tasks, |(left, right, start, part)| {
            plan.compute(left, right, start, part);
        });
        drop((lefts, rights));
        for buffer in panels {
            buffers.give_back(buffer);
        }
        self.buffers = buffers;
        if plan.is_permuted() {
            let grouped = results;
            results = first.iter().map(|_| self.buffers.take(plan.elements())).collect();
            let tasks = chunks(&mut results, TASK);
            self.spread(operations, tasks, |(i, start, part)| {
                plan.permute(&grouped[i], start, part);
            });
            for buffer in grouped {
                self.buffers.give_back(buffer);
            }
        }
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
        let task = if kernel.is_whole() { length } else { TASK };
        self.spread(operations, chunks(&mut results, task), |(i, start, part)| {
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
