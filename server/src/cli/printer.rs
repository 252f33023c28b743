//! What `meshwork run` prints: every event as JSON, or what people want to see of a run.

use super::cells;
use super::plain::Plain;
use super::plan::pairs;
use super::table::{grouped, rate, real};
use crate::jobs::train::{Job, Listener};
use meshwork_engine::graph::op::Dtype;
use meshwork_engine::likeness::Likeness;
use meshwork_engine::study::Study;
use meshwork_engine::timeline::Timeline;
use meshwork_wire::run::{Event, Held, Traffic};
use std::io::{self, StdoutLock, Write as _};
use std::ops::ControlFlow;

/// Losses that are printed for people.
const SHOWN: u64 = 20;
/// Numbers of a printed tensor that are shown to people.
const NUMBERS: usize = 64;

/// Prints to standard output.
#[derive(Debug)]
pub(super) struct Printer {
    out: Plain<StdoutLock<'static>>,
    json: bool,
    every: u64,
    steps: u64,
    /// What is said of a pipeline's cells when the run is done.
    cells: Vec<u8>,
    /// What they did in the last step.
    pub(super) timeline: Option<Timeline>,
    /// Why nothing more can be printed.
    pub(super) broken: Option<io::Error>,
    /// Whether the run has diverged or failed.
    pub(super) went_wrong: bool,
    dtype: Dtype,
    largest_loss: f64,
    /// The largest difference from one processor, where rounding does not explain it.
    pub(super) difference: Option<(f64, Likeness)>,
}

impl Listener for Printer {
    fn say(&mut self, event: Event) -> ControlFlow<()> {
        self.went_wrong |= matches!(event, Event::Diverged { .. } | Event::Failed { .. });
        if let Event::Step { loss, .. } = event {
            self.largest_loss = self.largest_loss.max(loss.abs());
        }
        if let Event::Done { max_difference: Some(difference), loss_difference, .. } = event {
            let of_losses = loss_difference.unwrap_or(difference);
            let likeness = Likeness::of(difference, of_losses, self.largest_loss, self.dtype);
            self.difference = (!likeness.is_explained()).then_some((difference, likeness));
        }
        let written = if self.json {
            serde_json::to_string(&event)
                .map_err(io::Error::from)
                .and_then(|line| writeln!(self.out.0, "{line}"))
        } else {
            self.tell(&event)
        };
        self.went(written)
    }

    fn measured(&mut self, study: &Study, timeline: &Timeline, layers: &[f64]) -> ControlFlow<()> {
        self.timeline = Some(timeline.clone());
        if self.json {
            return ControlFlow::Continue(());
        }
        let written = cells::write(&mut self.cells, study, timeline, layers);
        self.went(written)
    }

    fn has_no_value(&mut self, name: &str) -> ControlFlow<()> {
        let note = format!("note: `{name}` has no value, since no step was taken");
        let written = writeln!(Plain(io::stderr().lock()), "{note}");
        self.went(written)
    }
}

impl Printer {
    /// A printer for a run of so many steps.
    pub(super) fn new(json: bool, steps: u64, dtype: Dtype) -> Self {
        Self {
            out: Plain(io::stdout().lock()),
            json,
            every: steps.div_ceil(SHOWN).max(1),
            steps,
            cells: Vec::new(),
            timeline: None,
            broken: None,
            went_wrong: false,
            dtype,
            largest_loss: 0.0,
            difference: None,
        }
    }

