//! `cargo xtask test`: cheap checks first, then the native tests, then the browser's.
//!
//! All of one stage runs, so that one look shows everything it found; the next stage starts only
//! when it found nothing.

use crate::{browser, files, say, serve, sh, tidy};
use anyhow::{Context as _, Result, bail};
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{io, thread};

/// How many checks and tests went well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Count {
    passed: u64,
    failed: u64,
}

/// Runs everything, or everything but the browser.
pub(crate) fn run(with_browser: bool) -> Result<()> {
    let start = Instant::now();
    let mut total = Count::default();
    total.stage(&[&formatting, &lints, &rules], start)?;
    total.stage(&[&native, &examples, &documentation], start)?;
    if with_browser {
        total.stage(&[&everything_builds], start)?;
        total.stage(&[&|| in_browser(&[])], start)?;
    }
    total.close(start);
    Ok(())
}

/// Runs the browser tests alone; `options` go to Playwright.
pub(crate) fn browser_only(options: &[&str]) -> Result<()> {
    let start = Instant::now();
    let mut total = Count::default();
    serve::build()?;
    total.stage(&[&|| in_browser(options)], start)?;
    total.close(start);
    Ok(())
}

/// Writes the files that golden tests compare with anew.
pub(crate) fn bless() -> Result<()> {
    say::step("Writing golden files anew", "about 1 min");
    sh::run(
        sh::cargo()
            .args(["test", "--quiet"])
            .env("MESHWORK_BLESS", "1")
            .env("INSTA_UPDATE", "always"),
    )?;
    say::note("look at `git diff` before you commit");
    Ok(())
}

impl Count {
    /// Runs every part; an error if one failed.
    fn stage(&mut self, parts: &[&dyn Fn() -> Result<Self>], start: Instant) -> Result<()> {
        for part in parts {
            match part() {
                Ok(count) => {
                    self.passed += count.passed;
                    self.failed += count.failed;
                }
                Err(error) => {
                    self.failed += 1;
                    say::line(&format!("error: {error:#}"));
                }
            }
        }
        if self.failed > 0 {
            self.close(start);
            bail!("not everything passed; the output above says what");
        }
        Ok(())
    }

    /// The closing line.
    fn close(self, start: Instant) {
        let Self { passed, failed } = self;
        say::line(&format!("\n{passed} passed, {failed} failed, in {}", say::took(start)));
    }

    fn of(succeeded: bool) -> Self {
        Self { passed: u64::from(succeeded), failed: u64::from(!succeeded) }
    }
}

fn formatting() -> Result<Count> {
    say::step("Checking the format", "a second");
    let (succeeded, _) = tee(sh::cargo().args(["fmt", "--all", "--check"]))?;
    if !succeeded {
        say::note("`cargo fmt --all` mends it");
    }
    Ok(Count::of(succeeded))
}

fn lints() -> Result<Count> {
    say::step("Checking the lints", "about 3 min the first time");
    let mut clippy = sh::cargo();
    clippy.args(["clippy", "--quiet", "--workspace", "--all-targets"]);
    clippy.args(["--features", "xtask/bundle", "--", "-D", "warnings"]);
    Ok(Count::of(tee(&mut clippy)?.0))
}

fn rules() -> Result<Count> {
    tidy::run()?;
    Ok(Count::of(true))
}

fn native() -> Result<Count> {
    say::step("Running the native tests", "about 8 min the first time");
    if sh::output(sh::cargo().args(["nextest", "--version"])).is_ok() {
        let mut nextest = sh::cargo();
        nextest.args(["nextest", "run", "--workspace", "--no-fail-fast", "--cargo-quiet"]);
        nextest.args([
            "--no-tests",
            "pass",
            "--status-level",
            "fail",
            "--final-status-level",
            "fail",
        ]);
        let (succeeded, said) = tee(nextest.args(["--show-progress", "none"]))?;
        return counted(succeeded, nextest_count(&said));
    }
    let (succeeded, said) = tee(sh::cargo()
        .args(["test", "--workspace", "--no-fail-fast", "--lib"])
        .args(["--bins", "--tests", "--quiet"]))?;
    counted(succeeded, libtest_count(&said))
}

fn examples() -> Result<Count> {
    say::step("Running the examples in the documentation", "about 1 min");
    let (succeeded, said) =
        tee(sh::cargo().args(["test", "--doc", "--workspace", "--no-fail-fast", "--quiet"]))?;
    counted(succeeded, libtest_count(&said))
}

