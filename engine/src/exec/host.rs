//! The executor: one host owns all processors of the mesh and walks the Program once for them.
//!
//! Processors whose inputs are the same slices in memory (replicas) compute once and share the
//! result, as do the members of an Allreduce or Allgather; what the program *says* each processor
//! does is unchanged, and messages and bytes are counted for all of them, from the slices and
//! groups at hand, never from the plan.

use super::buffers::{Buffer, Buffers, Slice};
use super::einsum::EinsumPlan;
use super::elementwise::Moment;
use super::kernel::{Kernel, Place};
use super::number::Number;
use super::pool::Pool;
use crate::graph::op::Phase;
use crate::index::{IdVec, Pnum, ValueId};
use crate::layout::tensor::Combine;
use crate::spmd::collective::{Collective, Part};
use crate::spmd::program::{Program, Step};
use crate::spmd::run::{MeshImpl, run};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// Elements of one task of element-wise, reducing or moving work.
const TASK: usize = 1 << 15;

/// Operations that one thread does faster than it wakes another.
const FEW: u64 = 1 << 15;

/// Messages and bytes, all processors together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Collectives executed, summed over processors.
    pub messages: u64,
    /// Bytes sent, by the ring formulas.
    pub bytes: u64,
}

impl Traffic {
    /// This much, `times` times.
    #[must_use]
    pub const fn times(self, times: u64) -> Self {
        Self { messages: self.messages * times, bytes: self.bytes * times }
    }
}

/// All processors, their slices, and what they did so far.
#[derive(Debug)]
pub struct Host<T, P> {
    program: Arc<Program>,
    kernels: Arc<[Kernel]>,
    slices: IdVec<ValueId, Vec<Option<Slice<T>>>>,
    buffers: Buffers<T>,
    pool: P,
    moment: Moment,
    counted: Traffic,
    held: u64,
    peak: u64,
}

impl<T: Number, P: Pool> Host<T, P> {
    /// A host for a Program; its sources hold nothing yet.
    pub fn new(program: Arc<Program>, pool: P) -> Self {
        let kernels = program.steps.iter().map(|s| Kernel::new(&program, s)).collect();
        let processors = program.mesh.processors() as usize;
        let slices = program.values.iter().map(|_| vec![None; processors]).collect();
        let held = program.sources.iter().map(|&s| program.slice_bytes(s)).sum();
        Self {
            program,
            kernels,
            slices,
            buffers: Buffers::new(),
            pool,
            moment: Moment { step: 0, training: true },
            counted: Traffic::default(),
            held,
            peak: held,
        }
    }

    /// The Program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What was sent so far.
    pub const fn counted(&self) -> Traffic {
        self.counted
    }

    /// The most bytes one processor held at once.
    pub const fn peak_bytes(&self) -> u64 {
        self.peak
    }

    /// Training steps begun so far.
    pub const fn step_number(&self) -> u64 {
        self.moment.step
    }

    /// Fills a source from a function of the row-major index into the whole tensor.
    pub fn set(&mut self, source: ValueId, at: impl Fn(u64) -> f64) {
        let program = Arc::clone(&self.program);
        let v = &program.values[source];
        let sizes = program.slice_sizes(source);
        let mut blocks: BTreeMap<Vec<u64>, Slice<T>> = BTreeMap::new();
        for pnum in program.mesh.pnums() {
            let begin = v.layout.slice_begin(&v.shape, &program.mesh, pnum);
            let slice = blocks.entry(begin).or_insert_with_key(|begin| {
                let length: u64 = sizes.iter().product();
                let mut out = self.buffers.take(length as usize);
                let whole: Vec<u64> = v.shape.dims().iter().map(|d| d.size).collect();
                for (i, o) in out.iter_mut().enumerate() {
                    *o = T::from_f64(at(global_index(i as u64, &sizes, begin, &whole)));
                }
                Arc::new(Buffer(out))
            });
            let place = &mut self.slices[source][pnum.0 as usize];
            if let Some(old) = place.replace(Arc::clone(slice)) {
                self.buffers.give(old);
            }
        }
    }

    /// Runs one training step (or its first phases) and returns the loss.
    pub fn step(&mut self, last: Phase) -> Option<f64> {
        let program = Arc::clone(&self.program);
        self.clear();
        self.moment.step += 1;
        let Ok(()) = run(&program, last, self);
        let loss = self.slices[program.loss?].first()?.as_ref()?;
        loss.0.first().map(|x| x.to_f64())
    }

    /// Runs the forward pass without counting it as a step or as traffic of training.
    pub fn look(&mut self) -> Option<f64> {
        let (counted, moment) = (self.counted, self.moment);
        self.moment.training = false;
        let loss = self.step(Phase::Forward);
        (self.counted, self.moment) = (counted, moment);
        loss
    }

