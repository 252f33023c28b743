//! Engines measured in turns: each runs in a process of its own (`serve`), is told to do a few steps
//! while all others sleep, and the order rotates from round to round, because other load on the
//! machine comes and goes.
//!
//! Peers are whatever speaks the same lines: a folder with `peers/w_jax.py`, `w_torch.py` and
//! `w_numpy.py` and their Python in `.venv`.

use super::Workload;
use super::median;
use crate::cli::Failure;
use serde::{Deserialize, Serialize};
use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Steps that an engine does at a time.
const STEPS: usize = 4;

/// What was measured of one engine with one network in one layout.
#[derive(Debug, Serialize)]
pub(super) struct Score {
    #[serde(skip)]
    pub(super) engine: &'static str,
    #[serde(skip)]
    pub(super) layout: &'static str,
    /// Median milliseconds of a step, and the least.
    pub(super) ms: f64,
    pub(super) least_ms: f64,
    /// Median milliseconds of processor time per step.
    pub(super) cpu_ms: f64,
    /// The most memory it had, processes together.
    pub(super) peak_mb: Option<f64>,
    /// Its loss at first.
    pub(super) loss: Option<f64>,
}

struct Entrant {
    engine: &'static str,
    layout: &'static str,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    times: Vec<f64>,
    cpu: Vec<f64>,
    peak_mb: Option<f64>,
    loss: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(default)]
    step_ms: Vec<f64>,
    #[serde(default)]
    loss: Vec<Option<f64>>,
    cpu_s: Option<f64>,
    peak_rss_mb: Option<f64>,
}

/// Runs a network in all its layouts by all engines.
pub(super) fn run(
    workload: Workload,
    rounds: usize,
    peers: Option<&Path>,
) -> Result<Vec<Score>, Failure> {
    let mut entrants = Vec::new();
    for &(layout, _) in workload.layouts() {
        let mut own = Command::new(env::current_exe()?);
        own.args(["bench", "--serve", workload.name(), "--layout", layout]);
        entrants.push(Entrant::start("meshwork", layout, own)?);
        for (engine, command) in peers.map_or_else(Vec::new, |p| of_peers(p, workload, layout)) {
            entrants.push(Entrant::start(engine, layout, command)?);
        }
    }
    for entrant in &mut entrants {
        entrant.loss = entrant.hear()?.loss.first().copied().flatten();
    }
    let count = entrants.len();
    for round in 0..rounds {
        for at in 0..count {
            entrants[(round + at) % count].run()?;
        }
    }
    entrants.into_iter().map(Entrant::stop).collect()
}

/// The peers that run a network in a layout.
fn of_peers(
    folder: &Path,
    workload: Workload,
    layout: &'static str,
) -> Vec<(&'static str, Command)> {
    let python = |script: &str, args: &[&str]| {
        let mut command = Command::new(folder.join(".venv/bin/python"));
        command.arg(folder.join("peers").join(script)).args(args);
        command
    };
    let of = ["--workload", workload.name(), "--layout", layout];
    let with = |args: &[&'static str]| -> Vec<&'static str> { [&of[..], args].concat() };
    let threads = if layout == "1" { "2" } else { "1" };
    let mut peers = vec![
        ("JAX", python("w_jax.py", &of)),
        ("PyTorch", python("w_torch.py", &with(&["--threads", threads]))),
    ];
    if layout == "dp2" {
        peers.push(("JAX by hand", python("w_jax.py", &with(&["--smap"]))));
    }
    match (workload, layout) {
        (Workload::W1, "1") => peers.push(("NumPy", python("w_numpy.py", &["--threads", "2"]))),
        (Workload::W2, "1") => {
            let compiled = with(&["--threads", "2", "--compile"]);
            peers.push(("PyTorch compiled", python("w_torch.py", &compiled)));
        }
        _ => {}
    }
    peers
}

impl Entrant {
    fn start(
        engine: &'static str,
        layout: &'static str,
        mut command: Command,
    ) -> Result<Self, Failure> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command
            .spawn()
            .map_err(|e| Failure::Misuse(format!("{engine} does not start: {e}")))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Misuse(format!("{engine} cannot be spoken with")));
        };
        let from = BufReader::new(from);
        let (times, cpu) = (Vec::new(), Vec::new());
        Ok(Self { engine, layout, child, to, from, times, cpu, peak_mb: None, loss: None })
    }

    /// What it says next.
    fn hear(&mut self) -> Result<Event, Failure> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.from.read_line(&mut line)? == 0 {
                let Self { engine, layout, .. } = self;
                return Err(Failure::Misuse(format!("{engine} stopped in layout {layout}")));
            }
            if let Some(event) = line.strip_prefix("@@") {
                return Ok(serde_json::from_str(event)?);
            }
        }
    }

    fn run(&mut self) -> Result<(), Failure> {
        writeln!(self.to, "run {STEPS} {}", self.layout)?;
        let event = self.hear()?;
        self.cpu.extend(event.cpu_s.map(|s| s * 1e3 / STEPS as f64));
        self.times.extend(event.step_ms);
        Ok(())
    }

    fn stop(mut self) -> Result<Score, Failure> {
        writeln!(self.to, "quit")?;
        self.peak_mb = self.hear()?.peak_rss_mb;
        self.child.wait()?;
        Ok(Score {
            engine: self.engine,
            layout: self.layout,
            least_ms: self.times.iter().copied().fold(f64::INFINITY, f64::min),
            ms: median(self.times),
            cpu_ms: median(self.cpu),
            peak_mb: self.peak_mb,
            loss: self.loss,
        })
    }
}
