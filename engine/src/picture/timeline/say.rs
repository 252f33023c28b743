//! A timeline in words: title, description, and a table of one row per rank.

use super::View;
use crate::index::{Idx as _, Rank};
use crate::picture::curve::scale::short;
use crate::picture::draft::Words;
use crate::picture::elide;
use crate::picture::scene::Table;
use crate::picture::words::count;
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
    let mut description = format!(
        "{}, from the first task to the last {}. Ranks idle {} of it, which is {} of the time \
         without idling; the longest span of one rank is {}.",
        count(ranks, "rank"),
        time(timeline.makespan()),
        percent(timeline.bubble_of_makespan()),
        percent(timeline.bubble_of_ideal()),
        time(timeline.stage_span()),
    );
    // Writing to a String cannot fail.
    if let Some((from, to)) = left_out {
        _ = write!(description, " The time from {} to {} is not drawn.", time(from), time(to));
    }
    if let Some(drawn) = elide::words(ranks, shown) {
        _ = write!(description, " Of the {ranks} ranks, {drawn} are drawn.");
    }
    Words { title: view.title.clone(), description, table: table(timeline, view) }
}

fn table(timeline: &Timeline, view: &View) -> Table {
    let head = ["rank", "tasks in order", "busy", "idle"].map(str::to_owned).to_vec();
    let row = |(rank, lane): (Rank, &Vec<Interval>)| {
        let times = [timeline.busy(rank), timeline.idle(rank)].map(|t| with_unit(t, &view.unit));
        [rank.0.to_string(), sequence(timeline.start(), lane)].into_iter().chain(times).collect()
    };
    let rows: Vec<Vec<String>> = timeline.lanes().entries().take(MOST_ROWS).map(row).collect();
    let all = timeline.lanes().len();
    let caption = match rows.len() {
        listed if listed < all => format!("What each rank does: the first {listed} of {all}"),
        _ => "What each rank does, with its waits".to_owned(),
    };
    Table { caption, head, rows }
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
pub(super) fn tip(rank: Rank, task: Task, interval: &Interval, unit: &str) -> String {
    format!(
        "rank {}, stage {}: {} of micro-batch {}, {} to {}",
        rank.index(),
        task.stage.0,
        task.kind.name(),
        task.micro_batch.0,
        short(interval.start),
        with_unit(interval.end, unit),
    )
}

fn with_unit(time: f64, unit: &str) -> String {
    let time = short(time);
    if unit.is_empty() { time } else { format!("{time} {unit}") }
}

fn percent(share: f64) -> String {
    format!("{} %", short((share * 1000.0).round() / 10.0))
}
