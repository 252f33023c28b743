//! Measuring who did what when. The engine has no clock of its own: whoever wants a timeline of a
//! run hands one over.
//!
//! ```text
//! entry of the order    [ work ]  waits for `h`  [ work      ]
//! on the timeline                     [ work                 ]     waiting is no work
//! ```
//!
//! Beside the entries, the work is summed up by step of the Program, for what each layer takes.

use crate::index::{IdVec, Idx as _, Rank};
use crate::spmd::bodies::tasks;
use crate::spmd::program::Program;
use crate::timeline::{Interval, Slot, Timeline};
use std::fmt;
use std::sync::Arc;

/// Says how many seconds have passed since some moment, the same for all who ask.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> f64 + Send + Sync>);

impl Clock {
    /// A clock that is read so.
    pub fn new(seconds: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(seconds))
    }

    /// Seconds, now.
    pub fn now(&self) -> f64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// When a host was in an entry of the order, in seconds since the step began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The entry.
    pub entry: usize,
    /// When it began.
    pub start: f64,
    /// When it was over.
    pub end: f64,
    /// How long of that the host waited for others.
    pub waited: f64,
}

/// Takes the times of one host in one step.
#[derive(Debug)]
pub struct Stopwatch {
    clock: Clock,
    zero: f64,
    /// When the entry before was over: between two there is nothing.
    last: f64,
    entry: usize,
    waited: f64,
    marks: Vec<Mark>,
    /// The step of the Program that is done, and since when.
    doing: Option<(usize, f64)>,
    worked: Vec<f64>,
}

impl Stopwatch {
    /// A stopwatch for a training step that began at `zero`, of a Program of so many steps.
    pub fn new(clock: Clock, zero: f64, steps: usize) -> Self {
        let last = clock.now() - zero;
        let (marks, worked) = (Vec::new(), vec![0.0; steps]);
        Self { clock, zero, last, entry: 0, waited: 0.0, marks, doing: None, worked }
    }

    /// An entry begins.
    pub fn enter(&mut self, entry: usize) {
        (self.entry, self.waited) = (entry, 0.0);
    }

    /// A step of it begins.
    pub fn come(&mut self, step: usize) {
        let now = self.clock.now() - self.zero;
        self.done(now);
        self.doing = Some((step, now));
    }

    fn done(&mut self, now: f64) {
        if let Some((step, since)) = self.doing.take() {
            self.worked[step] += now - since;
        }
    }

    /// It is over.
    pub fn leave(&mut self) {
        let (start, end) = (self.last, self.clock.now() - self.zero);
        self.done(end);
        self.marks.push(Mark { entry: self.entry, start, end, waited: self.waited });
        self.last = end;
    }

    /// Does what is no work but waiting.
    pub fn wait<R>(&mut self, wait: impl FnOnce() -> R) -> R {
        let start = self.clock.now();
        let result = wait();
        let waited = self.clock.now() - start;
        self.waited += waited;
        if let Some((_, since)) = &mut self.doing {
            *since += waited;
        }
        result
    }

    /// What was measured, in order.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Seconds that each step of the Program took, all its entries together; steps that are done
    /// with others in one sweep count with the first of them.
    pub fn worked(&self) -> &[f64] {
        &self.worked
    }
}

/// The timeline of a step: every task of the pipeline with the time that was worked for it, up to
/// when it was done; 0 is when the first task began. What is run once, before the first task and
/// after the last, is on no lane. Nothing where there is no pipeline.
pub fn timeline<'m>(
    program: &Program,
    marks: impl IntoIterator<Item = &'m Mark>,
) -> Option<Timeline> {
    let cells = program.cells.as_ref()?;
    let mut lanes: Vec<Vec<Interval>> = vec![Vec::new(); program.ranks()];
    let tasks = tasks(cells);
    for mark in marks {
        let Some(task) = tasks.get(mark.entry).copied().flatten() else { continue };
        let lane = &mut lanes[cells.order().rank_of(task).index()];
        let slot = Slot::One(task);
        // The backward pass may be two bodies.
        let before = lane.pop_if(|last| last.slot == slot);
        let waited = mark.waited + before.map_or(0.0, |b| mark.start - b.end);
        let start = before.map_or(mark.start, |b| b.start) + waited;
        lane.push(Interval { start: start.min(mark.end), end: mark.end, slot });
    }
    let first = lanes.iter().filter_map(|lane| lane.first()).map(|i| i.start);
    let zero = first.reduce(f64::min).unwrap_or(0.0);
    for interval in lanes.iter_mut().flatten() {
        (interval.start, interval.end) = (interval.start - zero, interval.end - zero);
    }
    Some(Timeline::new(lanes.into_iter().collect::<IdVec<Rank, _>>()))
}
