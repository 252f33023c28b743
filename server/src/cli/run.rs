//! `meshwork run`: trains a study here and now.

use super::input::Input;
use super::plain::Plain;
use super::plan::pairs;
use super::table::{grouped, rate, real};
use super::{Failure, report};
use crate::data::catalog::Found;
use crate::data::hash::table_hash;
use crate::data::read;
use crate::jobs::prepare::{NotReady, Ready, Source, Wishes, prepare};
use crate::jobs::train::{Job, Listener, NotRun, steps, train};
use crate::picture::unknown;
use clap::ValueEnum;
use meshwork_engine::diag::Diagnostic;
use meshwork_wire::run::{Event, Traffic};
use std::borrow::Cow;
use std::io::{self, StdoutLock, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Losses that are printed for people.
const SHOWN: u64 = 20;
/// The most threads; more than that only take each other's time.
const MAX_THREADS: i64 = 512;
/// Numbers of a printed tensor that are shown to people.
const NUMBERS: usize = 64;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Take so many steps, instead of those the study says
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Work on so many threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    threads: Option<u16>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Run the same on one processor too, and say the largest difference
    #[arg(long)]
    check: bool,
    /// Print this tensor after the last step (may be repeated)
    #[arg(long, value_name = "NAME")]
    print: Vec<String>,
    /// Train on this CSV, whatever data the study names, also if it names none
    #[arg(long, value_name = "FILE.csv")]
    data: Option<PathBuf>,
    /// The column of the CSV to predict [default: the last]
    #[arg(long, value_name = "COLUMN", requires = "data")]
    target: Option<String>,
    /// What the target column is [default: numbers if all are, else classes]
    #[arg(long, requires = "data")]
    kind: Option<Kind>,
    /// Refuse a run that would hold more than so many GiB
    #[arg(long, value_name = "GIB", default_value_t = 8)]
    memory: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Classification,
    Regression,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let text = args.input.read()?;
    let source = match &args.data {
        Some(path) => Source::Given(table(path, args)?),
        None => Source::Catalog(None),
    };
    let wishes =
        Wishes { memory: u64::from(args.memory) << 30, check: args.check, print: &args.print };
    let ready = prepare(&text, source, wishes).or_else(|why| {
        let diagnostics = match why {
            NotReady::Study(list) => list,
            NotReady::Memory(diagnostic) => vec![diagnostic],
            NotReady::Store(e) => return Err(Failure::Misuse(e.to_string())),
        };
        fail(args, &text, &diagnostics)
    })?;
    let tensors = ready.study.tensors();
    if let Some(name) = args.print.iter().find(|n| tensors.iter().all(|t| *t.name != ***n)) {
        return Err(Failure::Misuse(unknown(&tensors, name)));
    }
    if !args.json {
        report::on_stderr(args.input.name(), &text, ready.study.diagnostics())?;
    }
    go(args, &text, &ready)
}

fn go(args: &Args, text: &str, ready: &Ready) -> Result<(), Failure> {
    let steps = steps(&ready.study, args.steps);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let job = Job {
        study: &ready.study,
        table: ready.table.as_ref().map(|found| &*found.table),
        steps,
        threads: args.threads.map_or(cores, usize::from),
        check: args.check,
        print: &args.print,
    };
    let mut printer = Printer {
        out: Plain(io::stdout().lock()),
        json: args.json,
        every: steps.div_ceil(SHOWN).max(1),
        steps,
        broken: None,
        diverged: false,
    };
    if !args.json {
        printer.head(&job)?;
    }
    train(&job, &mut printer).or_else(|why| match why {
        NotRun::Study(diagnostics) => fail(args, text, &diagnostics),
        NotRun::Threads(message) => Err(Failure::Misuse(message)),
    })?;
    if let Some(e) = printer.broken {
        return Err(Failure::Output(e));
    }
    if printer.diverged { Err(Failure::Study) } else { Ok(()) }
}

fn fail<T>(args: &Args, text: &str, diagnostics: &[Diagnostic]) -> Result<T, Failure> {
    if args.json {
        report::as_json(text, diagnostics)?;
    } else {
        report::on_stderr(args.input.name(), text, diagnostics)?;
    }
    Err(Failure::Study)
}

