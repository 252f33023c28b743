//! `meshwork run`: trains a study here and now.

use super::draw::{can_put, put};
use super::input::{Input, gibibytes, seconds};
use super::printer::Printer;
use super::{Failure, report};
use crate::data::catalog::Found;
use crate::data::hash::data_hash;
use crate::data::{Data, read, text};
use crate::jobs::prepare::{NotReady, Ready, Source, Wishes, prepare};
use crate::jobs::sample;
use crate::jobs::train::{Job, NotRun, steps, train};
use crate::picture::{self, unknown};
use clap::ValueEnum;
use meshwork_engine::data::text::Text;
use meshwork_engine::data::vocabulary::Vocabulary;
use meshwork_engine::data::wiring::Wiring;
use meshwork_engine::decode::Wish;
use meshwork_engine::diag::Diagnostic;
use meshwork_engine::exec::machine::PATIENCE;
use meshwork_engine::export::trace::chrome_trace;
use meshwork_engine::graph::train::MAX_STEPS;
use meshwork_engine::likeness::Likeness;
use meshwork_engine::study::Study;
use meshwork_engine::timeline::Timeline;
use meshwork_wire::api::SampleRequest;
use std::borrow::Cow;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most threads; more than that only take each other's time.
const MAX_THREADS: i64 = 512;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Take so many steps, instead of those the study says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_STEPS))]
    steps: Option<u64>,
    /// Work on so many threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    threads: Option<u16>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Run the same on one processor too, and say the largest difference; where losses differ by
    /// more than another order of summation explains (0.000001 in double precision, in proportion
    /// for losses above 1; single precision leaves it open, with a note from 0.001 on), the exit
    /// status is 1
    #[arg(long)]
    check: bool,
    /// Print this tensor after the last step (may be repeated)
    #[arg(long, value_name = "NAME")]
    print: Vec<String>,
    /// Train on this file, whatever data the study names, also if it names none: a CSV, or for a
    /// model of text a text
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The column of the CSV to predict [default: the last]
    #[arg(long, value_name = "COLUMN", requires = "data")]
    target: Option<String>,
    /// What the target column is [default: numbers if all are, else classes]
    #[arg(long, requires = "data")]
    kind: Option<Kind>,
    /// Let the trained model go on from this text, or translate it
    #[arg(long, value_name = "PROMPT")]
    sample: Option<String>,
    #[command(flatten)]
    writing: Writing,
    /// Draw what the cells of the pipeline did in the last step, measured, as SVG
    #[arg(long, value_name = "OUT.svg")]
    timeline: Option<String>,
    /// Write the same as a Chrome trace, for <https://ui.perfetto.dev>
    #[arg(long, value_name = "OUT.json")]
    trace: Option<String>,
    /// Give a pipeline up whose cells have not moved for so long [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    patience: Option<Duration>,
    /// Refuse a run that would hold more than so many GiB
    #[arg(long, value_name = "GIB", default_value_t = 8, value_parser = gibibytes())]
    memory: u32,
}

