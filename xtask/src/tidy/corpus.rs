//! The diagnostics: every code has a help text and a case in the corpus, or, where no text alone can
//! cause it (data, a run that diverges), a test that names it.

use super::source::Source;
use super::{Finding, Workspace};
use crate::files;
use anyhow::Result;
use std::path::Path;

const CODES: &str = "engine/src/diag.rs";
const CORPUS: &str = "engine/tests/corpus";
/// A help text shorter than this explains nothing.
const HELP: usize = 40;

/// Looks up each code.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let Some(source) = workspace.rust.iter().find(|source| source.path == CODES) else {
        return Ok(vec![Finding::new(CODES, "is missing")]);
    };
    let corpus = read(&workspace.root.join(CORPUS))?;
    let tests: Vec<&str> = workspace.rust.iter().map(Source::tests).collect();
    let codes = codes(&source.text);
    let mut found = Vec::new();
    if codes.is_empty() {
        found.push(Finding::new(CODES, "has no `codes!` list that could be read"));
    }
    for (line, variant, name, help) in codes {
        if help.len() < HELP {
            found.push(Finding::at(CODES, line, format!("`{name}` has no help worth the name")));
        }
        let in_code = format!("Code::{variant}");
        let in_quotes = format!("\"{name}\"");
        let tested = |test: &&str| test.contains(&in_quotes) || mentions(test, &in_code);
        if !mentions(&corpus, name) && !tests.iter().any(tested) {
            let problem = format!("`{name}` has no case in {CORPUS}, and no test has `{in_code}`");
            found.push(Finding::at(CODES, line, problem));
        }
    }
    Ok(found)
}

/// The lines `Variant "name" "help";` of the `codes!` list: line, variant, name, help.
fn codes(text: &str) -> Vec<(usize, &str, &str, &str)> {
    let start = text.find("\ncodes! {").unwrap_or(text.len());
    let first = text[..start].matches('\n').count() + 1;
    let lines = text[start..].lines().enumerate();
    let inside = lines.take_while(|(_, line)| *line != "}");
    inside
        .filter_map(|(number, line)| {
            let (variant, rest) = line.trim().split_once(" \"")?;
            let (name, help) = rest.split_once("\" \"")?;
            let is_variant = variant.starts_with(char::is_uppercase);
            is_variant.then(|| (first + number, variant, name, help.trim_end_matches("\";")))
        })
        .collect()
}

/// Every text below a folder, one after the other.
fn read(folder: &Path) -> Result<String> {
    let mut all = String::new();
    if folder.exists() {
        for file in files::below(folder)? {
            all.push_str(&files::text(&folder.join(file))?);
            all.push('\n');
        }
    }
    Ok(all)
}

/// Whether the name stands in a text as a word of its own.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::{codes, mentions};

    #[test]
    fn the_list_of_codes_is_read() {
        let text = "//! Diagnostics.\n\ncodes! {\n    // text\n    Syntax \"syntax\" \"Help; more.\";\n}\n";
        assert_eq!(codes(text), [(5, "Syntax", "syntax", "Help; more.")]);
    }

    #[test]
    fn a_longer_code_is_another() {
        assert!(mentions("error[unknown-name] at 1:2", "unknown-name"));
        assert!(!mentions("unknown-names", "unknown-name"));
    }
}
