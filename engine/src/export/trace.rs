//! A timeline as Chrome trace JSON, which <https://ui.perfetto.dev> and `chrome://tracing` open.
//!
//! Every rank is a thread of one process, called by its cell. A task is a complete event (`ph: X`) named as in orders,
//! `2F0`; the two of an overlapped pair share their time and nest.

use crate::index::Rank;
use crate::timeline::{Interval, Task, Timeline};
use std::fmt::Write as _;

/// The timeline as JSON text. `name` is that of the process; `unit` is how many microseconds a
/// unit of the timeline's time is: 1e6 where it is seconds.
pub fn chrome_trace(timeline: &Timeline, name: &str, unit: f64) -> String {
    let mut events = vec![metadata("process_name", 0, name)];
    for rank in timeline.lanes().ids() {
        events.push(metadata("thread_name", rank.0, &format!("cell {}", rank.0)));
        // threads stand in the order of the ranks, not of their names
        events.push(format!(
            r#"{{"name":"thread_sort_index","ph":"M","pid":0,"tid":{0},"args":{{"sort_index":{0}}}}}"#,
            rank.0
        ));
    }
    for (rank, interval) in timeline.intervals() {
        events.extend(interval.slot.tasks().map(|task| event(rank, interval, task, unit)));
    }
    format!("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}

fn metadata(kind: &str, thread: u32, name: &str) -> String {
    let name = quoted(name);
    format!(r#"{{"name":"{kind}","ph":"M","pid":0,"tid":{thread},"args":{{"name":{name}}}}}"#)
}

fn event(rank: Rank, interval: &Interval, task: Task, unit: f64) -> String {
    let Task { stage, kind, micro_batch } = task;
    format!(
        r#"{{"name":"{task}","cat":"{}","ph":"X","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"stage":{},"micro_batch":{}}}}}"#,
        kind.name(),
        rank.0,
        number(interval.start * unit),
        number(interval.length() * unit),
        stage.0,
        micro_batch.0,
    )
}

/// A number as JSON knows them.
const fn number(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Writing to a String cannot fail.
            c if u32::from(c) < 0x20 => _ = write!(quoted, "\\u{:04x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