    /// Drops all values but the sources.
    fn clear(&mut self) {
        let program = Arc::clone(&self.program);
        for id in program.values.ids().filter(|id| !program.sources.contains(id)) {
            for slice in &mut self.slices[id] {
                if let Some(old) = slice.take() {
                    self.buffers.give(old);
                }
            }
        }
        self.held = program.sources.iter().map(|&s| program.slice_bytes(s)).sum();
    }

    /// The whole tensor that a value holds, row-major; partial values are combined.
    pub fn whole(&self, value: ValueId) -> Option<Vec<f64>> {
        let v = &self.program.values[value];
        let mesh = &self.program.mesh;
        let sizes = self.program.slice_sizes(value);
        let whole: Vec<u64> = v.shape.dims().iter().map(|d| d.size).collect();
        let mut out: Vec<Option<f64>> = vec![None; v.shape.elements() as usize];
        let replicated = v.layout.replicated_over(mesh);
        for pnum in mesh.pnums() {
            if replicated.iter().any(|&a| mesh.coord(pnum, a) != 0) {
                continue;
            }
            let slice = self.slices[value][pnum.0 as usize].as_ref()?;
            let begin = v.layout.slice_begin(&v.shape, mesh, pnum);
            for (i, x) in slice.0.iter().enumerate() {
                let place = &mut out[global_index(i as u64, &sizes, &begin, &whole) as usize];
                let x = x.to_f64();
                *place = Some(match (*place, v.layout.partial().first().map(|p| p.1)) {
                    (Some(before), Some(Combine::Sum)) => before + x,
                    (Some(before), Some(Combine::Max)) => before.greater(x),
                    (Some(before), Some(Combine::Min)) => before.lesser(x),
                    (Some(_) | None, _) => x,
                });
            }
        }
        out.into_iter().collect()
    }

    /// A processor's slice of a value.
    pub fn slice(&self, value: ValueId, pnum: Pnum) -> Option<&[T]> {
        self.slices[value].get(pnum.0 as usize)?.as_ref().map(|s| &s.0[..])
    }

    /// Stores results: `owner[p]` says which of `results` processor p holds.
    fn store(&mut self, value: ValueId, results: Vec<Vec<T>>, owner: &[usize]) {
        let slices: Vec<Slice<T>> = results.into_iter().map(|r| Arc::new(Buffer(r))).collect();
        for (place, &o) in self.slices[value].iter_mut().zip(owner) {
            *place = Some(Arc::clone(&slices[o]));
        }
        self.held += self.program.slice_bytes(value);
        self.peak = self.peak.max(self.held);
    }

