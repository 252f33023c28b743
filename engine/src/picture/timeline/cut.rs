//! Which stretches of a timeline are drawn, and where its times are on paper.
//!
//! A long timeline is cut in the middle, where a schedule repeats itself: the first tasks of all
//! ranks and the last ones stay, with a gap between.
//!
//! ```text
//! 0 ──────────── a  …  b ──────────── end
//! ```

use crate::timeline::{Interval, Timeline};

/// The most tasks of a rank on either side of the gap.
const MOST_TASKS: usize = 24;

/// The most pixels for all time drawn.
const WIDEST: f64 = 1800.0;

/// How far a usual task may be shrunk and stretched to fill the room.
const SHRUNK: f64 = 0.4;
const SHRUNK_IN_OVERVIEWS: f64 = 0.1;
const STRETCHED: f64 = 3.0;

/// Width of the gap in pixels.
pub(super) const GAP: f64 = 30.0;

/// What is drawn of the time, and how large.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cut {
    /// One stretch, or two with a gap between.
    stretches: Vec<(f64, f64)>,
    /// Pixels per unit of time.
    scale: f64,
}

impl Cut {
    /// The cut of a timeline in which a usual task is about `usual` pixels wide, so that what is
    /// drawn fills the room if there is about as much of it.
    pub(super) fn of(
        timeline: &Timeline,
        usual: f64,
        room: Option<f64>,
        is_overview: bool,
    ) -> Self {
        let (start, end) = (timeline.start(), timeline.end());
        let lanes = || timeline.lanes().iter();
        let first = lanes().filter_map(|lane| nth_end(lane)).fold(end, f64::min);
        let last = lanes().filter_map(|lane| nth_start(lane)).fold(start, f64::max);
        let is_long = lanes().any(|lane| tasks(lane) > 2 * MOST_TASKS + 8);
        let stretches = if is_long && first < last {
            vec![(start, first), (last, end)]
        } else {
            vec![(start, end)]
        };
        let drawn: f64 = stretches.iter().map(|(from, to)| to - from).sum();
        // a quarter of the tasks may be too short for their names
        let mut lengths: Vec<f64> = timeline.intervals().map(|(_, i)| i.length()).collect();
        lengths.retain(|length| *length > 0.0);
        lengths.sort_by(f64::total_cmp);
        let quarter = lengths.get(lengths.len() / 4).copied().unwrap_or(1.0);
        let scale = if drawn > 0.0 { (usual / quarter).min(WIDEST / drawn) } else { 1.0 };
        let gaps = GAP * (stretches.len() - 1) as f64;
        let fitting = room.filter(|_| drawn > 0.0).map(|room| (room - gaps) / drawn);
        let shrunk = if is_overview { SHRUNK_IN_OVERVIEWS } else { SHRUNK };
        let scale = fitting.map_or(scale, |fit| fit.clamp(scale * shrunk, scale * STRETCHED));
        Self { stretches, scale: if scale.is_finite() { scale } else { 1.0 } }
    }

    /// The stretches of time that are drawn.
    pub(super) fn stretches(&self) -> &[(f64, f64)] {
        &self.stretches
    }

    /// What is left out, if anything.
    pub(super) fn left_out(&self) -> Option<(f64, f64)> {
        match self.stretches.as_slice() {
            [(_, from), (to, _)] => Some((*from, *to)),
            _ => None,
        }
    }

    /// Each stretch with its first and last pixel.
    pub(super) fn places(&self) -> Vec<(f64, f64)> {
        let mut at = 0.0;
        let place = |&(from, to): &(f64, f64)| {
            let left = at;
            let right = left + (to - from) * self.scale;
            at = right + GAP;
            (left, right)
        };
        self.stretches.iter().map(place).collect()
    }

    /// The pixel of a time; what is left out stands in the gap.
    pub(super) fn pixel(&self, time: f64) -> f64 {
        let mut at = 0.0;
        let mut before: Option<f64> = None;
        for (&(from, to), (left, right)) in self.stretches.iter().zip(self.places()) {
            if time < from {
                let share: f64 = before.map_or(1.0, |end| (time - end) / (from - end));
                return at + (left - at) * share.clamp(0.0, 1.0);
            }
            if time <= to {
                return left + (time - from) * self.scale;
            }
            (at, before) = (right, Some(to));
        }
        at
    }

    /// The time of a pixel.
    pub(super) fn time(&self, pixel: f64) -> f64 {
        let mut end = self.stretches.first().map_or(0.0, |(from, _)| *from);
        for (&(from, to), (left, right)) in self.stretches.iter().zip(self.places()) {
            if pixel < left {
                return end;
            }
            if pixel <= right {
                return from + (pixel - left) / self.scale;
            }
            end = to;
        }
        end
    }

    /// The pixels of a time between `from` and `to`, in each stretch that it touches.
    pub(super) fn pixels(&self, from: f64, to: f64) -> Vec<(f64, f64)> {
        let stretches = self.stretches.iter().zip(self.places());
        stretches
            .filter_map(|(&(start, end), (left, _))| {
                let (from, to) = (from.max(start), to.min(end));
                let place = |time: f64| left + (time - start) * self.scale;
                (from < to).then(|| (place(from), place(to)))
            })
            .collect()
    }
}

fn tasks(lane: &[Interval]) -> usize {
    lane.iter().map(|interval| interval.slot.tasks().count()).sum()
}

/// When the last task ends that may stand before the gap; nothing where all may.
fn nth_end(lane: &[Interval]) -> Option<f64> {
    let mut tasks = 0;
    let beyond = |interval: &&Interval| {
        tasks += interval.slot.tasks().count();
        tasks > MOST_TASKS
    };
    lane.iter().find(beyond).map(|interval| interval.start)
}

/// When the first task begins that may stand after the gap; nothing where all may.
fn nth_start(lane: &[Interval]) -> Option<f64> {
    let mut tasks = 0;
    let beyond = |interval: &&Interval| {
        tasks += interval.slot.tasks().count();
        tasks > MOST_TASKS
    };
    lane.iter().rev().find(beyond).map(|interval| interval.end)
}
