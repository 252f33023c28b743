//! Bytes held: what the values alive at each step take on one processor of each cell.
//!
//! The [`Tally`](super::tally::Tally) takes the most of it. [`over_time`] says when: the same walk,
//! laid on the clock of a pipeline's timeline, in which a floating point operation takes one unit.
//!
//! ```text
//! bytes      ┌─┐   ┌──┐
//!          ┌─┘ └───┘  └┐
//!        ──┘           └──      what is there before and after: parameters, slots, inputs
//!          F0  F1  B1  B0
//! ```

use crate::graph::op::Phase;
use crate::index::{IdVec, Idx as _, MicroBatch, Rank, ValueId};
use crate::spmd::collective::Collective;
use crate::spmd::program::{BodyKind, Entry, Program, Step, Work};
use crate::spmd::run::{MeshImpl, run};
use crate::timeline::{Kind, Task, Timeline};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// What is held, per place along the pipeline, as a walk goes on.
#[derive(Debug)]
pub(super) struct Holding<'p> {
    program: &'p Program,
    bytes: Vec<u64>,
    /// What earlier micro-batches have added to.
    accumulated: BTreeSet<ValueId>,
}

impl<'p> Holding<'p> {
    /// Before the first step: the sources.
    pub(super) fn new(program: &'p Program) -> Self {
        Self { program, bytes: program.source_bytes(), accumulated: BTreeSet::new() }
    }

    /// The bytes held at each place.
    pub(super) fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// A step's results are there; the place that holds more now.
    pub(super) fn add(&mut self, step: &Step) -> Option<usize> {
        let is_there = step.work == Work::Accumulate
            && step.outputs.iter().any(|&output| !self.accumulated.insert(output));
        if is_there {
            return None;
        }
        let place = self.program.rank(self.program.values[step.output()?].stage);
        for &output in &step.outputs {
            self.bytes[place] = self.bytes[place].saturating_add(self.program.slice_bytes(output));
        }
        Some(place)
    }

    /// A value is let go; its place.
    pub(super) fn free(&mut self, value: ValueId) -> usize {
        let place = self.program.rank(self.program.values[value].stage);
        self.bytes[place] = self.bytes[place].saturating_sub(self.program.slice_bytes(value));
        place
    }
}

/// From `time` on, until the next one, so many bytes are held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// When.
    pub time: f64,
    /// How many.
    pub bytes: u64,
}

/// The bytes held at a time; what is first there counts before it, too.
pub fn at(curve: &[Held], time: f64) -> u64 {
    let after = curve.partition_point(|held| held.time <= time);
    curve.get(after.saturating_sub(1)).map_or(0, |held| held.bytes)
}

/// The most bytes held at any time.
pub fn peak(curve: &[Held]) -> u64 {
    curve.iter().map(|held| held.bytes).max().unwrap_or(0)
}

/// The bytes that one processor of each cell holds over the time of a timeline of this Program.
/// Its greatest is the Tally's peak. What another cell sends counts from when it is sent.
pub fn over_time(program: &Program, timeline: &Timeline) -> IdVec<Rank, Vec<Held>> {
    let when = timeline.intervals().flat_map(|(_, interval)| {
        interval.slot.tasks().map(move |task| (task, (interval.start, interval.end)))
    });
    let holding = Holding::new(program);
    let first = holding
        .bytes()
        .iter()
        .map(|&bytes| vec![Note { time: 0.0, bytes, is_own: true }])
        .collect();
    let mut clock = Clock {
        program,
        when: when.collect(),
        end: timeline.end(),
        now: vec![timeline.start(); program.ranks()],
        limit: f64::INFINITY,
        notes: first,
        holding,
    };
    let Ok(()) = run(program, Phase::Update, &mut clock);
    clock.notes.iter().map(|notes| curve(notes)).collect()
}