    fn went(&mut self, written: io::Result<()>) -> ControlFlow<()> {
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.broken = Some(e);
                ControlFlow::Break(())
            }
        }
    }

    /// Says what is about to run.
    pub(super) fn head(&mut self, job: &Job<'_>) -> io::Result<()> {
        let mesh = job.study.mesh();
        let dims: Vec<_> = mesh.dims().iter().map(|d| (d.name.to_string(), d.size)).collect();
        let (s, on) = match mesh.processors() {
            1 => ("", String::new()),
            _ => ("s", format!(" ({})", pairs(&dims))),
        };
        let data = job.data.map_or_else(String::new, |d| format!(" on `{}`", d.name()));
        writeln!(
            self.out,
            "{} step{}{data}, {} processor{s}{on}, {} thread{}",
            grouped(job.steps),
            if job.steps == 1 { "" } else { "s" },
            grouped(mesh.processors()),
            job.threads,
            if job.threads == 1 { "" } else { "s" },
        )
    }

    /// Says an event to people.
    fn tell(&mut self, event: &Event) -> io::Result<()> {
        let out = &mut self.out;
        match event {
            Event::Step { step, loss } => {
                if step.is_multiple_of(self.every) || step + 1 == self.steps {
                    writeln!(out, "step {step:>8}   loss {}", real(*loss))?;
                }
                Ok(())
            }
            Event::Validation {
                step,
                loss,
                accuracy,
                error,
                perplexity,
                word_perplexity,
                bleu,
            } => {
                write!(out, "after {step:>7}   held-out loss {}", real(*loss))?;
                if let Some(share) = accuracy {
                    write!(out, ", accuracy {:.1} %", 100.0 * share)?;
                }
                if let Some(error) = error {
                    write!(out, ", error {error:.4} deviations")?;
                }
                if let Some(tokens) = perplexity {
                    write!(out, ", perplexity {} per token", perplexity_of(*tokens))?;
                }
                if let Some(words) = word_perplexity {
                    write!(out, ", {} per word", perplexity_of(*words))?;
                }
                if let Some(bleu) = bleu {
                    write!(out, ", BLEU {bleu:.1}")?;
                }
                writeln!(out)
            }
            Event::Value { name, dims, values } => {
                writeln!(out, "{name}[{}] =", pairs(dims))?;
                let width = dims.last().map_or(1, |d| d.1 as usize).clamp(1, NUMBERS);
                for row in values[..values.len().min(NUMBERS)].chunks(width) {
                    let row: Vec<String> = row.iter().map(|v| format!("{v:>12.6}")).collect();
                    writeln!(out, " {}", row.join(" "))?;
                }
                match values.len().saturating_sub(NUMBERS) {
                    0 => Ok(()),
                    more => writeln!(out, "  … {} more; --json has all", grouped(more as u64)),
                }
            }
            Event::Sample { prompt, text } => writeln!(out, "sample of `{prompt}`:\n{text}"),
            Event::Done {
                loss,
                steps_per_second,
                counted,
                predicted,
                held,
                max_difference,
                loss_difference: _,
                timeline: _,
            } => {
                let loss = loss.map_or(String::new(), |l| format!("loss {}, ", real(l)));
                writeln!(out, "done: {loss}{} steps/s", rate(*steps_per_second))?;
                compare(out, *counted, *predicted, *held)?;
                if let Some(d) = max_difference {
                    writeln!(out, "largest difference from one processor: {d:.3e}")?;
                }
                out.write_all(&self.cells)
            }
            Event::Diverged { message, .. } => writeln!(out, "diverged: {message}"),
            Event::Failed { message } => {
                writeln!(Plain(io::stderr().lock()), "failed: {message}")
            }
            Event::Cancelled { step } => writeln!(out, "cancelled after {step} steps"),
            Event::Restarted { message, .. } => writeln!(out, "{message}"),
        }
    }
}

/// A perplexity: of words that a model spells badly it is beyond all counting.
fn perplexity_of(x: f64) -> String {
    if x < 1e6 { rate(x) } else { real(x) }
}

fn compare(
    out: &mut impl io::Write,
    counted: Traffic,
    predicted: Traffic,
    held: Option<Held>,
) -> io::Result<()> {
    let line = |what: &str, counted: u64, predicted: u64| {
        let verdict = if counted == predicted { "as predicted" } else { "NOT as predicted" };
        format!("{what} {verdict}: {} (predicted {})", grouped(counted), grouped(predicted))
    };
    writeln!(out, "{}", line("messages", counted.messages, predicted.messages))?;
    writeln!(out, "{}", line("bytes sent", counted.bytes, predicted.bytes))?;
    let Some(Held { counted, predicted }) = held else { return Ok(()) };
    writeln!(out, "{}", line("bytes held by a processor", counted, predicted))
}
