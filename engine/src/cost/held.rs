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
use crate::spmd::program::{BodyKind, Entry, Program, Step, Value, Work};
use crate::spmd::run::{MeshImpl, run, walk};
use crate::timeline::{Kind, Task, Timeline};
use indexmap::IndexMap;
use std::convert::Infallible;

/// What a step takes, looked up once: it is walked through for every micro-batch.
#[derive(Debug)]
pub(super) struct Spent {
    /// Floating point operations of each step.
    pub(super) flops: Vec<f64>,
    /// On how many processors the same is done.
    pub(super) copies: Vec<u64>,
    /// The place along the pipeline that does it.
    pub(super) place: Vec<usize>,
}

impl Spent {
    /// That of all steps of a Program.
    pub(super) fn of(program: &Program) -> Self {
        let count = program.steps.len();
        let spent = Self { flops: vec![0.0; count], copies: vec![1; count], place: vec![0; count] };
        let mut looking = Looking { program, spent };
        let Ok(()) = walk(program, &mut looking);
        looking.spent
    }
}

/// Looks at every step once.
struct Looking<'p> {
    program: &'p Program,
    spent: Spent,
}

impl MeshImpl for Looking<'_> {
    type Error = Infallible;

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Infallible> {
        self.spent.flops[index] = self.program.flops(step) as f64;
        self.spent.copies[index] = self.program.mesh.group_size(&self.program.repeated(step));
        self.spent.place[index] = self.program.rank(self.program.stage(step));
        Ok(())
    }

    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        _collective: &Collective,
    ) -> Result<(), Infallible> {
        self.compute(index, step)
    }
}

/// A value as it is held.
#[derive(Debug, Clone, Copy)]
struct Slice {
    place: usize,
    bytes: u64,
    /// Whether an earlier micro-batch has added to it.
    is_accumulated: bool,
}

/// What is held, per place along the pipeline, as a walk goes on.
#[derive(Debug)]
pub(super) struct Holding {
    bytes: Vec<u64>,
    slices: IdVec<ValueId, Slice>,
}

impl Holding {
    /// Before the first step: the sources.
    pub(super) fn new(program: &Program) -> Self {
        let slice = |(id, value): (ValueId, &Value)| Slice {
            place: program.rank(value.stage),
            bytes: program.slice_bytes(id),
            is_accumulated: false,
        };
        let slices = program.values.entries().map(slice).collect();
        Self { bytes: program.source_bytes(), slices }
    }

    /// The bytes held at each place.
    pub(super) fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// A step's results are there; the place that holds more now.
    pub(super) fn add(&mut self, step: &Step) -> Option<usize> {
        if matches!(step.work, Work::Accumulate) {
            let mut is_there = false;
            for &output in &step.outputs {
                is_there |= std::mem::replace(&mut self.slices[output].is_accumulated, true);
            }
            if is_there {
                return None;
            }
        }
        let place = self.slices[step.output()?].place;
        for &output in &step.outputs {
            self.bytes[place] = self.bytes[place].saturating_add(self.slices[output].bytes);
        }
        Some(place)
    }

    /// A value is let go; its place.
    pub(super) fn free(&mut self, value: ValueId) -> usize {
        let Slice { place, bytes, .. } = self.slices[value];
        self.bytes[place] = self.bytes[place].saturating_sub(bytes);
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
        spent: Spent::of(program),
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
    spent: Spent,
    when: IndexMap<Task, (f64, f64)>,
    end: f64,
    now: Vec<f64>,
    /// When the task that is walked through ends.
    limit: f64,
    notes: Vec<Vec<Note>>,
    holding: Holding,
}

impl Clock<'_> {
    fn done(&mut self, index: usize, step: &Step) {
        let changed = self.holding.add(step);
        let here = self.spent.place[index];
        if self.program.bodies[step.body].kind.varies() {
            let then = self.now[here] + self.spent.flops[index];
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

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Infallible> {
        self.done(index, step);
        Ok(())
    }

    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        _collective: &Collective,
    ) -> Result<(), Infallible> {
        self.done(index, step);
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
