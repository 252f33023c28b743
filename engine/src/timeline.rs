//! Who did what when: a lane of time per rank of a pipeline, predicted or measured.
//!
//! ```text
//! rank 0  [0F0][0F1]          [0B1      ][0B0      ]
//! rank 1       [1F0][1F1][1B1      ][1B0      ]
//!         0    1    2    3         5         7         9
//! ```
//!
//! The unit of time is that of whoever made it: that of the costs when predicted, seconds when
//! measured. A *bubble* is time in which a rank waits.

use crate::index::{IdVec, Idx as _, MicroBatch, Rank, Stage};
use std::fmt;
use std::str::FromStr;

/// What a rank can do for a stage and a micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Computes the activations that the next stage needs.
    Forward,
    /// Computes the activations within the stage once more (re-materialization).
    Recompute,
    /// The whole backward pass: gradients of the input and of the weights.
    Backward,
    /// The gradient of the input alone, for which the stage before waits.
    InputGradient,
    /// The gradient of the weights alone, for which nobody waits before the update.
    WeightGradient,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Forward, Self::Recompute, Self::Backward, Self::InputGradient, Self::WeightGradient];

    /// The letter in task names: `0F3`.
    pub const fn letter(self) -> char {
        match self {
            Self::Forward => 'F',
            Self::Recompute => 'R',
            Self::Backward => 'B',
            Self::InputGradient => 'I',
            Self::WeightGradient => 'W',
        }
    }

    /// The name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Recompute => "recompute",
            Self::Backward => "backward",
            Self::InputGradient => "input gradient",
            Self::WeightGradient => "weight gradient",
        }
    }
}

/// One piece of work of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// For which stage.
    pub stage: Stage,
    /// What is done.
    pub kind: Kind,
    /// For which micro-batch.
    pub micro_batch: MicroBatch,
}

impl Task {
    /// A task from plain numbers.
    pub const fn new(stage: u32, kind: Kind, micro_batch: u32) -> Self {
        Self { stage: Stage(stage), kind, micro_batch: MicroBatch(micro_batch) }
    }
}

impl fmt::Display for Task {
    /// `2F0`: stage, kind, micro-batch.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.stage.0, self.kind.letter(), self.micro_batch.0)
    }
}

impl FromStr for Task {
    type Err = NoTask;

    /// Reads `2F0`.
    fn from_str(text: &str) -> Result<Self, NoTask> {
        let (stage, rest) = text.split_at(text.find(char::is_alphabetic).ok_or(NoTask)?);
        let mut rest = rest.chars();
        let letter = rest.next();
        let kind = Kind::ALL.into_iter().find(|kind| Some(kind.letter()) == letter);
        let number = |text: &str| text.parse::<u32>().ok().ok_or(NoTask);
        Ok(Self::new(number(stage)?, kind.ok_or(NoTask)?, number(rest.as_str())?))
    }
}

/// A text names no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTask;

/// What a rank does at a time: one task, or two that overlap (the communication of one hides
/// behind the arithmetic of the other).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// One task.
    One(Task),
    /// Two tasks that begin and end together.
    Pair(Task, Task),
}

impl Slot {
    /// Its one or two tasks.
    pub fn tasks(self) -> impl Iterator<Item = Task> {
        let (first, second) = match self {
            Self::One(task) => (task, None),
            Self::Pair(first, second) => (first, Some(second)),
        };
        std::iter::once(first).chain(second)
    }
}

impl fmt::Display for Slot {
    /// `2F0`, or `(0F3;3B1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(task) => write!(f, "{task}"),
            Self::Pair(first, second) => write!(f, "({first};{second})"),
        }
    }
}

/// A stretch of time in which a rank works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// When it begins.
    pub start: f64,
    /// When it ends; not before it begins.
    pub end: f64,
    /// What is done.
    pub slot: Slot,
}

impl Interval {
    /// How long it takes.
    pub const fn length(&self) -> f64 {
        self.end - self.start
    }
}

