//! A timeline in words: title, description, and a table of one row per rank.

use super::{Lanes, View};
use crate::cost::held::{self, Held};
use crate::index::{Idx as _, Rank};
use crate::picture::curve::scale::short;
use crate::picture::draft::Words;
use crate::picture::elide;
use crate::picture::scene::Table;
use crate::picture::words::{bytes, count};
use crate::timeline::{Interval, Task, Timeline};
use std::fmt::Write as _;

/// The most tasks named in a row of the table.
const MOST_TASKS: usize = 96;

/// The most rows of the table.
const MOST_ROWS: usize = 256;

/// All that is said of a timeline of which `shown` ranks and not `left_out` are drawn.
pub(super) fn words(
    timeline: &Timeline,
    view: &View,
    shown: u64,
    left_out: Option<(f64, f64)>,
) -> Words {
    let ranks = timeline.lanes().len() as u64;
    let time = |time: f64| with_unit(time, &view.unit);
    let lanes = view.lanes.name();
    let mut description = format!(
        "{}, from the first task to the last {}. {} idle {} of it, which is {} of the time \
         without idling; the longest span of one {lanes} is {}.",
        count(ranks, lanes),
        time(timeline.makespan()),
        match view.lanes {
            Lanes::Ranks => "Ranks",
            Lanes::Cells => "Cells",
        },
        percent(timeline.bubble_of_makespan()),
        percent(timeline.bubble_of_ideal()),
        time(timeline.stage_span()),
    );
    // Writing to a String cannot fail.
    if let Some((from, to)) = left_out {
        _ = write!(description, " The time from {} to {} is not drawn.", time(from), time(to));
    }
    if let Some(drawn) = elide::words(ranks, shown) {
        _ = write!(description, " Of the {ranks} {lanes}s, {drawn} are drawn.");
    }
    Words { title: view.title.clone(), description, table: table(timeline, view) }
}

fn table(timeline: &Timeline, view: &View) -> Table {
    let lanes = view.lanes.name();
    let mut head = [lanes, "tasks in order", "busy", "idle"].map(str::to_owned).to_vec();
    if !view.held.is_empty() {
        head.extend(["holds at first", "holds at most"].map(str::to_owned));
    }
    let row = |(rank, lane): (Rank, &Vec<Interval>)| {
        let times = [timeline.busy(rank), timeline.idle(rank)].map(|t| with_unit(t, &view.unit));
        let held = view.held.get(rank).map(|curve| {
            let first = curve.first().map_or(0, |held| held.bytes);
            [bytes(first), most(curve, &view.unit)]
        });
        [rank.0.to_string(), sequence(timeline.start(), lane)]
            .into_iter()
            .chain(times)
            .chain(held.into_iter().flatten())
            .collect()
    };
    let rows: Vec<Vec<String>> = timeline.lanes().entries().take(MOST_ROWS).map(row).collect();
    let all = timeline.lanes().len();
    let caption = match rows.len() {
        listed if listed < all => format!("What each {lanes} does: the first {listed} of {all}"),
        _ => format!("What each {lanes} does, with its waits"),
    };
    Table { caption, head, rows }
}

/// `12 KiB at 7`.
fn most(curve: &[Held], unit: &str) -> String {
    let peak = held::peak(curve);
    let when = curve.iter().find(|held| held.bytes == peak).map_or(0.0, |held| held.time);
    format!("{} at {}", bytes(peak), with_unit(when, unit))
}

/// `0F0 0F1 wait 3 0B1`, the tasks of a lane with its waits.
fn sequence(start: f64, lane: &[Interval]) -> String {
    let mut now = start;
    let mut parts = Vec::new();
    for interval in lane.iter().take(MOST_TASKS) {
        let wait = interval.start - now;
        if wait > 1e-9 * interval.end.abs() {
            parts.push(format!("wait {}", short(wait)));
        }
        parts.push(interval.slot.to_string());
        now = interval.end;
    }
    if lane.len() > MOST_TASKS {
        parts.push(format!("… {} more", lane.len() - MOST_TASKS));
    }
    parts.join(" ")
}

/// What a pointer on a task is told: `rank 0, stage 2: forward of micro-batch 3, 4 to 5`.
pub(super) fn tip(rank: Rank, task: Task, interval: &Interval, view: &View) -> String {
    format!(
        "{} {}, stage {}: {} of micro-batch {}, {} to {}",
        view.lanes.name(),
        rank.index(),
        task.stage.0,
        task.kind.name(),
        task.micro_batch.0,
        short(interval.start),
        with_unit(interval.end, &view.unit),
    )
}

fn with_unit(time: f64, unit: &str) -> String {
    let time = short(time);
    if unit.is_empty() { time } else { format!("{time} {unit}") }
}

fn percent(share: f64) -> String {
    format!("{} %", short((share * 1000.0).round() / 10.0))
}