fn table(path: &Path, args: &Args) -> Result<Found, Failure> {
    let shown = path.display();
    let csv =
        std::fs::read(path).map_err(|e| Failure::Misuse(format!("{shown} cannot be read: {e}")))?;
    let kind = match args.kind {
        None => read::Kind::Auto,
        Some(Kind::Classification) => read::Kind::Classification,
        Some(Kind::Regression) => read::Kind::Regression,
    };
    let options = read::Options { target: args.target.clone(), kind };
    let name = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let table = read::table(&name, &csv, &options).map_err(|problems| {
        let lines = problems.iter().map(|d| {
            let hints = d.hints.iter().fold(String::new(), |all, h| all + "; " + h);
            format!("\n  {shown}:{}:{}: {}{hints}", d.line, d.column, d.message)
        });
        Failure::Misuse(format!(
            "the table cannot be used (line:field){}",
            lines.collect::<String>()
        ))
    })?;
    Ok(Found { hash: table_hash(&table), table: Cow::Owned(table) })
}

/// Prints what the run says.
struct Printer {
    out: Plain<StdoutLock<'static>>,
    json: bool,
    every: u64,
    steps: u64,
    broken: Option<io::Error>,
    diverged: bool,
}

impl Listener for Printer {
    fn say(&mut self, event: Event) -> ControlFlow<()> {
        self.diverged |= matches!(event, Event::Diverged { .. });
        let written = if self.json {
            serde_json::to_string(&event)
                .map_err(io::Error::from)
                .and_then(|line| writeln!(self.out.0, "{line}"))
        } else {
            self.tell(&event)
        };
        self.went(written)
    }

    fn has_no_value(&mut self, name: &str) -> ControlFlow<()> {
        let note = format!("note: `{name}` has no value, since no step was taken");
        let written = writeln!(Plain(io::stderr().lock()), "{note}");
        self.went(written)
    }
}

impl Printer {
    fn went(&mut self, written: io::Result<()>) -> ControlFlow<()> {
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.broken = Some(e);
                ControlFlow::Break(())
            }
        }
    }

    fn head(&mut self, job: &Job<'_>) -> io::Result<()> {
        let mesh = job.study.mesh();
        let dims: Vec<_> = mesh.dims().iter().map(|d| (d.name.to_string(), d.size)).collect();
        let (s, on) = match mesh.processors() {
            1 => ("", String::new()),
            _ => ("s", format!(" ({})", pairs(&dims))),
        };
        let data = job.table.map_or_else(String::new, |t| format!(" on `{}`", t.name));
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
            Event::Validation { step, loss, accuracy, error } => {
                write!(out, "after {step:>7}   held-out loss {}", real(*loss))?;
                if let Some(share) = accuracy {
                    write!(out, ", accuracy {:.1} %", 100.0 * share)?;
                }
                if let Some(error) = error {
                    write!(out, ", error {error:.4} deviations")?;
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
            Event::Done { loss, steps_per_second, counted, predicted, max_difference } => {
                let loss = loss.map_or(String::new(), |l| format!("loss {}, ", real(l)));
                writeln!(out, "done: {loss}{} steps/s", rate(*steps_per_second))?;
                compare(out, *counted, *predicted)?;
                match max_difference {
                    Some(d) => writeln!(out, "largest difference from one processor: {d:.3e}"),
                    None => Ok(()),
                }
            }
            Event::Diverged { message, .. } => writeln!(out, "diverged: {message}"),
            Event::Failed { message } => writeln!(out, "failed: {message}"),
            Event::Cancelled { step } => writeln!(out, "cancelled after {step} steps"),
            Event::Restarted { message, .. } => writeln!(out, "{message}"),
        }
    }
}

fn compare(out: &mut impl io::Write, counted: Traffic, predicted: Traffic) -> io::Result<()> {
    let line = |what: &str, counted: u64, predicted: u64| {
        let verdict = if counted == predicted { "as predicted" } else { "NOT as predicted" };
        format!("{what} {verdict}: {} (predicted {})", grouped(counted), grouped(predicted))
    };
    writeln!(out, "{}", line("messages", counted.messages, predicted.messages))?;
    writeln!(out, "{}", line("bytes sent", counted.bytes, predicted.bytes))
}
