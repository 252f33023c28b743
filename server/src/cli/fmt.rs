//! `meshwork fmt` and `meshwork link`: a study as canonical text, and as an address.

use super::input::Input;
use super::{Failure, report};
use meshwork_engine::spec::{parse, print, url};
use std::io::{self, Write as _};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Write the file instead of printing it
    #[arg(long)]
    write: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct LinkArgs {
    #[command(flatten)]
    input: Input,
    /// The address of the studio
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080/")]
    studio: String,
}

/// Prints a study in canonical form. Lines that cannot be read are kept as they are, and said.
pub(super) fn fmt(args: &Args) -> Result<(), Failure> {
    if args.write && args.input.is_stdin() {
        return Err(Failure::Misuse("--write needs a file, not standard input".to_owned()));
    }
    let text = args.input.read()?;
    let (spec, diagnostics) = parse::parse(&text);
    let printed = print::print(&spec);
    report::on_stderr(args.input.name(), &text, &diagnostics)?;
    if !args.write {
        io::stdout().lock().write_all(printed.as_bytes())?;
    } else if printed != text {
        std::fs::write(args.input.path(), printed).map_err(|e| {
            Failure::Misuse(format!("{} cannot be written: {e}", args.input.name()))
        })?;
    }
    let has_errors = diagnostics.iter().any(meshwork_engine::diag::Diagnostic::is_error);
    if has_errors { Err(Failure::Study) } else { Ok(()) }
}

/// Prints the link that opens a study in the studio.
pub(super) fn link(args: &LinkArgs) -> Result<(), Failure> {
    let text = args.input.read()?;
    let base = args.studio.trim_end_matches('/');
    writeln!(io::stdout().lock(), "{base}/{}", url::encode(&text))?;
    if url::is_long(&text) {
        let advice = "note: the link is too long for many chat programs; POST the study to \
                      /api/v1/studies for a short one";
        writeln!(io::stderr().lock(), "{advice}")?;
    }
    Ok(())
}
