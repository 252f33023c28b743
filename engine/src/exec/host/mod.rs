//! A host: it owns the processors of some places along a pipeline, of all where there is none, and
//! walks their part of the Program once for them.
//!
//! Processors whose inputs are the same slices in memory (replicas) compute once and share the
//! result, as do the members of an Allreduce or Allgather; what the program *says* each processor
//! does is unchanged, and messages and bytes are counted for all of them, from the slices and
//! groups at hand, never from the plan.
//!
//! What goes to processors of another host goes by the [post](super::post).

mod held;
pub mod common;
mod work;
mod exchange;

use self::common::Common;
use self::held::Held;
use crate::exec::buffers::{Buffer, Slice};
use crate::exec::clock::{Clock, Mark, Stopwatch};
use crate::exec::elementwise::Moment;
use crate::exec::kernel::Kernel;
use crate::exec::number::Number;
use crate::exec::pool::Pool;
use crate::exec::post::{At, Closed};
use crate::exec::sweep::Role;
use crate::graph::op::Phase;
use crate::index::{IdVec, Pnum, ValueId};
use crate::layout::tensor::Combine;
use crate::spmd::cells::Cells;
use crate::spmd::collective::{Collective, CollectiveKind};
use crate::spmd::program::{Entry, Program, Step, Work};
use crate::spmd::run::{MeshImpl, run_at};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Messages and bytes, all processors together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Collectives executed, summed over processors.
    pub messages: u64,
    /// Bytes sent, by the ring formulas.
    pub bytes: u64,
}

impl Traffic {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { messages: self.messages + other.messages, bytes: self.bytes + other.bytes }
    }

    /// This much, `times` times.
    #[must_use]
    pub const fn times(self, times: u64) -> Self {
        Self { messages: self.messages * times, bytes: self.bytes * times }
    }
}

/// Some processors, their slices, and what they did so far.
#[derive(Debug)]
pub struct Host<T, P> {
    common: Arc<Common<T>>,
    program: Arc<Program>,
    /// Which of the hosts it is.
    number: usize,
    /// The places along the pipeline whose processors it owns.
    places: Range<usize>,
    /// For each of their values and each micro-batch (one, if it does not vary): each processor's
    /// slice.
    slices: IdVec<ValueId, Vec<Vec<Option<Slice<T>>>>>,
    pool: P,
    moment: Moment,
    /// The step that is done now.
    at: At,
    counted: Traffic,
    held: Held,
    stopwatch: Option<Stopwatch>,
}

/// What a host is to do: a training step, or its first phases.
#[derive(Debug, Clone)]
pub struct Errand {
    /// The last phase.
    pub last: Phase,
    /// Whether it counts, as a step and as traffic; else it is a look at what comes out.
    pub trains: bool,
    /// The clock that measures it, and what that shows at its beginning.
    pub clock: Option<(Clock, f64)>,
}

impl<T: Number, P: Pool> Host<T, P> {
    /// The host of some places; its sources hold nothing yet.
    pub fn new(common: Arc<Common<T>>, number: usize, places: Range<usize>, pool: P) -> Self {
        let program = Arc::clone(&common.program);
        let processors = program.mesh.processors() as usize;
        let none = |v: ValueId| {
            let is_here = places.contains(&program.rank(program.values[v].stage));
            let instances = if is_here { program.instances(v).count() } else { 0 };
            vec![vec![None; processors]; instances]
        };
        let slices = program.values.ids().map(none).collect();
        Self {
            number,
            places,
            slices,
            pool,
            moment: Moment { step: 0, training: true, micro: 0, share: 1.0 },
            at: At { entry: 0, step: 0 },
            counted: Traffic::default(),
            held: Held::new(&program),
            stopwatch: None,
            common,
            program,
        }
    }

    /// The places along the pipeline whose processors it owns.
    pub const fn places(&self) -> &Range<usize> {
        &self.places
    }

    /// What its processors received and exchanged so far.
    pub const fn counted(&self) -> Traffic {
        self.counted
    }

    /// The most bytes one of its processors held at once.
    pub fn peak_bytes(&self) -> u64 {
        self.held.most()
    }

    /// Training steps begun so far.
    pub const fn step_number(&self) -> u64 {
        self.moment.step
    }

    /// The times of its entries in the last errand that was measured.
    pub fn marks(&self) -> &[Mark] {
        self.stopwatch.as_ref().map_or(&[], Stopwatch::marks)
    }

    /// Seconds that it worked for each step of the Program in that errand.
    pub fn worked(&self) -> &[f64] {
        self.stopwatch.as_ref().map_or(&[], Stopwatch::worked)
    }