/// A lane of intervals per rank; those of a lane follow each other and do not overlap.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    lanes: IdVec<Rank, Vec<Interval>>,
}

impl Timeline {
    /// A timeline of lanes whose intervals stand in order of time.
    pub const fn new(lanes: IdVec<Rank, Vec<Interval>>) -> Self {
        Self { lanes }
    }

    /// The same with other times: each this often.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        let interval = |i: &Interval| Interval { start: i.start * by, end: i.end * by, ..*i };
        let lanes = self.lanes.iter().map(|lane| lane.iter().map(interval).collect());
        Self { lanes: lanes.collect() }
    }

    /// The lanes.
    pub const fn lanes(&self) -> &IdVec<Rank, Vec<Interval>> {
        &self.lanes
    }

    /// When the first rank begins; 0 of nothing.
    pub fn start(&self) -> f64 {
        let first = self.lanes.iter().filter_map(|lane| lane.first()).map(|i| i.start);
        first.reduce(f64::min).unwrap_or(0.0)
    }

    /// When the last rank ends; 0 of nothing.
    pub fn end(&self) -> f64 {
        let last = self.lanes.iter().filter_map(|lane| lane.last()).map(|i| i.end);
        last.reduce(f64::max).unwrap_or(0.0)
    }

    /// From the first task of any rank to the last of any: what a clock on the wall shows.
    pub fn makespan(&self) -> f64 {
        self.end() - self.start()
    }

    /// Time in which a rank works.
    pub fn busy(&self, rank: Rank) -> f64 {
        self.lanes.get(rank).map_or(0.0, |lane| lane.iter().map(Interval::length).sum())
    }

    /// Time of the makespan in which a rank does not work.
    pub fn idle(&self, rank: Rank) -> f64 {
        self.makespan() - self.busy(rank)
    }

    /// The share of the makespan that the ranks idle on average: `(K−1)/(M+K−1)` of `GPipe`.
    pub fn bubble_of_makespan(&self) -> f64 {
        let all = self.makespan() * self.lanes.len() as f64;
        share(self.total(Self::idle), all)
    }

    /// Idle time over the time without any idling: `(K−1)/M` of `GPipe`; what the papers on
    /// interleaved and zero-bubble schedules call the bubble.
    pub fn bubble_of_ideal(&self) -> f64 {
        share(self.total(Self::idle), self.total(Self::busy))
    }

    /// The longest time from a rank's own first task to its own last. The zero-bubble papers
    /// count this: a schedule without bubbles still begins later on later ranks, which costs
    /// nothing where the update of one rank does not wait for the others.
    pub fn stage_span(&self) -> f64 {
        let span = |lane: &Vec<Interval>| Some(lane.last()?.end - lane.first()?.start);
        self.lanes.iter().filter_map(span).fold(0.0, f64::max)
    }

    fn total(&self, of: impl Fn(&Self, Rank) -> f64) -> f64 {
        self.lanes.ids().map(|rank| of(self, rank)).sum()
    }

    /// Every interval with its rank, lane by lane.
    pub fn intervals(&self) -> impl Iterator<Item = (Rank, &Interval)> {
        self.lanes.entries().flat_map(|(rank, lane)| lane.iter().map(move |i| (rank, i)))
    }

    /// How many stages occur: one more than the highest.
    pub fn stages(&self) -> usize {
        let tasks = self.intervals().flat_map(|(_, interval)| interval.slot.tasks());
        tasks.map(|task| task.stage.index() + 1).max().unwrap_or(0)
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_read_as_they_are_written() {
        for task in [Task::new(0, Kind::Forward, 0), Task::new(12, Kind::WeightGradient, 345)] {
            assert_eq!(task.to_string().parse(), Ok(task));
        }
        for wrong in ["", "F", "2F", "F0", "2X0", "2F0 ", "2FF0", "-1F0", "2"] {
            assert_eq!(wrong.parse::<Task>(), Err(NoTask), "{wrong}");
        }
    }
}
