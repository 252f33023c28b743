//! The executor: one host owns all processors of the mesh and walks the Program once for them.
//!
//! Processors whose inputs are the same slices in memory (replicas) compute once and share the
//! result, as do the members of an Allreduce or Allgather; what the program *says* each processor
//! does is unchanged, and messages and bytes are counted for all of them, from the slices and
//! groups at hand, never from the plan.

mod work;
mod exchange;

use crate::exec::buffers::{Buffer, Buffers, Slice};
use crate::exec::elementwise::Moment;
use crate::exec::kernel::Kernel;
use crate::exec::number::Number;
use crate::exec::pool::Pool;
use crate::exec::sweep::{Role, Sweep, sweeps};
use crate::graph::op::Phase;
use crate::index::{IdVec, Pnum, ValueId};
use crate::layout::tensor::Combine;
use crate::spmd::cells::Cells;
use crate::spmd::collective::{Collective, CollectiveKind};
use crate::spmd::program::{Entry, Program, Step, Work};
use crate::spmd::run::{MeshImpl, run};
use std::collections::BTreeMap;
use std::convert::Infallible;
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
    plan: Arc<Plan>,
    /// For each value and micro-batch (one, if it does not vary): each processor's slice.
    slices: IdVec<ValueId, Vec<Vec<Option<Slice<T>>>>>,
    buffers: Buffers<T>,
    pool: P,
    moment: Moment,
    counted: Traffic,
    /// Per place along the pipeline, bytes of one processor there.
    held_bytes: Vec<u64>,
    peak: Vec<u64>,
}

/// How the steps of the Program are done.
#[derive(Debug)]
struct Plan {
    kernels: Vec<Kernel>,
    sweeps: Vec<Sweep>,
    roles: Vec<Role>,
}

impl<T: Number, P: Pool> Host<T, P> {
    /// A host for a Program; its sources hold nothing yet.
    pub fn new(program: Arc<Program>, pool: P) -> Self {
        let kernels: Vec<Kernel> = program.steps.iter().map(|s| Kernel::new(&program, s)).collect();
        let (sweeps, roles) = sweeps(&program, &kernels);
        let plan = Arc::new(Plan { kernels, sweeps, roles });
        let processors = program.mesh.processors() as usize;
        let none = |v| vec![vec![None; processors]; program.instances(v).count()];
        let slices = program.values.ids().map(none).collect();
        let held = program.source_bytes();
        Self {
            program,
            plan,
            slices,
            buffers: Buffers::new(),
            pool,
            moment: Moment { step: 0, training: true, micro: 0, share: 1.0 },
            counted: Traffic::default(),
            peak: held.clone(),
            held_bytes: held,
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
    pub fn peak_bytes(&self) -> u64 {
        self.peak.iter().copied().max().unwrap_or(0)
    }

    /// Training steps begun so far.
    pub const fn step_number(&self) -> u64 {
        self.moment.step
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
                let mut out = self.buffers.take(length as usize);
                for (i, o) in out.iter_mut().enumerate() {
                    *o = T::from_f64(at(global_index(i as u64, &sizes, begin, &whole)));
                }
                Arc::new(out)
            });
            let place = &mut self.slices[source][instance][pnum.0 as usize];
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
        let loss = self.slices[program.loss?].first()?.iter().flatten().next()?;
        loss.first().map(|x| x.to_f64())
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
            for slice in self.slices[id].iter_mut().flatten() {
                if let Some(old) = slice.take() {
                    self.buffers.give(old);
                }
            }
        }
        self.held_bytes = program.source_bytes();
    }

    /// The whole tensor that a value holds, row-major; partial values are combined.
    pub fn whole(&self, value: ValueId) -> Option<Vec<f64>> {
        let program = &self.program;
        let mesh = &program.mesh;
        let shape = program.whole_shape(value);
        let whole: Vec<u64> = shape.dims().iter().map(|d| d.size).collect();
        let mut out: Vec<Option<f64>> = vec![None; shape.elements() as usize];
        // Of what has no rows, the last micro-batch's stays.
        let has_rows = program.has_rows(value);
        let each: Vec<(ValueId, u64)> = program.each(value).collect();
        for &(value, micro) in if has_rows { &each[..] } else { &each[each.len() - 1..] } {
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
        }
        out.into_iter().collect()
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
                self.buffers.give(old);
            }
        }
        let rank = self.program.rank(self.program.values[value].stage);
        self.held_bytes[rank] -= self.program.slice_bytes(value);
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
        let rank = self.program.rank(self.program.values[value].stage);
        self.held_bytes[rank] += self.program.slice_bytes(value);
        self.peak[rank] = self.peak[rank].max(self.held_bytes[rank]);
    }

    /// Does a step by itself.
    fn alone(&mut self, step: &Step, output: ValueId, kernel: &Kernel) {
        let goes_on = step.work == Work::Accumulate && self.at(output).iter().any(Option::is_some);
        match (kernel, &step.inputs[..]) {
            (_, &[input]) if step.work == Work::Send => self.hand_on(input, output, None),
            _ if goes_on => self.accumulate(step, output),
            (Kernel::Matrices(plan), _) => self.product(step, plan, output),
            (Kernel::Copy, &[input]) => self.share(input, output),
            _ => self.local(step, output, kernel),
        }
    }
}

impl<T: Number, P: Pool> MeshImpl for Host<T, P> {
    type Error = Infallible;

    fn enter(&mut self, entry: Entry) {
        self.moment.micro = entry.micro;
        self.moment.share = self.program.micro.as_ref().map_or(1.0, |m| m.share(entry.micro));
    }

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Infallible> {
        let (plan, program) = (Arc::clone(&self.plan), Arc::clone(&self.program));
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
        self.count_held(output);
        Ok(())
    }

    fn collective(
        &mut self,
        _index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Infallible> {
        if let CollectiveKind::Hop { sends, .. } = collective.kind {
            for (input, output) in step.carried() {
                self.hand_on(input, output, Some(sends));
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

    fn assign(&mut self, target: ValueId, new: ValueId) -> Result<(), Infallible> {
        for p in 0..self.slices[target][0].len() {
            let slice = self.slices[new][0][p].as_ref().map(Arc::clone);
            if let Some(old) = std::mem::replace(&mut self.slices[target][0][p], slice) {
                self.buffers.give(old);
            }
        }
        Ok(())
    }

    fn free(&mut self, value: ValueId) -> Result<(), Infallible> {
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