    /// The instance of a value that is meant now.
    fn instance(&self, value: ValueId) -> usize {
        self.program.instance(value, self.moment.micro)
    }

    /// All processors' slices of a value, as of now.
    fn at(&self, value: ValueId) -> &[Option<Slice<T>>] {
        &self.slices[value][self.instance(value)]
    }

    fn at_mut(&mut self, value: ValueId) -> &mut [Option<Slice<T>>] {
        let instance = self.instance(value);
        &mut self.slices[value][instance]
    }

    /// Fills a source from a function of the row-major index into the whole tensor.
    pub fn set(&mut self, source: ValueId, at: impl Fn(u64) -> f64) {
        let program = Arc::clone(&self.program);
        let sizes = program.slice_sizes(source);
        let whole: Vec<u64> = program.whole_shape(source).dims().iter().map(|d| d.size).collect();
        let mut blocks: BTreeMap<Vec<u64>, Slice<T>> = BTreeMap::new();
        let stage = program.values[source].stage;
        let all = program.instances(source).flat_map(|m| program.pnums(stage).map(move |p| (m, p)));
        for (micro, pnum) in all {
            let instance = program.instance(source, micro);
            let begin = program.slice_begin(source, pnum, micro);
            let slice = blocks.entry(begin).or_insert_with_key(|begin| {
                let length: u64 = sizes.iter().product();
                let mut out = self.common.buffers.take(length as usize);
                for (i, o) in out.iter_mut().enumerate() {
                    *o = T::from_f64(at(global_index(i as u64, &sizes, begin, &whole)));
                }
                Arc::new(out)
            });
            let place = &mut self.slices[source][instance][pnum.0 as usize];
            if let Some(old) = place.replace(Arc::clone(slice)) {
                self.common.buffers.give(old);
            }
        }
    }

    /// Does its part of a step.
    pub fn walk(&mut self, errand: Errand) -> Result<(), Closed> {
        let Errand { last, trains, clock } = errand;
        let before = (self.counted, self.moment);
        if trains {
            let steps = self.program.steps.len();
            self.stopwatch = clock.map(|(clock, zero)| Stopwatch::new(clock, zero, steps));
        }
        let stopwatch = if trains { None } else { self.stopwatch.take() };
        self.common.post.begin(self.number);
        self.clear();
        self.held.begin(&self.program, last);
        self.moment.step += 1;
        self.moment.training = trains;
        let (program, places) = (Arc::clone(&self.program), self.places.clone());
        run_at(&program, last, &places, self)?;
        if !trains {
            (self.counted, self.moment) = before;
            self.stopwatch = stopwatch;
        }
        Ok(())
    }

    /// The first number of a value.
    pub fn first(&self, value: ValueId) -> Option<f64> {
        let slice = self.slices[value].first()?.iter().flatten().next()?;
        slice.first().map(|x| x.to_f64())
    }

    /// Drops all values but the sources.
    fn clear(&mut self) {
        let Common { plan, buffers, .. } = &*self.common;
        for id in self.program.values.ids().filter(|id| !plan.is_source[*id]) {
            let slices = self.slices[id].iter_mut().flatten().filter_map(Option::take);
            slices.for_each(|old| buffers.give(old));
        }
    }