fn documentation() -> Result<Count> {
    say::step("Building the documentation", "about 1 min");
    let mut doc = sh::cargo();
    doc.args(["doc", "--quiet", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    Ok(Count::of(tee(&mut doc)?.0))
}

fn everything_builds() -> Result<Count> {
    serve::build()?;
    Ok(Count::of(true))
}

fn in_browser(options: &[&str]) -> Result<Count> {
    let report = browser::e2e().join("test-results/report.json");
    let mut playwright = browser::playwright()?;
    playwright.arg("test").args(options).env("MESHWORK_E2E_REPORT", &report);
    say::step("Running the browser tests", "about 2 min");
    let (succeeded, _) = tee(&mut playwright)?;
    let report = files::text(&report)?;
    counted(succeeded, playwright_count(&report)?)
}

/// The count, which must agree with how the program ended.
fn counted(succeeded: bool, count: Count) -> Result<Count> {
    if !succeeded && count.failed == 0 {
        bail!("the tests could not be run to their end");
    }
    Ok(count)
}

/// Of nextest's `Summary [ 1.2s] 12 tests run: 11 passed, 1 failed, 0 skipped`.
fn nextest_count(said: &str) -> Count {
    let summary = said.lines().rfind(|line| line.contains("Summary [")).unwrap_or_default();
    let timed_out = number_before(summary, " timed out");
    Count {
        passed: number_before(summary, " passed"),
        failed: number_before(summary, " failed") + timed_out,
    }
}

/// Of every `test result: ok. 3 passed; 0 failed; …` of cargo's own test runner.
fn libtest_count(said: &str) -> Count {
    let mut count = Count::default();
    for line in said.lines().filter(|line| line.starts_with("test result:")) {
        count.passed += number_before(line, " passed");
        count.failed += number_before(line, " failed");
    }
    count
}

fn playwright_count(report: &str) -> Result<Count> {
    let report: serde_json::Value = serde_json::from_str(report).context("Playwright's report")?;
    let number = |name: &str| report["stats"][name].as_u64().unwrap_or_default();
    Ok(Count { passed: number("expected") + number("flaky"), failed: number("unexpected") })
}

fn number_before(line: &str, word: &str) -> u64 {
    let Some(at) = line.find(word) else { return 0 };
    let digits = line[..at].rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// Runs a command whose output goes to the terminal and comes back as text, too. Whether it
/// succeeded comes first.
fn tee(command: &mut Command) -> Result<(bool, String)> {
    if io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always").env("FORCE_COLOR", "1");
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", sh::name(command)))?;
    let outputs: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|out| Box::new(out) as _),
        child.stderr.take().map(|err| Box::new(err) as _),
    ];
    let copies = outputs.into_iter().flatten().map(|output| thread::spawn(move || copy(output)));
    let copies: Vec<_> = copies.collect();
    let mut said = String::new();
    for copy in copies {
        let Ok(text) = copy.join() else { bail!("could not read the output") };
        said.push_str(&plain(&text?));
    }
    Ok((child.wait()?.success(), said))
}

fn copy(output: Box<dyn Read + Send>) -> io::Result<String> {
    let mut said = String::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(io::stderr(), "{line}")?;
        said.push_str(&line);
        said.push('\n');
    }
    Ok(said)
}

/// The text without the colours of the terminal.
fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.strip_prefix('[').unwrap_or(part);
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
        plain.push_str(&rest[end..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{Count, libtest_count, nextest_count, plain, playwright_count};

    #[test]
    fn the_counts_of_each_runner_are_read() {
        let nextest = "     Summary [   0.137s] 14 tests run: 12 passed (1 slow), 1 failed, 1 timed out, 3 skipped";
        assert_eq!(nextest_count(nextest), Count { passed: 12, failed: 2 });
        let libtest = "test result: ok. 3 passed; 0 failed; 0 ignored\n\ntest result: FAILED. 1 passed; 2 failed;";
        assert_eq!(libtest_count(libtest), Count { passed: 4, failed: 2 });
        let playwright = r#"{"stats": {"expected": 5, "unexpected": 1, "flaky": 0, "skipped": 2}}"#;
        assert_eq!(playwright_count(playwright).unwrap(), Count { passed: 5, failed: 1 });
    }

    #[test]
    fn colours_do_not_hide_the_counts() {
        let red = "\x1b[32;1m     Summary\x1b[0m [ 1s] \x1b[1m2\x1b[0m tests run: \x1b[1m2\x1b[0m \x1b[32mpassed";
        assert_eq!(nextest_count(&plain(red)), Count { passed: 2, failed: 0 });
    }
}