/// How a sample is written.
#[derive(Debug, clap::Args)]
struct Writing {
    /// Write so many tokens [default: 100]
    #[arg(long, value_name = "N", requires = "sample")]
    tokens: Option<u64>,
    /// Below 1 likely tokens become likelier; at 0 the likeliest is written [default: 1]
    #[arg(long, value_name = "T", requires = "sample")]
    temperature: Option<f64>,
    /// Draw from so many of the likeliest tokens [default: all]
    #[arg(long, value_name = "K", requires = "sample")]
    top_k: Option<u64>,
    /// Draw another text [default: 0]
    #[arg(long, value_name = "N", requires = "sample")]
    sample_seed: Option<u64>,
    /// Keep so many translations in mind at each token [default: 1]
    #[arg(long, value_name = "N", requires = "sample")]
    beam: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Classification,
    Regression,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let text = args.input.read()?;
    let source = match &args.data {
        Some(path) => Source::Given(given(path, &text, args)?),
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
    if !ready.study.is_pipeline() && (args.timeline.is_some() || args.trace.is_some()) {
        return Err(Failure::Misuse(picture::no_pipeline()));
    }
    can_be_written(args)?;
    if !args.json {
        report::on_stderr(args.input.name(), &text, ready.study.diagnostics())?;
    }
    go(args, &text, &ready)
}

/// Fails where the files that are asked for could not be written after the run.
fn can_be_written(args: &Args) -> Result<(), Failure> {
    let outputs = [("--timeline", &args.timeline), ("--trace", &args.trace)];
    for (flag, output) in outputs.iter().filter_map(|(flag, o)| Some((flag, o.as_ref()?))) {
        if output == "-" {
            let message = format!("the run says its steps on standard output; give {flag} a file");
            return Err(Failure::Misuse(message));
        }
        can_put(output)?;
    }
    match (&args.timeline, &args.trace) {
        (Some(picture), Some(trace)) if picture == trace => Err(Failure::Misuse(format!(
            "--timeline and --trace would both write {picture}; give each a file of its own"
        ))),
        _ => Ok(()),
    }
}

/// How the trained model is to write, if it is.
fn wish(args: &Args) -> Result<Option<(&str, Wish)>, Failure> {
    let Some(prompt) = &args.sample else { return Ok(None) };
    let Writing { tokens, temperature, top_k, sample_seed, beam } = args.writing;
    let prompt_only = SampleRequest { prompt: prompt.clone(), ..SampleRequest::default() };
    let request =
        SampleRequest { tokens, temperature, top_k, seed: sample_seed, beam, ..prompt_only };
    let wish = sample::wish(&request).map_err(Failure::Misuse)?;
    Ok(Some((prompt, wish)))
}

fn go(args: &Args, text: &str, ready: &Ready) -> Result<(), Failure> {
    let steps = steps(&ready.study, args.steps);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let job = Job {
        study: &ready.study,
        data: ready.data.as_ref().map(|found| &*found.data),
        steps,
        threads: args.threads.map_or(cores, usize::from),
        check: args.check,
        print: &args.print,
        sample: wish(args)?,
        patience: args.patience.unwrap_or(PATIENCE),
    };
    if steps == 0 && (args.timeline.is_some() || args.trace.is_some()) {
        let nothing = "nothing is measured where no step is taken; say --steps 1 or more";
        return Err(Failure::Misuse(nothing.to_owned()));
    }
    let mut printer = Printer::new(args.json, steps, ready.study.graph().dtype);
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
    if printer.went_wrong {
        return Err(Failure::Study);
    }
    files(args, &ready.study, printer.timeline.as_ref())?;
    let Some((difference, likeness)) = printer.difference else { return Ok(()) };
    let message = format!("the largest difference from one processor is {difference:.3e}");
    let is_wrong = likeness == Likeness::Other;
    let severity = if is_wrong { "error" } else { "note" };
    writeln!(io::stderr().lock(), "{severity}: {message}{}", likeness.words())?;
    if is_wrong { Err(Failure::Study) } else { Ok(()) }
}

/// Writes the files that were asked for.
fn files(args: &Args, study: &Study, timeline: Option<&Timeline>) -> Result<(), Failure> {
    let measured = || {
        let nothing = "nothing was measured, since no step was taken";
        timeline.ok_or_else(|| Failure::Misuse(nothing.to_owned()))
    };
    if let Some(output) = &args.timeline {
        put(output, &picture::measured(study, measured()?).map_err(Failure::Misuse)?)?;
    }
    if let Some(output) = &args.trace {
        put(output, &chrome_trace(measured()?, "measured", 1e6))?;
    }
    Ok(())
}

fn fail<T>(args: &Args, text: &str, diagnostics: &[Diagnostic]) -> Result<T, Failure> {
    if args.json {
        report::as_json(text, diagnostics)?;
    } else {
        report::on_stderr(args.input.name(), text, diagnostics)?;
    }
    Err(Failure::Study)
}

/// The data in a file: a text for a study that takes text, else a table.
fn given(path: &Path, study: &str, args: &Args) -> Result<Found, Failure> {
    let shown = path.display();
    let bytes =
        std::fs::read(path).map_err(|e| Failure::Misuse(format!("{shown} cannot be read: {e}")))?;
    let name = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let study = Study::new(study);
    let wiring = Wiring::new(study.graph(), &study.data_places());
    let read = if wiring.is_ok_and(|wiring| wiring.takes_text()) {
        text::read(&bytes).map(|text| {
            let vocabulary = Vocabulary::default();
            Data::Text(Text { name, text: text.into(), vocabulary })
        })
    } else {
        let kind = match args.kind {
            None => read::Kind::Auto,
            Some(Kind::Classification) => read::Kind::Classification,
            Some(Kind::Regression) => read::Kind::Regression,
        };
        let options = read::Options { target: args.target.clone(), kind };
        read::table(&name, &bytes, &options).map(Data::Table)
    };
    let data = read.map_err(|problems| {
        let lines = problems.iter().map(|d| {
            let hints = d.hints.iter().fold(String::new(), |all, h| all + "; " + h);
            format!("\n  {shown}:{}:{}: {}{hints}", d.line, d.column, d.message)
        });
        Failure::Misuse(format!(
            "the data cannot be used (line:column){}",
            lines.collect::<String>()
        ))
    })?;
    Ok(Found { hash: data_hash(&data), data: Cow::Owned(data) })
}