    /// Puts what its processors hold of a value, in a micro-batch, into the whole tensor, row-major;
    /// partial values are combined.
    pub fn put(&self, (value, micro): (ValueId, u64), out: &mut [Option<f64>]) -> Option<()> {
        let program = &self.program;
        let mesh = &program.mesh;
        let shape = program.whole_shape(value);
        let whole: Vec<u64> = shape.dims().iter().map(|d| d.size).collect();
        let v = &program.values[value];
        let sizes = program.slice_sizes(value);
        let replicated = v.layout.replicated_over(mesh);
        let pipe = program.cells.as_ref().map(Cells::axis);
        let first = |p: &Pnum| {
            let mut others = replicated.iter().filter(|&&a| Some(a) != pipe);
            others.all(|&a| mesh.coord(*p, a) == 0)
        };
        let instance = program.instance(value, micro);
        for pnum in program.pnums(v.stage).filter(first) {
            let slice = self.slices[value][instance][pnum.0 as usize].as_ref()?;
            let begin = program.slice_begin(value, pnum, micro);
            for (i, x) in slice.iter().enumerate() {
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
        Some(())
    }

    /// A processor's slice of a value.
    pub fn slice(&self, value: ValueId, pnum: Pnum) -> Option<&[T]> {
        self.slices[value].first()?.get(pnum.0 as usize)?.as_deref().map(|s| &s[..])
    }

    /// What a processor holds of a value; nothing of one that was never stored.
    fn held(&self, value: ValueId, p: usize) -> &[T] {
        self.at(value)[p].as_deref().map_or(&[], |slice| &slice[..])
    }

    /// Gives back the slices of a value.
    fn release(&mut self, value: ValueId) {
        let instance = self.instance(value);
        for slice in &mut self.slices[value][instance] {
            if let Some(old) = slice.take() {
                self.common.buffers.give(old);
            }
        }
        let (rank, bytes) = self.rank_and_bytes(value);
        self.held.less(&self.common.plan.arrivals, rank, self.at, bytes);
    }

    /// Stores results: `owner` says which of `results` each processor of the value's stage holds.
    fn store(&mut self, value: ValueId, results: Vec<Buffer<T>>, owner: &[usize]) {
        let slices: Vec<Slice<T>> = results.into_iter().map(Arc::new).collect();
        let program = Arc::clone(&self.program);
        let places = self.at_mut(value);
        for (pnum, &o) in program.pnums(program.values[value].stage).zip(owner) {
            places[pnum.0 as usize] = Some(Arc::clone(&slices[o]));
        }
    }

    /// Counts what every processor of the value's stage holds more, as the Program says.
    fn count_held(&mut self, value: ValueId) {
        let (rank, bytes) = self.rank_and_bytes(value);
        self.held.more(&self.common.plan.arrivals, rank, self.at, bytes);
    }

    fn rank_and_bytes(&self, value: ValueId) -> (usize, u64) {
        let rank = self.program.rank(self.program.values[value].stage);
        (rank, self.program.slice_bytes(value))
    }

    /// A step begins.
    fn come(&mut self, index: usize) {
        self.at.step = index as u32;
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.come(index);
        }
        self.common.post.come(self.number, self.at);
    }

    /// Does a step by itself.
    fn alone(&mut self, step: &Step, output: ValueId, kernel: &Kernel) {
        let goes_on = step.work == Work::Accumulate && self.at(output).iter().any(Option::is_some);
        match (kernel, &step.inputs[..]) {
            (_, &[input]) if step.work == Work::Send => self.send(input, output),
            _ if goes_on => self.accumulate(step, output),
            (Kernel::Matrices(plan), _) => self.product(step, plan, output),
            (Kernel::Copy, &[input]) => self.share(input, output),
            _ => self.local(step, output, kernel),
        }
    }
}

impl<T: Number, P: Pool> MeshImpl for Host<T, P> {
    type Error = Closed;

    fn enter(&mut self, index: usize, entry: Entry) -> Result<(), Closed> {
        self.moment.micro = entry.micro;
        self.moment.share = self.program.micro.as_ref().map_or(1.0, |m| m.share(entry.micro));
        self.at.entry = index as u32;
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.enter(index);
        }
        self.common.post.check()
    }

    fn leave(&mut self) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.leave();
        }
    }

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Closed> {
        self.come(index);
        let (common, program) = (Arc::clone(&self.common), Arc::clone(&self.program));
        let plan = &common.plan;
        let Some(output) = step.output() else { return Ok(()) };
        match plan.roles[index] {
            Role::Alone => self.alone(step, output, &plan.kernels[index]),
            Role::First(sweep) => {
                let sweep = &plan.sweeps[sweep];
                for &before in &sweep.before {
                    let step = &program.steps[before];
                    if let Some(output) = step.output() {
                        self.alone(step, output, &plan.kernels[before]);
                    }
                }
                self.sweep(sweep, &plan.kernels);
            }
            Role::Done => {}
        }
        // What is sent counts where it arrives.
        if step.work != Work::Send {
            self.count_held(output);
        }
        Ok(())
    }

    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Closed> {
        self.come(index);
        if let CollectiveKind::Hop { from, sends } = collective.kind {
            for (input, output) in step.carried() {
                self.receive(from, input)?;
                self.keep(input, output, sends);
                self.count_held(output);
            }
            return Ok(());
        }
        for (k, (input, output)) in step.carried().enumerate() {
            self.exchange(collective, input, output, k == 0);
            self.count_held(output);
        }
        Ok(())
    }

    fn assign(&mut self, index: usize, target: ValueId, new: ValueId) -> Result<(), Closed> {
        self.come(index);
        for p in 0..self.slices[target][0].len() {
            let slice = self.slices[new][0][p].as_ref().map(Arc::clone);
            if let Some(old) = std::mem::replace(&mut self.slices[target][0][p], slice) {
                self.common.buffers.give(old);
            }
        }
        Ok(())
    }

    fn free(&mut self, index: usize, value: ValueId) -> Result<(), Closed> {
        self.come(index);
        self.release(value);
        Ok(())
    }
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