    /// Processors with the same inputs compute the same: which result each of them gets, and the
    /// first processor of each result.
    fn distinct(&self, step: &Step, by_position: bool) -> (Vec<usize>, Vec<usize>) {
        let mut seen: BTreeMap<(Vec<usize>, Vec<u64>), usize> = BTreeMap::new();
        let (mut owner, mut first) = (Vec::new(), Vec::new());
        for pnum in self.program.mesh.pnums() {
            let p = pnum.0 as usize;
            let address =
                |v: &ValueId| self.slices[*v][p].as_ref().map_or(0, |s| Arc::as_ptr(s).addr());
            let inputs: Vec<usize> = step.inputs.iter().map(address).collect();
            let blocks = match step.output {
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
        step.inputs
            .iter()
            .map(|&v| self.slices[v][p].as_ref().map_or(&[][..], |s| &s.0[..]))
            .collect()
    }

    fn einsum(&mut self, step: &Step, plan: &EinsumPlan, output: ValueId) {
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

    fn local(&mut self, step: &Step, output: ValueId, kernel: &Kernel) {
        let (owner, first) = self.distinct(step, kernel.reads_position());
        let length = self.program.slice_elements(output) as usize;
        let mut results: Vec<Vec<T>> = first.iter().map(|_| self.buffers.take(length)).collect();
        let context: Vec<(Vec<&[T]>, Place)> = first
            .iter()
            .map(|&p| {
                let place = kernel.place(&self.program, step, output, Pnum(p as u32));
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

    /// Does tasks of so many operations in all: by the pool, or right here where waking others
    /// takes longer than the work.
    fn spread<W: Send>(&self, operations: u64, tasks: Vec<W>, work: impl Fn(W) + Sync + Send) {
        if operations < FEW {
            tasks.into_iter().for_each(work);
        } else {
            self.pool.each(tasks, work);
        }
    }

    fn count(&mut self, collective: &Collective, n: u64, elements: u64) {
        self.counted.messages += collective.messages_of_group(n);
        self.counted.bytes += collective.sent_by_group(n, elements) * T::BYTES;
    }

    fn exchange(&mut self, step: &Step, collective: &Collective, output: ValueId) {
        let input = step.inputs[0];
        let program = Arc::clone(&self.program);
        let sizes = program.slice_sizes(input);
        let combine = collective.combine().unwrap_or(Combine::Sum);
        // Which result each processor gets, and for each result: its group and its member.
        let mut owner = vec![0; program.mesh.processors() as usize];
        let mut wanted: Vec<(Vec<usize>, usize)> = Vec::new();
        let mut seen: BTreeMap<(Vec<usize>, usize), usize> = BTreeMap::new();
        for group in program.mesh.groups(&collective.axes) {
            let members: Vec<usize> = group.iter().map(|p| p.0 as usize).collect();
            let slices = members.iter().map(|&p| self.slices[input][p].as_ref());
            let addresses: Vec<usize> =
                slices.map(|s| s.map_or(0, |s| Arc::as_ptr(s).addr())).collect();
            let elements = self.slices[input][members[0]].as_ref().map_or(0, |s| s.0.len());
            self.count(collective, members.len() as u64, elements as u64);
            for (m, &p) in members.iter().enumerate() {
                let me = if collective.result_is_shared() { 0 } else { m };
                let next = wanted.len();
                let index = *seen.entry((addresses.clone(), me)).or_insert(next);
                if index == next {
                    wanted.push((members.clone(), me));
                }
                owner[p] = index;
            }
        }
        let length = program.slice_elements(output) as usize;
        let mut results: Vec<Vec<T>> = wanted.iter().map(|_| self.buffers.take(length)).collect();
        let slices: Vec<Vec<&[T]>> = wanted
            .iter()
            .map(|(members, _)| {
                let slice =
                    |&p: &usize| self.slices[input][p].as_ref().map_or(&[][..], |s| &s.0[..]);
                members.iter().map(slice).collect()
            })
            .collect();
        let operations = (length * wanted.len() * slices.first().map_or(1, Vec::len)) as u64;
        self.spread(operations, chunks(&mut results, TASK), |(i, start, part)| {
            let slices = &slices[i];
            let part = Part { me: wanted[i].1, start, out: part };
            match combine {
                Combine::Sum => collective.apply(slices, &sizes, part, |a, b| a + b, T::from_f64),
                Combine::Max => collective.apply(slices, &sizes, part, T::greater, T::from_f64),
                Combine::Min => collective.apply(slices, &sizes, part, T::lesser, T::from_f64),
            }
        });
        drop(slices);
        self.store(output, results, &owner);
    }
}

impl<T: Number, P: Pool> MeshImpl for Host<T, P> {
    type Error = Infallible;

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Infallible> {
        let kernels = Arc::clone(&self.kernels);
        if let Some(output) = step.output {
            let kernel = &kernels[index];
            if let Kernel::Einsum(plan) = kernel {
                self.einsum(step, plan, output);
            } else {
                self.local(step, output, kernel);
            }
        }
        Ok(())
    }

    fn collective(
        &mut self,
        _index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Infallible> {
        if let Some(output) = step.output {
            self.exchange(step, collective, output);
        }
        Ok(())
    }

    fn assign(&mut self, target: ValueId, new: ValueId) -> Result<(), Infallible> {
        for p in 0..self.slices[target].len() {
            let slice = self.slices[new][p].as_ref().map(Arc::clone);
            if let Some(old) = std::mem::replace(&mut self.slices[target][p], slice) {
                self.buffers.give(old);
            }
        }
        Ok(())
    }

    fn free(&mut self, value: ValueId) -> Result<(), Infallible> {
        for slice in &mut self.slices[value] {
            if let Some(old) = slice.take() {
                self.buffers.give(old);
            }
        }
        self.held -= self.program.slice_bytes(value);
        Ok(())
    }
}

/// All buffers cut into tasks: (which buffer, first element, part).
fn chunks<T>(buffers: &mut [Vec<T>], task: usize) -> Vec<(usize, usize, &mut [T])> {
    let mut out = Vec::new();
    for (i, buffer) in buffers.iter_mut().enumerate() {
        for (j, part) in buffer.chunks_mut(task).enumerate() {
            out.push((i, j * task, part));
        }
    }
    out
}

/// The row-major index into the whole tensor of element `i` of a slice.
fn global_index(mut i: u64, sizes: &[u64], begin: &[u64], whole: &[u64]) -> u64 {
    let (mut index, mut stride) = (0, 1);
    for axis in (0..sizes.len()).rev() {
        index += (i % sizes[axis] + begin[axis]) * stride;
        i /= sizes[axis];
        stride *= whole[axis];
    }
    index
}
