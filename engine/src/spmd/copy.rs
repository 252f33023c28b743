//! A pass: the second copy of the model, where micro-batches go both ways.
//!
//! A model is lowered once, for its first copy. The second has the same steps on the same tensors,
//! for its own micro-batches and on its own cells ([`cells`](super::cells)); only what is done once
//! for all micro-batches is done by the first alone. So the copies meet twice, after the last
//! micro-batch:
//!
//! ```text
//! first copy                                        second copy
//! grad/w = accumulate …   each of its micro-batches   grad/w = accumulate …
//! grad/w = accumulate grad/w      ◀── Receive ──    what it has accumulated
//! w ← w − rate · grad/w
//!                                  ── Receive ──▶    w ← w
//! ```
//!
//! Losses, metrics and the statistics of a batch norm are accumulated as gradients are. Optimizer
//! state, which only the update reads, exists once.

use super::bodies::Table;
use super::cells::Cells;
use super::collective::{Collective, CollectiveKind};
use super::program::{Body, BodyKind, Program, Step, Value, ValueIds, Varies, Work};
use crate::index::{IdVec, Stage, ValueId};
use smallvec::smallvec;
use std::collections::{BTreeSet, VecDeque};

/// Adds the second copy, if there is to be one. The steps stand body by body.
pub fn copy(program: &mut Program, table: Table) {
    let Some(cells) = program.cells.clone().filter(|cells| cells.copies() > 1) else { return };
    let wanted = wanted(program);
    let twins = wanted.entries().map(|(id, &is)| is.then(|| second(program, &cells, id)));
    let twins: Vec<Option<Value>> = twins.collect();
    let of = twins.into_iter().map(|twin| twin.map(|value| program.values.push(value)));
    let mut copying = Copying { cells, table, of: of.collect(), steps: Vec::new() };
    copying.values(program);
    copying.steps(program);
    program.steps = copying.steps;
    program.steps.sort_by_key(|step| step.body);
}

/// The values of a step for each micro-batch, and those on which they rest: what the second copy
/// has, too.
fn wanted(program: &Program) -> IdVec<ValueId, bool> {
    let mut wanted: IdVec<ValueId, bool> = program.values.iter().map(|_| false).collect();
    for step in program.steps.iter().rev() {
        if is_twice(program, step, &wanted) {
            step.inputs.iter().chain(&step.outputs).for_each(|&value| wanted[value] = true);
        }
    }
    wanted
}

/// Whether a step is done for the second copy as well.
fn is_twice(program: &Program, step: &Step, wanted: &IdVec<ValueId, bool>) -> bool {
    let kind = program.bodies[step.body].kind;
    let is_wanted = || step.outputs.iter().any(|&output| wanted[output]);
    kind.varies() || (kind == BodyKind::Begin && is_wanted())
}

/// A value as the second copy has it.
fn second(program: &Program, cells: &Cells, id: ValueId) -> Value {
    let value = program.values[id].clone();
    Value { stage: cells.in_copy(value.stage, 1), ..value }
}

/// The steps that accumulate, one for each tensor, in the order of their phases.
fn accumulations(steps: &[Step]) -> VecDeque<Step> {
    let mut seen = BTreeSet::new();
    let sums = steps.iter().filter(|step| step.work == Work::Accumulate);
    let mut sums: Vec<&Step> = sums.filter(|sum| seen.insert(sum.output())).collect();
    sums.sort_by_key(|sum| sum.phase);
    sums.into_iter().cloned().collect()
}

struct Copying {
    cells: Cells,
    table: Table,
    /// The second copy's value for each of the first's.
    of: IdVec<ValueId, Option<ValueId>>,
    steps: Vec<Step>,
}

