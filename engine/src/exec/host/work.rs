//! Local work: what processors compute from their own slices, cut into tasks for the pool.

use super::Host;
use crate::exec::buffers::{Buffer, Slice};
use crate::exec::einsum::{Matrices, Other, Packing};
use crate::exec::kernel::{Kernel, Place, TASK};
use crate::exec::number::Number;
use crate::exec::pool::Pool;
use crate::exec::strides::Input;
use crate::exec::sweep::{Context, Member, Sweep};
use crate::graph::op::Element;
use crate::index::{Pnum, ValueId};
use crate::spmd::program::Step;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Operations that one thread does faster than it wakes another.
const FEW: u64 = 1 << 15;

impl<T: Number, P: Pool> Host<T, P> {
    /// Of the processors that make a value, those with the same inputs compute the same: which
    /// result each of them gets, and the first processor of each result.
    /// Where results depend on where a processor stands, they are `placed`.
    fn distinct(
        &self,
        made: ValueId,
        reads: &[ValueId],
        placed: &[ValueId],
    ) -> (Vec<usize>, Vec<usize>) {
        let mut seen: BTreeMap<(Vec<usize>, Vec<u64>), usize> = BTreeMap::new();
        let (mut owner, mut first) = (Vec::new(), Vec::new());
        for pnum in self.program.pnums(self.program.values[made].stage) {
            let p = pnum.0 as usize;
            let address =
                |v: &ValueId| self.at(*v)[p].as_ref().map_or(0, |s| Arc::as_ptr(s).addr());
            let inputs: Vec<usize> = reads.iter().map(address).collect();
            let blocks =
                |v: &ValueId| self.program.values[*v].layout.blocks(&self.program.mesh, pnum);
            let blocks = placed.iter().flat_map(blocks).collect();
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
        step.inputs.iter().map(|&v| self.held(v, p)).collect()
    }

    pub(super) fn product(&mut self, step: &Step, plan: &Matrices, output: ValueId) {
        let (owner, first) = self.distinct(output, &step.inputs, &[]);
        let length = self.program.slice_elements(output) as usize;
        let common = Arc::clone(&self.common);
        let buffers = &common.buffers;
        let mut results: Vec<Buffer<T>> = first.iter().map(|_| buffers.take(length)).collect();
        let inputs = first.iter().map(|&p| self.inputs(step, p));
        let sides: Vec<(&[T], &[T])> = inputs.map(|i| plan.sides(i[0], i[1])).collect();
        let operations = self.program.flops(step) * first.len() as u64;
        // What several processors multiply with is packed once.
        let (wholes, whole_of) = same(sides.iter().map(|side| side.1));
        let mut panels: Vec<Buffer<T>> =
            wholes.iter().map(|_| buffers.take(plan.panels::<T>())).collect();
        let packings = wholes.iter().zip(&mut panels);
        let packings = packings.flat_map(|(whole, panels)| plan.packings(whole, panels)).collect();
        self.spread(operations, packings, Packing::pack);
        let (parts, part_of) = same(sides.iter().map(|side| side.0));
        let mut shared: Vec<Vec<Other<'_, '_, T>>> = parts.iter().map(|_| Vec::new()).collect();
        for ((out, &whole), &part) in results.iter_mut().zip(&whole_of).zip(&part_of) {
            shared[part].push((wholes[whole], &panels[whole], out));
        }
        let tasks = parts.iter().zip(shared);
        let tasks = tasks.flat_map(|(part, results)| plan.tasks(part, results)).collect();
        self.spread(operations, tasks, |mut task| T::multiply(&mut task));
        for buffer in panels {
            buffers.give_back(buffer);
        }
        self.store(output, results, &owner);
    }

    pub(super) fn local(&mut self, step: &Step, output: ValueId, kernel: &Kernel) {
        let placed = kernel.placed_by(step, output);
        let (owner, first) = self.distinct(output, &step.inputs, placed.as_slice());
        let length = self.program.slice_elements(output) as usize;
        let mut results: Vec<Buffer<T>> =
            first.iter().map(|_| self.common.buffers.take(length)).collect();
        let context: Vec<(Vec<Input<'_, T>>, Place)> = first
            .iter()
            .map(|&p| {
                let at = (Pnum(p as u32), self.moment.micro);
                let place = kernel.place(&self.program, step, output, at);
                (self.inputs(step, p).into_iter().map(Input::whole).collect(), place)
            })
            .collect();
        let moment = self.moment;
        let operations = self.program.flops(step).max(length as u64) * first.len() as u64;
        let tasks = chunks(&mut results, kernel.task(length));
        self.spread(operations, tasks, |(i, start, part)| {
            let (inputs, place) = &context[i];
            T::with_memory(|scraps| {
                let registers = &mut scraps.registers;
                kernel.compute(inputs, place, moment, (start, part), registers);
            });
        });
        drop(context);
        self.store(output, results, &owner);
    }

    /// Adds a tensor to what earlier micro-batches left of it.
    pub(super) fn accumulate(&mut self, step: &Step, output: ValueId) {
        let both = [output, step.inputs[0]];
        let (owner, first) = self.distinct(output, &both, &[]);
        let length = self.program.slice_elements(output) as usize;
        let mut results: Vec<Buffer<T>> =
            first.iter().map(|_| self.common.buffers.take(length)).collect();
        let sides: Vec<[&[T]; 2]> =
            first.iter().map(|&p| both.map(|value| self.held(value, p))).collect();
        let operations = (length * first.len()) as u64;
        self.spread(operations, chunks(&mut results, TASK), |(i, start, part)| {
            let [a, b] = sides[i].map(|side| &side[start..start + part.len()]);
            T::zip(Element::Add, a, b, part);
        });
        drop(sides);
        self.release(output);
        self.store(output, results, &owner);
    }

    /// The same numbers in the same order: the slices are shared.
    pub(super) fn share(&mut self, input: ValueId, output: ValueId) {
        let same: Vec<Option<Slice<T>>> = self.at(input).to_vec();
        self.at_mut(output).clone_from_slice(&same);
    }

    pub(super) fn sweep(&mut self, sweep: &Sweep, kernels: &[Kernel]) {
        let program = Arc::clone(&self.program);
        let members = || sweep.members.iter();
        let placed = members().filter_map(|m| {
            let step = &self.program.steps[m.step];
            kernels[m.step].placed_by(step, m.value)
        });
        let placed: Vec<ValueId> = placed.collect();
        let Some(made) = sweep.members.first() else { return };
        let (owner, first) = self.distinct(made.value, &sweep.reads, &placed);
        let stored: Vec<&Member> = members().filter(|m| m.is_stored).collect();
        let mut results: Vec<Vec<Buffer<T>>> = Vec::new();
        for index in 0..first.len() {
            let buffer = |member: &&Member| {
                let old = member.over.and_then(|read| self.taken(sweep.reads[read], index, &owner));
                let length = program.slice_elements(member.value) as usize;
                old.unwrap_or_else(|| self.common.buffers.take(length))
            };
            results.push(stored.iter().map(buffer).collect());
        }
        let context: Vec<Context<'_, T>> = first
            .iter()
            .map(|&p| {
                let read = |&v: &ValueId| self.at(v)[p].as_deref().map(|slice| &slice[..]);
                let place = |m: &Member| {
                    let step = &program.steps[m.step];
                    let at = (Pnum(p as u32), self.moment.micro);
                    kernels[m.step].place(&program, step, m.value, at)
                };
                Context {
                    reads: sweep.reads.iter().map(read).collect(),
                    places: members().map(place).collect(),
                }
            })
            .collect();
        let operations =
            |m: &Member| program.flops(&program.steps[m.step]).max(program.slice_elements(m.value));
        let operations = members().map(operations).sum::<u64>() * first.len() as u64;
        let mut tasks = Vec::new();
        for (values, context) in results.iter_mut().zip(&context) {
            let values = values.iter_mut().map(|buffer| &mut buffer[..]).collect();
            tasks.extend(sweep.tasks(values).into_iter().map(|rows| (context, rows)));
        }
        let moment = self.moment;
        self.spread(operations, tasks, |(context, rows)| {
            T::with_memory(|scraps| sweep.work(kernels, context, moment, rows, scraps));
        });
        drop(context);
        let mut values: Vec<Vec<Buffer<T>>> = stored.iter().map(|_| Vec::new()).collect();
        for result in results {
            values.iter_mut().zip(result).for_each(|(value, buffer)| value.push(buffer));
        }
        for (member, results) in stored.iter().zip(values) {
            self.store(member.value, results, &owner);
        }
    }

    /// Takes the slice that the processors of one result hold of a value, if nobody else reads it.
    fn taken(&mut self, value: ValueId, index: usize, owner: &[usize]) -> Option<Buffer<T>> {
        let all: Vec<usize> = {
            let stage = self.program.values[value].stage;
            self.program.pnums(stage).map(|p| p.0 as usize).collect()
        };
        let holders = || all.iter().zip(owner).filter(|o| *o.1 == index).map(|o| *o.0);
        let slice = self.at(value)[holders().next()?].as_ref()?;
        if Arc::strong_count(slice) != holders().count() {
            return None;
        }
        let mut last = None;
        for p in holders() {
            last = self.at_mut(value)[p].take();
        }
        Arc::try_unwrap(last?).ok()
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
            let post = &self.common.post;
            self.pool.each(tasks, |task| {
                work(task);
                post.moved();
            });
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
pub(super) fn chunks<T: Number>(
    buffers: &mut [Buffer<T>],
    task: usize,
) -> Vec<(usize, usize, &mut [T])> {
    let mut out = Vec::new();
    for (i, buffer) in buffers.iter_mut().enumerate() {
        for (j, part) in buffer.chunks_mut(task.max(1)).enumerate() {
            out.push((i, j * task, part));
        }
    }
    out
}
