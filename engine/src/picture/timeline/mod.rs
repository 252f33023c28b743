//! A timeline as a picture: a lane per rank, a box per task, time to the right.
//!
//! ```text
//! rank 0   [F0][F1]░░░ idle 3 ░░░[B1      ][B0      ]
//! rank 1   ░░░░[F0][F1][B1      ][B0      ]░░░░░░░░░░
//!          0       2       4       6       8
//! ```
//!
//! A box says its kind by a letter (and by hue, and the legend names both) and its micro-batch by
//! the number; where ranks hold several stages it says the stage, too, `2F0`, and every other stage
//! of a rank is a shade darker. A box too narrow for that has the number alone, or nothing. Overlapped pairs share the height of the lane. Of many ranks the
//! first and the last are drawn; a long time is cut in the middle. Below the lanes, on the same
//! axis, may stand what each rank holds in memory.

mod cut;
mod memory;
mod say;
mod unit;

use super::curve::scale::{Scale, short};
use super::draft::{Draft, rect};
use super::elide::{self, Slot as Place};
use super::geometry::text_width;
use super::scene::{Align, Mark, Scene, Tone};
use crate::cost::held::Held;
use crate::index::{IdVec, Idx as _, Pnum, Rank, Stage};
use crate::timeline::{Interval, Kind, Task, Timeline};
use cut::{Cut, GAP};
use std::collections::BTreeSet;

/// Height of a lane, and of the room between two.
const LANE: f64 = 30.0;
const BETWEEN: f64 = 4.0;

/// Font size in boxes.
const BOX: f64 = 10.0;

/// Room left and right of a text in its box.
const PAD: f64 = 2.0;

/// Font size of ticks, names of ranks and the legend.
const NAME: f64 = 11.0;

/// The most lanes drawn.
const MOST_LANES: u64 = 16;

/// What a picture of a timeline says beside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct View {
    /// Title of the scene: `1f1b, 4 ranks, 8 micro-batches`.
    pub title: String,
    /// The unit of time, `flop` or `s`; nothing where it has no name.
    pub unit: String,
    /// The processors of each rank, where they are known: a picked one lights up its lane.
    pub pnums: IdVec<Rank, Vec<Pnum>>,
    /// What a lane is of.
    pub lanes: Lanes,
    /// The bytes that each rank holds, where they are to be drawn.
    pub held: IdVec<Rank, Vec<Held>>,
    /// Pixels to fill, if that leaves tasks readable.
    pub room: Option<f64>,
    /// Whether to see the whole of it matters more than to read each task.
    pub is_overview: bool,
}

/// What lanes are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lanes {
    /// Ranks of a schedule.
    #[default]
    Ranks,
    /// Cells of a study.
    Cells,
}

impl Lanes {
    const fn name(self) -> &'static str {
        match self {
            Self::Ranks => "rank",
            Self::Cells => "cell",
        }
    }
}

/// Where times stand in a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruler {
    cut: Cut,
    /// Where its axis begins.
    left: f64,
    /// The timeline's units of time in one of the axis.
    size: f64,
    /// The names of lanes, with the middle of each in pixels from the top.
    names: Vec<(String, f64)>,
}

impl Ruler {
    /// The place of a time, in pixels from the left.
    pub fn place(&self, time: f64) -> f64 {
        self.left + self.cut.pixel(time / self.size)
    }

    /// The room left of the axis, in which the lanes have their names.
    pub const fn left(&self) -> f64 {
        self.left
    }

    /// Where the first lane begins, in pixels from the top.
    pub fn top(&self) -> f64 {
        self.names.first().map_or(0.0, |(_, middle)| middle - LANE / 2.0)
    }

    /// The name of every lane, with its middle in pixels from the top.
    pub fn names(&self) -> &[(String, f64)] {
        &self.names
    }

    /// The time of a place.
    pub fn time(&self, place: f64) -> f64 {
        self.cut.time(place - self.left) * self.size
    }
}

/// The timeline as a scene.
pub fn scene(timeline: &Timeline, view: &View) -> Scene {
    measured(timeline, view).0
}