impl Copying {
    /// Where else values are listed.
    fn values(&self, program: &mut Program) {
        let more: Vec<ValueId> = program.sources.iter().filter_map(|&s| self.of[s]).collect();
        program.sources.extend(more);
        let last = program.last_of.iter();
        let last: Vec<_> = last.filter_map(|(&a, &b)| self.of[a].zip(self.of[b])).collect();
        program.last_of.extend(last);
        let pairs = self.of.entries().filter_map(|(one, other)| Some((one, (*other)?)));
        program.copy_of =
            pairs.filter(|(one, _)| program.values[*one].varies != Varies::No).collect();
        // Of a last micro-batch unlike all others, the first copy has nothing.
        let mut sources = std::mem::take(&mut program.sources);
        sources.retain(|&source| !program.instances(source).is_empty());
        program.sources = sources;
    }

    /// The steps of both copies.
    fn steps(&mut self, program: &mut Program) {
        let wanted: IdVec<ValueId, bool> = self.of.iter().map(Option::is_some).collect();
        let all = std::mem::take(&mut program.steps);
        let mut sums = accumulations(&all);
        for step in all {
            // What was accumulated is added up before anything else is done with it.
            while program.bodies[step.body].kind == BodyKind::End
                && let Some(sum) = sums.pop_front_if(|sum| sum.phase <= step.phase)
            {
                self.add(program, &sum);
            }
            if is_twice(program, &step, &wanted) {
                let twin = self.twin(program, &step);
                self.steps.push(twin);
            }
            let body = program.bodies[step.body];
            let is_run = !body.is_last
                || program.alike(body.stage).end < program.micro_batches_of(body.stage).end;
            if let (Work::Assign, &[target, new]) = (&step.work, &step.inputs[..])
                && let Some(twin) = self.of[target]
            {
                let received = self.hop(program, &step, new, twin);
                let inputs = smallvec![twin, received];
                self.steps.push(Step { inputs, ..step.clone() });
            }
            if is_run {
                self.steps.push(step);
            }
        }
        for sum in sums {
            self.add(program, &sum);
        }
    }

    /// The second copy's step for one of the first's.
    fn twin(&self, program: &Program, step: &Step) -> Step {
        let of = |values: &ValueIds| values.iter().map(|&v| self.of[v].unwrap_or(v)).collect();
        let Body { kind, stage, is_last } = program.bodies[step.body];
        let mut work = step.work.clone();
        if let Work::Collective(collective) = &mut work
            && let CollectiveKind::Hop { from, .. } = &mut collective.kind
        {
            *from = self.cells.in_copy(*from, 1);
        }
        let body = self.table.id(kind, self.cells.in_copy(stage, 1), is_last);
        Step { work, inputs: of(&step.inputs), outputs: of(&step.outputs), body, ..step.clone() }
    }

    /// Adds what the second copy has accumulated to what the first has.
    fn add(&mut self, program: &mut Program, sum: &Step) {
        let Some((output, twin)) = sum.output().and_then(|v| Some((v, self.of[v]?))) else {
            return;
        };
        let body = self.table.id(BodyKind::End, Stage(0), false);
        let at = Step { body, ..sum.clone() };
        let received = self.hop(program, &at, twin, output);
        self.steps.push(Step { inputs: smallvec![received], ..at });
    }

    /// Sends a value to where another one is; what is received there, of that one's kind.
    fn hop(&mut self, program: &mut Program, at: &Step, sent: ValueId, to: ValueId) -> ValueId {
        let (from, there) = (program.values[sent].stage, program.values[to].clone());
        let sends = self.cells.rank(from) != self.cells.rank(there.stage);
        let [message, received] = [there.clone(), there].map(|value| program.values.push(value));
        let kind = CollectiveKind::Hop { from, sends };
        let work = Work::Collective(Collective { kind, axes: vec![self.cells.axis()] });
        let step = |work, input, output| Step {
            work,
            inputs: smallvec![input],
            outputs: smallvec![output],
            ..at.clone()
        };
        self.steps.push(step(Work::Send, sent, message));
        self.steps.push(step(work, message, received));
        received
    }
}
