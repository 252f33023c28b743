//! Everything built, and the studio served.

use crate::{say, sh, studio};
use anyhow::Result;
use std::process::Command;
use std::time::Instant;

/// The options of `meshwork serve`; each takes a value.
const OPTIONS: [&str; 5] = ["--listen", "--data", "--allow-host", "--memory", "--patience"];

/// Builds the studio and the binary that holds it.
pub(crate) fn build() -> Result<()> {
    let start = Instant::now();
    studio::build()?;
    let known = sh::meshwork().exists();
    let usually = if known { "seconds to a minute" } else { "about 4 min the first time" };
    say::step("Building engine and server", usually);
    sh::run(sh::cargo_build("build").args(["--release", "--package", "meshwork-server"]))?;
    say::note(&format!("everything is built, after {}", say::took(start)));
    Ok(())
}

/// Builds and serves; the options go to `meshwork serve`.
pub(crate) fn serve(options: &[&str]) -> Result<()> {
    build()?;
    let mut server = Command::new(sh::meshwork());
    server.arg("serve").args(options);
    become_program(server)
}

/// What is wrong with the options of `serve`, before a long build finds out.
pub(crate) fn misuse(options: &[&str]) -> Option<String> {
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let (name, value) = option.split_once('=').map_or((*option, None), |(n, v)| (n, Some(v)));
        if !OPTIONS.contains(&name) {
            return Some(format!("`serve` does not know `{option}`"));
        }
        if value.or_else(|| rest.next().copied()).is_none() {
            return Some(format!("`{option}` takes a value"));
        }
    }
    None
}

/// Hands the terminal over, so that Ctrl-C reaches the server alone.
#[cfg(unix)]
fn become_program(mut program: Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    let error = program.exec();
    Err(anyhow::Error::new(error).context("could not start the server"))
}

#[cfg(not(unix))]
fn become_program(mut program: Command) -> Result<()> {
    sh::run(&mut program)
}

#[cfg(test)]
mod tests {
    use super::misuse;

    #[test]
    fn misuse_is_found_before_the_build() {
        assert_eq!(misuse(&["--listen", "127.0.0.1:1", "--data=x"]), None);
        assert_eq!(misuse(&["--listen"]).unwrap(), "`--listen` takes a value");
        assert_eq!(misuse(&["--port", "1"]).unwrap(), "`serve` does not know `--port`");
    }
}
