//! `cargo xtask`: every task of the project under one command.

mod files;
mod say;
mod hash;
mod sh;
mod wasm;
mod studio;
mod serve;
mod browser;
mod tidy;
mod test;
mod bench;
mod experiments;
mod pipelines;

// The names of the bundle are tested here: the program they belong to takes long to compile.
#[cfg(test)]
#[path = "bundle/names.rs"]
mod names;

use std::env;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask TASK

  serve [--listen ADDR] [--data DIR]
                  build everything and serve the studio; prints its address
  build           build everything: engine, studio, server
  test [--quick]  test everything; --quick leaves out the browser
  e2e [ARGS…]     only the browser tests; ARGS go to Playwright
  tidy            only the rules of the house
  bench [--peers DIR] [--rounds N]
                  measure, natively and in the browser, and print a table; peers in DIR in turns
  experiments     train the models of docs/experiments.md, and print its first table
  experiments pipelines
                  run the pipelines of docs/experiments.md, and print its second table
  bless           write what the golden tests expect anew
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] | ["help" | "--help" | "-h", ..] | [_, "--help" | "-h"] => {
            say::line(HELP);
            Ok(())
        }
        ["serve", options @ ..] => match serve::misuse(options) {
            Some(problem) => return misuse(&problem),
            None => serve::serve(options),
        },
        ["build"] => serve::build(),
        ["test"] => test::run(true),
        ["test", "--quick"] => test::run(false),
        ["e2e", options @ ..] => test::browser_only(options),
        ["tidy"] => tidy::run(),
        ["bench", options @ ..] => bench::run(options),
        ["experiments"] => experiments::run(),
        ["experiments", "pipelines"] => pipelines::run(),
        ["bless"] => test::bless(),
        other => return misuse(&format!("there is no task `{}`", other.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::line(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn misuse(problem: &str) -> ExitCode {
    say::line(&format!("error: {problem}\n\n{HELP}"));
    ExitCode::from(2)
}
