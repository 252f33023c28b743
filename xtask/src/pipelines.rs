//! `cargo xtask experiments pipelines`: the bubble of `GPipe`, measured. Prints the second table of
//! `docs/experiments.md`.
//!
//! A network of equal layers in two cells, on two threads, with 1, 4 and 32 micro-batches, beside
//! the same network without a pipeline. All are run in turns, several times. Medians count; what was
//! least disturbed stands beside them in brackets, because other load comes and goes.

use crate::{say, serve, sh};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const MODEL: &str = "model mlp batch:2048 in:512 hidden:512 depth:15 out:512\n\
                     train optimizer:sgd rate:0.001 steps:6\n";
const CELLS: f64 = 2.0;
const MICRO_BATCHES: [u32; 3] = [1, 4, 32];
const ROUNDS: usize = 7;

/// What a run came to; times in milliseconds.
#[derive(Debug, Clone, PartialEq)]
struct Outcome {
    /// A step, its update with it.
    step: f64,
    cells: Option<Cells>,
}

/// What the cells did in the last step.
#[derive(Debug, Clone, PartialEq)]
struct Cells {
    makespan: f64,
    bubble: f64,
    /// Work of one cell.
    busy: f64,
    /// The mean forward and backward task.
    forward: f64,
    backward: f64,
}

/// Builds, measures, prints.
pub(crate) fn run() -> Result<()> {
    serve::build()?;
    say::step("Running networks in two cells", "about 2 min");
    let micro_batches = MICRO_BATCHES.map(|m| (pipeline(m), 2));
    let all = [(MODEL.to_owned(), 1), (MODEL.to_owned(), 2)].into_iter().chain(micro_batches);
    let all: Vec<(String, u32)> = all.collect();
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); all.len()];
    for round in 1..=ROUNDS {
        for ((study, threads), outcomes) in all.iter().zip(&mut outcomes) {
            outcomes.push(measured(study, *threads)?);
        }
        say::line(&format!("round {round} of {ROUNDS}"));
    }
    say::line(&table(&outcomes)?);
    Ok(())
}

fn pipeline(micro_batches: u32) -> String {
    format!("mesh stages:2\n{MODEL}pipeline over:stages micro_batches:{micro_batches}\n")
}

fn measured(study: &str, threads: u32) -> Result<Outcome> {
    let mut meshwork = Command::new(sh::meshwork());
    meshwork.args(["run", "-", "--json", "--threads", &threads.to_string()]);
    let mut child = meshwork
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("could not start meshwork")?;
    child.stdin.take().context("meshwork reads nothing")?.write_all(study.as_bytes())?;
    let out = String::from_utf8(child.wait_with_output()?.stdout)?;
    let last = out.lines().last().unwrap_or_default();
    outcome(last).with_context(|| format!("meshwork said no to\n{study}{out}"))
}

fn outcome(done: &str) -> Result<Outcome> {
    let done: Value = serde_json::from_str(done)?;
    let rate = done["steps_per_second"].as_f64().context("it says no rate")?;
    Ok(Outcome { step: 1e3 / rate, cells: cells(&done["timeline"]) })
}

fn cells(timeline: &Value) -> Option<Cells> {
    let lanes = timeline["lanes"].as_array()?;
    let all = || lanes.iter().filter_map(Value::as_array).flatten();
    let length = |i: &Value| Some(1e3 * (i["end"].as_f64()? - i["start"].as_f64()?));
    let mean = |letter: char| {
        let of_kind = |i: &&Value| i["task"].as_str().is_some_and(|task| task.contains(letter));
        let lengths: Vec<f64> = all().filter(of_kind).filter_map(length).collect();
        lengths.iter().sum::<f64>() / lengths.len() as f64
    };
    Some(Cells {
        makespan: 1e3 * timeline["makespan"].as_f64()?,
        bubble: 100.0 * timeline["bubble_of_makespan"].as_f64()?,
        busy: all().filter_map(length).sum::<f64>() / lanes.len() as f64,
        forward: mean('F'),
        backward: mean('B'),
    })
}

