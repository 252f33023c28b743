//! What the tasks print: one line before each step that takes time, and how a task ended.

#![expect(clippy::print_stderr, reason = "the tasks talk to the person at the terminal")]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// When the task began.
static START: OnceLock<Instant> = OnceLock::new();

/// Announces a step: the time since the task began, what the step does, how long it usually takes.
pub(crate) fn step(what: &str, usually: &str) {
    let seconds = START.get_or_init(Instant::now).elapsed().as_secs();
    eprintln!("[{:2}:{:02}] {what} ({usually})", seconds / 60, seconds % 60);
}

/// Adds a remark to the step before.
pub(crate) fn note(what: &str) {
    eprintln!("        {what}");
}

/// Prints a line as it is.
pub(crate) fn line(what: &str) {
    eprintln!("{what}");
}

/// The time since `start` in words: `0.4 s`, `12 s`, `3 min 5 s`.
pub(crate) fn took(start: Instant) -> String {
    duration(start.elapsed())
}

fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;
    use std::time::Duration;

    #[test]
    fn durations_read_well() {
        let words = [(400, "0.4 s"), (12_300, "12 s"), (185_000, "3 min 5 s")];
        for (milliseconds, expected) in words {
            assert_eq!(duration(Duration::from_millis(milliseconds)), expected);
        }
    }
}
