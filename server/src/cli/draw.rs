//! `meshwork draw`: the pictures of a study as SVG.

use super::input::Input;
use super::{Failure, report};
use crate::picture::{Colours, What, svg, trace};
use clap::ValueEnum;
use meshwork_engine::study::Study;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Draw this tensor only [default: the mesh and all named tensors]
    #[arg(long, value_name = "NAME")]
    tensor: Option<String>,
    /// Draw the timeline of the pipeline, as predicted; `run --timeline` draws what was measured
    #[arg(long, conflicts_with = "tensor")]
    timeline: bool,
    /// Write the predicted timeline as a Chrome trace, for <https://ui.perfetto.dev>, instead of a picture
    #[arg(long, conflicts_with_all = ["tensor", "theme", "timeline"])]
    trace: bool,
    /// Where the picture goes; - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: String,
    /// Colours [default: what the reader prefers]
    #[arg(long)]
    theme: Option<Theme>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Theme {
    Light,
    Dark,
}

pub(super) fn draw(args: &Args) -> Result<(), Failure> {
    let text = args.input.read()?;
    let study = Study::new(&text);
    report::on_stderr(args.input.name(), &text, study.diagnostics())?;
    if study.has_errors() {
        return Err(Failure::Study);
    }
    let colours = match args.theme {
        None => Colours::Preferred,
        Some(Theme::Light) => Colours::Light,
        Some(Theme::Dark) => Colours::Dark,
    };
    let what = match &args.tensor {
        Some(name) => What::Tensor(name),
        None if args.timeline => What::Timeline,
        None => What::All,
    };
    let picture = if args.trace { trace(&study) } else { svg(&study, what, colours) };
    put(&args.output, &picture.map_err(Failure::Misuse)?)
}

/// Fails where a file could not be written; leaves what is there as it is.
pub(super) fn can_put(output: &str) -> Result<(), Failure> {
    let is_new = !Path::new(output).exists();
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(output)
        .and_then(|_| if is_new { std::fs::remove_file(output) } else { Ok(()) })
        .map_err(|e| cannot_write(output, &e))
}

fn cannot_write(output: &str, e: &io::Error) -> Failure {
    Failure::Misuse(format!("{output} cannot be written: {e}"))
}

/// Writes a picture or a trace to a file; - is standard output.
pub(super) fn put(output: &str, text: &str) -> Result<(), Failure> {
    if output == "-" {
        return Ok(io::stdout().lock().write_all(text.as_bytes())?);
    }
    std::fs::write(output, text).map_err(|e| cannot_write(output, &e))
}
