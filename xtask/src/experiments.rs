//! `cargo xtask experiments`: the paper's claim at our scale, measured. Prints the tables of
//! `docs/experiments.md`.
//!
//! A decoder language model on the built-in text, at four sizes: `d_ff` and heads grow fourfold
//! three times, all else is equal. Each is trained with three seeds in three layouts.

use crate::{say, serve, sh};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Hidden units and heads.
const SIZES: [(u64, u64); 4] = [(8, 1), (32, 4), (128, 16), (512, 64)];
const SEEDS: [u64; 3] = [1, 2, 3];
const LAYOUTS: [(&str, &str); 3] = [
    ("data parallel", "mesh all:4\nlayout batch:all"),
    ("model parallel", "mesh all:4\nlayout vocab:all d_ff:all heads:all"),
    ("mixed", "mesh rows:2 cols:2\nlayout batch:rows vocab:cols d_ff:cols heads:cols"),
];

/// What a run came to.
#[derive(Debug)]
struct Outcome {
    losses: Vec<f64>,
    per_token: f64,
    per_word: f64,
}

/// Builds, trains, prints.
pub(crate) fn run() -> Result<()> {
    serve::build()?;
    say::step("Training 36 models", "about 10 min");
    let mut table =
        "| d_ff | heads | seed | perplexity per token | per word | largest difference of \
                     a loss between layouts |\n|---|---|---|---|---|---|\n"
            .to_owned();
    let mut held = true;
    let mut before = [f64::INFINITY; SEEDS.len()];
    for (d_ff, heads) in SIZES {
        for (seed, before) in SEEDS.into_iter().zip(&mut before) {
            let mut outcomes = Vec::new();
            for (_, layout) in LAYOUTS {
                // With one head there is none to give to each of four processors.
                let layout = if heads == 1 { without_heads(layout) } else { layout.to_owned() };
                outcomes.push(trained(&study(&layout, d_ff, heads, seed))?);
            }
            let first = outcomes.first().context("no layout was trained")?;
            let apart = outcomes.iter().map(|other| difference(&first.losses, &other.losses));
            let apart = apart.fold(0.0, f64::max);
            held &= outcomes.iter().all(|o| o.per_token < *before);
            *before = first.per_token;
            let tokens: Vec<String> =
                outcomes.iter().map(|o| format!("{:.3}", o.per_token)).collect();
            let line = format!(
                "| {d_ff} | {heads} | {seed} | {} | {:.2e} | {apart:.1e} |",
                tokens.join(" | "),
                first.per_word
            );
            say::line(&line);
            writeln!(table, "{line}")?;
        }
    }
    let verdict = if held { "falls each time" } else { "does NOT fall each time" };
    say::line(&format!("\n{table}\nThe perplexity {verdict}, with every seed in every layout."));
    Ok(())
}

fn study(layout: &str, d_ff: u64, heads: u64, seed: u64) -> String {
    format!(
        "{layout}\nmodel transformer batch:8 length:32 vocab:256 d_model:32 d_kv:8 layers:1 \
         heads:{heads} d_ff:{d_ff}\ntrain optimizer:adam rate:0.01 warmup:30 decay:linear \
         steps:300 seed:{seed} data:sources dtype:f64\n"
    )
}

fn without_heads(layout: &str) -> String {
    layout.split(' ').filter(|rule| !rule.starts_with("heads:")).collect::<Vec<_>>().join(" ")
}

fn trained(study: &str) -> Result<Outcome> {
    let mut meshwork = Command::new(sh::meshwork());
    meshwork.args(["run", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = meshwork.spawn().context("could not start meshwork")?;
    child.stdin.take().context("meshwork reads nothing")?.write_all(study.as_bytes())?;
    let out = child.wait_with_output()?;
    outcome(&String::from_utf8(out.stdout)?)
        .with_context(|| format!("meshwork said no to\n{study}"))
}

fn outcome(events: &str) -> Result<Outcome> {
    let (mut losses, mut seen) = (Vec::new(), None);
    for line in events.lines() {
        let event: Value = serde_json::from_str(line)?;
        match event["event"].as_str() {
            Some("step") => losses.push(event["loss"].as_f64().context("a step without loss")?),
            Some("validation") => seen = Some(event),
            _ => {}
        }
    }
    let seen = seen.context("the run looked at nothing held out")?;
    let number = |name: &str| seen[name].as_f64().with_context(|| format!("it has no {name}"));
    Ok(Outcome { losses, per_token: number("perplexity")?, per_word: number("word_perplexity")? })
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::{difference, outcome, without_heads};

    #[test]
    fn an_outcome_is_read_from_events() {
        let events = r#"{"event":"step","step":0,"loss":2.5}
{"event":"validation","step":1,"loss":2.0,"perplexity":7.5,"word_perplexity":900.0}
{"event":"done","loss":2.5}"#;
        let read = outcome(events).unwrap();
        assert_eq!((read.losses, read.per_token, read.per_word), (vec![2.5], 7.5, 900.0));
        assert!(outcome(r#"{"event":"step","step":0,"loss":2.5}"#).is_err());
        assert!((difference(&[1.0, 2.0], &[1.5, 2.0]) - 0.5).abs() < 1e-12);
        assert_eq!(without_heads("layout a:b heads:b"), "layout a:b");
    }
}