/// The timeline as a scene, and where times stand in it.
pub fn measured(timeline: &Timeline, view: &View) -> (Scene, Ruler) {
    let (timeline, view, size) = unit::written(timeline, view);
    let (timeline, view) = (&timeline, &view);
    let ranks = timeline.lanes().len() as u64;
    let shown = elide::shown(&[ranks], &[MOST_LANES], MOST_LANES)[0].min(ranks);
    let stages: IdVec<Rank, Vec<Stage>> = timeline.lanes().iter().map(|l| stages(l)).collect();
    let names_stages = stages.iter().any(|stages| stages.len() > 1);
    let all = timeline.intervals().flat_map(|(_, interval)| interval.slot.tasks());
    let widest = all.map(|task| text_width(&name(task, names_stages), BOX)).fold(0.0, f64::max);
    let names = text_width(&format!("{} {ranks}", view.lanes.name()), NAME) + 44.0;
    let room = view.room.map(|room| room - names);
    let cut = Cut::of(timeline, (widest + 2.0 * PAD).max(24.0), room, view.is_overview);
    let mut board =
        Board { draft: Draft::new(), timeline, view, cut, stages, names_stages, lanes: Vec::new() };
    board.legend();
    let mut top = 0.0;
    for place in elide::slots(ranks, shown) {
        match place {
            Place::Block(rank) => board.lane(Rank::new(rank as usize), top),
            Place::Gap => {
                let at = (board.middle(), top + LANE / 2.0);
                board.draft.text(Tone::Elided, at, NAME, Align::Middle, "⋮");
            }
        }
        top += LANE + BETWEEN;
    }
    if !view.held.is_empty() {
        top = board.memory(ranks, shown, top);
    }
    board.axis(top);
    let words = say::words(timeline, view, shown, board.cut.left_out());
    let (left, above) = (board.draft.left(), board.draft.above());
    let names = board.lanes.into_iter().map(|(name, middle)| (name, middle + above)).collect();
    (board.draft.finish(words), Ruler { left, cut: board.cut, size, names })
}

struct Board<'a> {
    draft: Draft,
    timeline: &'a Timeline,
    view: &'a View,
    cut: Cut,
    /// The stages of every rank, in their order.
    stages: IdVec<Rank, Vec<Stage>>,
    /// Whether boxes say their stage.
    names_stages: bool,
    /// The names of lanes and where they stand.
    lanes: Vec<(String, f64)>,
}