/// What was held at a place after a step.
#[derive(Debug, Clone, Copy)]
struct Note {
    time: f64,
    bytes: u64,
    /// Whether the place did the step itself.
    is_own: bool,
}

/// A walk that knows what time it is at each place.
struct Clock<'p> {
    program: &'p Program,
    when: BTreeMap<Task, (f64, f64)>,
    end: f64,
    now: Vec<f64>,
    /// When the task that is walked through ends.
    limit: f64,
    notes: Vec<Vec<Note>>,
    holding: Holding<'p>,
}

impl Clock<'_> {
    fn done(&mut self, step: &Step) {
        let changed = self.holding.add(step);
        let here = self.program.rank(self.program.stage(step));
        if self.program.bodies[step.body].kind.varies() {
            let then = self.now[here] + self.program.flops(step) as f64;
            self.now[here] = then.min(self.limit);
        }
        if let Some(place) = changed {
            let (time, bytes) = (self.now[here], self.holding.bytes()[place]);
            self.notes[place].push(Note { time, bytes, is_own: place == here });
        }
    }
}

impl MeshImpl for Clock<'_> {
    type Error = Infallible;

    fn enter(&mut self, _index: usize, entry: Entry) -> Result<(), Infallible> {
        let body = self.program.bodies[entry.body];
        let kinds: &[Kind] = match body.kind {
            BodyKind::Begin => return Ok(()),
            BodyKind::End => {
                self.now.fill(self.end);
                return Ok(());
            }
            BodyKind::Forward => &[Kind::Forward],
            BodyKind::Recompute => &[Kind::Recompute],
            BodyKind::Backward => &[Kind::Backward, Kind::InputGradient],
            BodyKind::WeightGradient => &[Kind::WeightGradient, Kind::Backward],
        };
        let micro_batch = MicroBatch::new(entry.micro as usize);
        let cells = self.program.cells.as_ref();
        let stage = cells.map_or(body.stage, |cells| cells.part_of(body.stage).0);
        let task = |&kind: &Kind| Task { stage, kind, micro_batch };
        let found = kinds.iter().find_map(|kind| self.when.get(&task(kind)));
        if let Some(&(start, end)) = found {
            let now = &mut self.now[self.program.rank(body.stage)];
            // the second half of a task, or of a pair, goes on where the first ended
            *now = now.max(start);
            self.limit = end;
        }
        Ok(())
    }

    fn compute(&mut self, _index: usize, step: &Step) -> Result<(), Infallible> {
        self.done(step);
        Ok(())
    }

    fn collective(
        &mut self,
        _index: usize,
        step: &Step,
        _collective: &Collective,
    ) -> Result<(), Infallible> {
        self.done(step);
        Ok(())
    }

    fn free(&mut self, _index: usize, value: ValueId) -> Result<(), Infallible> {
        let place = self.holding.free(value);
        let (time, bytes) = (self.now[place], self.holding.bytes()[place]);
        self.notes[place].push(Note { time, bytes, is_own: true });
        Ok(())
    }
}

/// Notes in the order of the Program as a curve in the order of time. What others did stays between
/// the place's own steps that it stood between; of what happens at one time the most and the last
/// are kept.
fn curve(notes: &[Note]) -> Vec<Held> {
    let mut before = f64::INFINITY;
    let mut times: Vec<f64> = Vec::with_capacity(notes.len());
    for note in notes.iter().rev() {
        before = if note.is_own { note.time } else { note.time.min(before) };
        times.push(before);
    }
    times.reverse();
    let mut curve: Vec<Held> = Vec::new();
    let mut after = f64::NEG_INFINITY;
    for (note, time) in notes.iter().zip(times) {
        after = time.max(after);
        let held = Held { time: after, bytes: note.bytes };
        match curve.as_mut_slice() {
            [.., most, last] if most.time >= after && last.time >= after => {
                most.bytes = most.bytes.max(last.bytes);
                *last = held;
            }
            [..] => curve.push(held),
        }
    }
    curve
}
