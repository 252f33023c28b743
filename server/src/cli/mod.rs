//! The command line. Exit status 0 if all went well, 1 for a study with errors or a run that
//! diverged, failed or is not like that on one processor, 2 for misuse.

mod input;
mod plain;
mod report;
mod table;
mod plan;
mod cells;
mod printer;
mod run;
mod draw;
mod fmt;
mod serve;
mod bench;

use clap::{Parser, Subcommand};
use plain::Plain;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Plan and train tensor programs on processor meshes.
///
/// FILE holds a study; - reads it from standard input.
#[derive(Debug, Parser)]
#[command(name = "meshwork", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the studio and the API.
    Serve(serve::Args),
    /// Show what a study means: slices, collectives with their reasons, costs.
    Plan(plan::Args),
    /// Train a study, or run it once forward.
    Run(run::Args),
    /// Draw how a study's tensors lie on the mesh, as SVG.
    Draw(draw::Args),
    /// Print a study in canonical form.
    Fmt(fmt::Args),
    /// Print the link that opens a study in the studio.
    Link(fmt::LinkArgs),
    /// Measure the engine on this machine.
    #[command(hide = true)]
    Bench(bench::Args),
}

/// Why a command did not go well.
#[derive(Debug)]
enum Failure {
    /// The study has errors, or its run went wrong; all is said already.
    Study,
    /// The command was used wrongly: what to do instead.
    Misuse(String),
    /// Output could not be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        Self::Output(e)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(e: serde_json::Error) -> Self {
        Self::Output(e.into())
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no errors; where they cannot be printed nobody reads them.
            let printed = e.print();
            return ExitCode::from(if e.use_stderr() || printed.is_err() { 2 } else { 0 });
        }
    };
    let result = match cli.command {
        Command::Serve(args) => serve::serve(args),
        Command::Plan(args) => plan::plan(&args),
        Command::Run(args) => run::run(&args),
        Command::Draw(args) => draw::draw(&args),
        Command::Fmt(args) => fmt::fmt(&args),
        Command::Link(args) => fmt::link(&args),
        Command::Bench(args) => bench::bench(&args),
    };
    let message = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Study) => return ExitCode::from(1),
        // Whoever read the output has had enough, as `head` has.
        Err(Failure::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            return ExitCode::SUCCESS;
        }
        Err(Failure::Output(e)) => format!("the output cannot be written: {e}"),
        Err(Failure::Misuse(message)) => message,
    };
    // Where standard error is closed too there is no one left to tell.
    drop(writeln!(Plain(io::stderr()), "error: {message}"));
    ExitCode::from(2)
}
