//! Reads a study from a file or from standard input, and what options share.

use super::Failure;
use clap::Args;
use clap::builder::RangedI64ValueParser;
use std::io::Read as _;
use std::time::Duration;

/// Where a study comes from.
#[derive(Debug, Args)]
pub(super) struct Input {
    /// The study; - for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

impl Input {
    /// What messages call it.
    pub(super) fn name(&self) -> &str {
        if self.is_stdin() { "<stdin>" } else { &self.file }
    }

    /// Whether it is standard input.
    pub(super) fn is_stdin(&self) -> bool {
        self.file == "-"
    }

    /// Its path.
    pub(super) fn path(&self) -> &str {
        &self.file
    }

    /// The text.
    pub(super) fn read(&self) -> Result<String, Failure> {
        let bytes = if self.is_stdin() {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(&self.file)
        };
        let bytes =
            bytes.map_err(|e| Failure::Misuse(format!("{} cannot be read: {e}", self.name())))?;
        String::from_utf8(bytes)
            .map_err(|e| Failure::Misuse(format!("{} is not UTF-8 text: {e}", self.name())))
    }
}

/// The longest time that is waited, some thirty years.
const MOST_SECONDS: u64 = 1_000_000_000;

/// Reads an option that is a time in seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero() && *time <= Duration::from_secs(MOST_SECONDS))
        .ok_or_else(|| format!("it is a number of seconds above 0, {MOST_SECONDS} at most"))
}

/// Reads an option that is an amount of memory.
pub(super) fn gibibytes() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}
