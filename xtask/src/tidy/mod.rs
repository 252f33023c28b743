//! The rules of the house that the compiler does not know, as a test like any other.
//!
//! Each rule is one file: it looks at the sources and returns what it found. Files that have grown
//! long are listed and nothing more.

mod source;
mod text;
mod order;
mod crates;
mod map;
mod corpus;
mod golden;
mod steps;

use crate::{say, sh};
use anyhow::{Result, bail};
use source::Source;
use std::fmt;
use std::path::PathBuf;

/// Lines of code from which a file is listed as long.
const LONG: usize = 350;

/// Something that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// Path below the root, with the line where there is one.
    place: String,
    /// What is wrong and what to do about it.
    problem: String,
}

impl Finding {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }

    /// A finding at a line, counted from 1.
    fn at(path: &str, line: usize, problem: impl Into<String>) -> Self {
        Self::new(format!("{path}:{line}"), problem)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// What the rules look at.
#[derive(Debug)]
struct Workspace {
    root: PathBuf,
    /// Every Rust file.
    rust: Vec<Source>,
    /// Every other text of ours: scripts, styles, pages, tests of the browser.
    other: Vec<Source>,
}

/// Checks every rule and prints what it found; an error if a rule is broken.
pub(crate) fn run() -> Result<()> {
    say::step("Checking the rules of the house", "2 s");
    let workspace = Workspace::read(&sh::root())?;
    for source in workspace.rust.iter().filter(|source| source.code_lines() > LONG) {
        say::note(&format!("long: {} has {} lines of code", source.path, source.code_lines()));
    }
    let findings = findings(&workspace)?;
    for finding in &findings {
        say::note(&finding.to_string());
    }
    if !findings.is_empty() {
        bail!("{} places break a rule of the house", findings.len());
    }
    Ok(())
}

fn findings(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut all = text::check(workspace);
    all.extend(order::check(workspace));
    all.extend(crates::check(workspace)?);
    all.extend(map::check(workspace));
    all.extend(corpus::check(workspace)?);
    all.extend(golden::check(workspace)?);
    all.extend(steps::check(workspace));
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{Workspace, findings};
    use crate::sh;

    #[test]
    fn the_house_is_tidy() {
        let workspace = Workspace::read(&sh::root()).unwrap();
        let found: Vec<String> =
            findings(&workspace).unwrap().iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "\n{}", found.join("\n"));
    }
}