impl Board<'_> {
    fn middle(&self) -> f64 {
        self.cut.places().last().map_or(0.0, |(_, right)| right / 2.0)
    }

    fn name(&self, rank: Rank) -> String {
        format!("{} {}", self.view.lanes.name(), rank.0)
    }

    /// A lane's name left of it.
    fn lane_name(&mut self, rank: Rank, middle: f64) {
        let name = self.name(rank);
        self.draft.text(Tone::Label, (-8.0, middle), NAME, Align::End, &name);
        self.lanes.push((name, middle));
    }

    /// The kinds that occur, each with its box and name.
    fn legend(&mut self) {
        const SIDE: f64 = 12.0;
        let has = |kind: Kind| {
            let mut tasks = self.timeline.intervals().flat_map(|(_, i)| i.slot.tasks());
            tasks.any(|task| task.kind == kind)
        };
        // in as many rows as the axis is too short for
        let (mut left, mut row) = (0.0, 0_u8);
        let mut places = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| has(*kind)) {
            let text = format!("{} {}", kind.letter(), kind.name());
            let width = SIDE + 5.0 + text_width(&text, NAME);
            if left > 0.0 && left + width > 2.0 * self.middle() {
                (left, row) = (0.0, row + 1);
            }
            places.push((kind, text, left, row));
            left += width + 16.0;
        }
        for (kind, text, left, of) in places {
            let top = -2.0 * SIDE - 4.0 - f64::from(row - of) * (SIDE + 6.0);
            self.draft.push(Tone::Slice(hue(kind)), rect(left, top, SIDE, SIDE, 2.0));
            let at = (left + SIDE + 5.0, top + SIDE / 2.0);
            self.draft.text(Tone::Note, at, NAME, Align::Start, &text);
        }
    }

    /// A rank's name, its idle time as ground, its tasks upon it.
    fn lane(&mut self, rank: Rank, top: f64) {
        self.lane_name(rank, top + LANE / 2.0);
        for (left, right) in self.cut.places() {
            self.draft.push(Tone::Idle, rect(left, top, right - left, LANE, 0.0));
        }
        let mut now = self.timeline.start();
        for interval in &self.timeline.lanes()[rank] {
            self.idle(now, interval.start, top);
            let tasks = interval.slot.tasks().count() as f64;
            for (row, task) in (0..).map(f64::from).zip(interval.slot.tasks()) {
                let height = LANE / tasks;
                self.task(rank, task, interval, (top + row * height, height));
            }
            now = interval.end;
        }
        self.idle(now, self.timeline.end(), top);
        if self.cut.left_out().is_some()
            && let Some((_, right)) = self.cut.places().first()
        {
            let at = (right + GAP / 2.0, top + LANE / 2.0);
            self.draft.text(Tone::Elided, at, NAME, Align::Middle, "…");
        }
    }

    /// `idle 3` where a rank waits and there is room to say so.
    fn idle(&mut self, from: f64, to: f64, top: f64) {
        let text = format!("idle {}", short(to - from));
        let Some(&(left, right)) = self.cut.pixels(from, to).first() else { return };
        if text_width(&text, BOX) + 2.0 * PAD <= right - left {
            let at = (f64::midpoint(left, right), top + LANE / 2.0);
            self.draft.text(Tone::Note, at, BOX, Align::Middle, &text);
        }
    }

    /// A task's box, with its name if that fits; `rows` is its top and height.
    fn task(&mut self, rank: Rank, task: Task, interval: &Interval, rows: (f64, f64)) {
        let (top, height) = rows;
        let names = [name(task, self.names_stages), task.micro_batch.0.to_string()];
        // every other stage of a rank is darker
        let round = self.stages[rank].iter().position(|stage| *stage == task.stage).unwrap_or(0);
        let hue = hue(task.kind);
        let tone = if round % 2 == 1 { Tone::SliceShade(hue) } else { Tone::Slice(hue) };
        for (left, right) in self.cut.pixels(interval.start, interval.end) {
            self.draft.add(Mark {
                form: rect(left, top, right - left, height, 0.0),
                tone,
                pnums: self.view.pnums.get(rank).cloned().unwrap_or_default(),
                tip: Some(say::tip(rank, task, interval, self.view)),
            });
            let fits = |name: &&String| text_width(name, BOX) + 2.0 * PAD <= right - left;
            if let Some(name) = names.iter().find(fits) {
                let at = (f64::midpoint(left, right), top + height / 2.0);
                self.draft.text(Tone::Label, at, BOX, Align::Middle, name);
            }
        }
    }

    /// The axis of time below the lanes.
    fn axis(&mut self, top: f64) {
        let places = self.cut.places();
        let mut free = f64::NEG_INFINITY;
        for (&(from, to), &(left, right)) in self.cut.stretches().iter().zip(&places) {
            self.draft.line(Tone::Link, &[(left, top), (right, top)]);
            let scale = Scale::linear([from, to].into_iter(), right - left);
            for tick in scale.ticks().into_iter().filter(|tick| (from..=to).contains(tick)) {
                let at = left + scale.place(tick);
                let (text, half) = (short(tick), text_width(&short(tick), NAME) / 2.0);
                self.draft.line(Tone::Link, &[(at, top), (at, top + 4.0)]);
                if at - half >= free {
                    self.draft.text(Tone::Note, (at, top + 13.0), NAME, Align::Middle, &text);
                    free = at + half + 4.0;
                }
            }
        }
        let unit = if self.view.unit.is_empty() { "" } else { &format!(" in {}", self.view.unit) };
        let at = (self.middle(), top + 30.0);
        self.draft.note(at, Align::Middle, &format!("time{unit}"));
    }
}

/// What a box says: `F3`, or with its stage `2F3`.
fn name(task: Task, with_stage: bool) -> String {
    let Task { stage: _, kind, micro_batch } = task;
    if with_stage { task.to_string() } else { format!("{}{}", kind.letter(), micro_batch.0) }
}

/// The stages of a lane, in their order.
fn stages(lane: &[Interval]) -> Vec<Stage> {
    let all: BTreeSet<Stage> =
        lane.iter().flat_map(|interval| interval.slot.tasks()).map(|task| task.stage).collect();
    all.into_iter().collect()
}

/// The hue of a kind.
const fn hue(kind: Kind) -> u8 {
    match kind {
        Kind::Forward => 0,
        Kind::Recompute => 6,
        Kind::Backward => 2,
        Kind::InputGradient => 1,
        Kind::WeightGradient => 4,
    }
}