fn table(outcomes: &[Vec<Outcome>]) -> Result<String> {
    let mut table = "\n| | tasks forward, backward | makespan | predicted | bubble | predicted | \
                     a step |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    let names = ["no pipeline, one thread", "no pipeline, two threads"].map(|n| (n.to_owned(), 0));
    let piped = MICRO_BATCHES.map(|m| (format!("micro_batches:{m}"), m));
    for ((name, micro_batches), outcomes) in names.iter().chain(&piped).zip(outcomes) {
        let (median, least) = spread(outcomes.iter().map(|o| o.step)).context("nothing was run")?;
        let cells = of_cells(*micro_batches, outcomes).unwrap_or_else(|| "| | | |".to_owned());
        writeln!(table, "| {name} | {cells} | {median:.0} ms ({least:.0}) |")?;
    }
    Ok(table)
}

/// Medians of what the cells did, and beside them what they did in the quickest step.
fn of_cells(micro_batches: u32, outcomes: &[Outcome]) -> Option<String> {
    let all: Vec<&Cells> = outcomes.iter().filter_map(|o| o.cells.as_ref()).collect();
    let Cells { makespan, bubble, busy, forward, backward } =
        all.iter().min_by(|a, b| a.makespan.total_cmp(&b.makespan))?;
    let median = |of: fn(&Cells) -> f64| Some(spread(all.iter().map(|cells| of(cells)))?.0);
    let predicted = (CELLS - 1.0) / (f64::from(micro_batches) + CELLS - 1.0);
    Some(format!(
        "{forward:.1}, {backward:.1} ms | {:.0} ms ({makespan:.0}) | ({:.0} ms) | {:.1} % \
         ({bubble:.1}) | {:.1} %",
        median(|cells| cells.makespan)?,
        busy / (1.0 - predicted),
        median(|cells| cells.bubble)?,
        100.0 * predicted
    ))
}

/// The median and the least.
fn spread(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    Some((*numbers.get(numbers.len() / 2)?, *numbers.first()?))
}

#[cfg(test)]
mod tests {
    use super::{Cells, Outcome, outcome, pipeline, spread, table};

    #[test]
    fn a_timeline_is_read_from_the_last_event() {
        let done = r#"{"event":"done","loss":1.0,"steps_per_second":100.0,"timeline":{"unit":"s",
            "makespan":0.009,"bubble_of_makespan":0.5,"lanes":[
            [{"task":"0F0","start":0.0,"end":0.001},{"task":"0B0","start":0.006,"end":0.009}],
            [{"task":"1F0","start":0.001,"end":0.002},{"task":"1B0","start":0.002,"end":0.006}]]}}"#;
        let Outcome { step, cells } = outcome(done).unwrap();
        let Cells { makespan, bubble, busy, forward, backward } = cells.unwrap();
        let read = [step, makespan, bubble, busy, forward, backward];
        for (read, said) in read.iter().zip([10.0, 9.0, 50.0, 4.5, 1.0, 3.5]) {
            assert!((read - said).abs() < 1e-9, "{read} {said}");
        }
        let plain = outcome(r#"{"event":"done","steps_per_second":50.0}"#).unwrap();
        assert_eq!(plain, Outcome { step: 20.0, cells: None });
        assert!(outcome(r#"{"event":"failed","message":"cell 1 died"}"#).is_err());
    }

    #[test]
    fn a_table_has_a_line_for_each_study() {
        let plain = Outcome { step: 20.0, cells: None };
        let cells = Cells { makespan: 12.0, bubble: 21.0, busy: 9.0, forward: 1.0, backward: 2.0 };
        let piped = Outcome { step: 14.0, cells: Some(cells) };
        let of = |outcome: &Outcome| vec![outcome.clone()];
        let all = [of(&plain), of(&plain), of(&piped), of(&piped), of(&piped)];
        let table = table(&all).unwrap();
        let four = "| micro_batches:4 | 1.0, 2.0 ms | 12 ms (12) | (11 ms) | 21.0 % (21.0) | 20.0 % | 14 ms (14) |";
        assert!(table.contains(four), "{table}");
        assert!(pipeline(4).ends_with("micro_batches:4\n"));
        assert_eq!(spread([3.0, 1.0, 2.0].into_iter()), Some((2.0, 1.0)));
    }
}
