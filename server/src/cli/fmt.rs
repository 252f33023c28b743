//! `meshwork fmt` and `meshwork link`: a study as canonical text, and as an address.

use super::input::Input;
use super::{Failure, report};
use meshwork_engine::spec::lex::MAX_TEXT;
use meshwork_engine::spec::{parse, print, url};
use std::io::{self, Write as _};
use std::path::Path;

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
    let (_, diagnostics) = parse::parse(&text);
    // Not what was understood: lines with errors keep their words.
    let printed = print::fmt(&text);
    report::on_stderr(args.input.name(), &text, &diagnostics)?;
    if !args.write {
        io::stdout().lock().write_all(printed.as_bytes())?;
    } else if printed != text {
        replace(Path::new(args.input.path()), &printed).map_err(|e| {
            Failure::Misuse(format!("{} cannot be written: {e}", args.input.name()))
        })?;
    }
    let has_errors = diagnostics.iter().any(meshwork_engine::diag::Diagnostic::is_error);
    if has_errors { Err(Failure::Study) } else { Ok(()) }
}

/// Puts a text in the place of a file's: all of it or, if that fails, nothing.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link keeps pointing at the file that it names.
    let path = path.canonicalize()?;
    let beside = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(beside)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(std::fs::metadata(&path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}

/// Prints the link that opens a study in the studio.
pub(super) fn link(args: &LinkArgs) -> Result<(), Failure> {
    let text = args.input.read()?;
    let fragment = if text.len() <= MAX_TEXT { url::encode(&text) } else { String::new() };
    // What the studio will do with it.
    if let Err(why) = url::decode(&fragment).and_then(|_| url::fits(&text)) {
        let store =
            "POST /api/v1/studies of a server stores studies of up to 1 MiB under a short id";
        return Err(Failure::Misuse(format!(
            "nothing would open the link. {}; {store}",
            why.message
        )));
    }
    let link = format!("{}/{fragment}", args.studio.trim_end_matches('/'));
    writeln!(io::stdout().lock(), "{link}")?;
    if link.len() > url::LONG_LINK {
        writeln!(
            io::stderr().lock(),
            "warning: the link has {} characters, and chat programs cut links beyond {}; POST \
             /api/v1/studies of a server stores the study under a short id",
            link.len(),
            url::LONG_LINK
        )?;
    }
    Ok(())
}
