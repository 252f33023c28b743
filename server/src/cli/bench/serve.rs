//! `meshwork bench --serve W1 --layout dp2`: one benchmark network in a process of its own, stepped
//! on demand, so that engines can be measured in turns.
//!
//! Lines that begin with `@@` hold JSON. The first says that three steps are done already; then
//! every line `run K` on standard input does K steps, and `quit` ends:
//!
//! ```text
//! @@{"event":"ready","loss":[0.83,0.79,0.76]}
//! run 2
//! @@{"event":"run","step_ms":[81.2,80.7],"loss":[0.73,0.70],"cpu_s":0.32,"wall_s":0.16}
//! quit
//! @@{"event":"done","peak_rss_mb":96.0}
//! ```

use super::Workload;
use crate::cli::Failure;
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::graph::op::Phase;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::time::Instant;

/// Steps before the first that is measured.
const WARM_UP: usize = 3;

pub(super) fn serve(workload: Workload, layout: &str, threads: usize) -> Result<(), Failure> {
    let study = workload.study(layout);
    let study = study.ok_or_else(|| Failure::Misuse(format!("no layout is called {layout}")))?;
    let pool = Threads::new(threads).map_err(|e| Failure::Misuse(e.to_string()))?;
    let host = workload.host::<f32, _>(&study, pool);
    let mut host = host.ok_or_else(|| Failure::Misuse("the study does not run".to_owned()))?;
    let mut steps = |count: usize| -> (Vec<f64>, Vec<Option<f64>>) {
        let step = |_| {
            let begun = Instant::now();
            let loss = host.step(Phase::Update);
            (begun.elapsed().as_secs_f64() * 1e3, loss)
        };
        (0..count).map(step).unzip()
    };
    let losses = steps(WARM_UP).1;
    say(&json!({ "event": "ready", "loss": losses, "flops": workload.flops() }))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut words = line.split_whitespace();
        match (words.next(), words.next().and_then(|n| n.parse().ok())) {
            (Some("run"), Some(count)) => {
                let (begun, cpu) = (Instant::now(), cpu_seconds());
                let (times, losses) = steps(count);
                say(&json!({
                    "event": "run",
                    "step_ms": times,
                    "loss": losses,
                    "cpu_s": cpu_seconds().zip(cpu).map(|(after, before)| after - before),
                    "wall_s": begun.elapsed().as_secs_f64(),
                }))?;
            }
            (Some("quit"), _) => break,
            _ => {}
        }
    }
    say(&json!({ "event": "done", "peak_rss_mb": peak_megabytes() }))
}

fn say(event: &Value) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "@@{event}")?;
    Ok(out.flush()?)
}

/// Processor time of this process; nothing where the system does not say it as Linux does.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// The most memory this process had, in MiB.
fn peak_megabytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}
