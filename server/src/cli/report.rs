//! Diagnostics for people: place, message, the line with what is meant underlined, mends.
//!
//! ```text
//! error[not-divisible]: `batch` has 6 elements, `rows` has 4 processors
//!   --> figure.study:2:9
//!    |
//!  2 | layout batch:rows
//!    |        ^^^^^^^^^^
//!    = Write `rows:2`.
//!    = Leave `batch` whole.
//! ```

use super::Failure;
use super::plain::Plain;
use meshwork_engine::diag::{Diagnostic, Hint, TextEdit, place};
use serde::Serialize;
use std::io::{self, Write};

/// So many letters of what a mend writes are shown.
const MOST_SHOWN: usize = 60;

/// Writes diagnostics for people.
pub(super) fn write(
    out: &mut impl Write,
    name: &str,
    text: &str,
    diagnostics: &[Diagnostic],
) -> io::Result<()> {
    for d in diagnostics {
        one(out, name, text, d)?;
    }
    Ok(())
}

/// Says on standard error what is wrong with a study.
pub(super) fn on_stderr(name: &str, text: &str, diagnostics: &[Diagnostic]) -> Result<(), Failure> {
    Ok(write(&mut Plain(io::stderr().lock()), name, text, diagnostics)?)
}

/// Says on standard output, as one JSON object, what is wrong with a study.
pub(super) fn as_json(text: &str, diagnostics: &[Diagnostic]) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Report {
        diagnostics: Vec<meshwork_wire::plan::Diagnostic>,
    }
    let report = Report { diagnostics: crate::convert::diagnostics(text, diagnostics) };
    Ok(writeln!(io::stdout().lock(), "{}", serde_json::to_string(&report)?)?)
}

fn one(out: &mut impl Write, name: &str, text: &str, d: &Diagnostic) -> io::Result<()> {
    let place = place(text, d.span.start);
    writeln!(out, "{}[{}]: {}", d.severity.name(), d.code.name(), d.message)?;
    writeln!(out, "  --> {name}:{}:{}", place.line, place.column)?;
    let source = text.lines().nth(place.line as usize - 1).unwrap_or("");
    let number = place.line.to_string();
    let margin = " ".repeat(number.len());
    if !source.trim().is_empty() {
        let before: String = source
            .chars()
            .take(place.column as usize - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let rest = source.chars().count().saturating_sub(place.column as usize - 1);
        let meant = d.span.of(text).lines().next().map_or(0, |l| l.chars().count());
        let carets = "^".repeat(meant.min(rest).max(1));
        writeln!(out, " {margin} |")?;
        writeln!(out, " {number} | {source}")?;
        writeln!(out, " {margin} | {before}{carets}")?;
    }
    for hint in &d.hints {
        writeln!(out, " {margin} = {}", mend(text, hint))?;
    }
    writeln!(out)
}

/// A mend in words, with what it writes or takes out where the words do not say it.
fn mend(text: &str, hint: &Hint) -> String {
    let says = hint.text.as_str();
    let Some(TextEdit { span, replacement }) = &hint.edit else { return says.to_owned() };
    let (before, after) = (span.of(text).trim(), replacement.trim());
    let (how, what) = if after.is_empty() { ("without ", before) } else { ("", after) };
    let is_short = !what.contains('\n') && what.chars().count() <= MOST_SHOWN;
    // `Set in to 2` says `in:2`, and `Leave in whole` that `in:rows` goes.
    let mut parts = what.split(':');
    let is_said = if after.is_empty() {
        says == "Remove it." || parts.next().is_some_and(|name| says.contains(name))
    } else {
        parts.all(|part| says.contains(part))
    };
    if what.is_empty() || !is_short || is_said {
        return says.to_owned();
    }
    format!("{}: {how}`{what}`.", says.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshwork_engine::diag::{Code, Span};

    fn written(text: &str, span: Span) -> String {
        let d = Diagnostic::error(Code::Syntax, span, "wrong").hint(Hint::new("mend it"));
        let mut out = Vec::new();
        write(&mut out, "f", text, &[d]).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_caret_stands_under_what_is_meant() {
        assert_eq!(
            written("mesh all:2\nlayout ä:b c", Span::new(18, 22)),
            "error[syntax]: wrong\n  --> f:2:8\n   |\n 2 | layout ä:b c\n   |        ^^^\n   = mend it\n\n"
        );
    }

    #[test]
    fn mends_say_what_to_type() {
        let text = "mesh p:4\npipeline cells:3 costs:(1 2)\n";
        let said = |hint: Hint| mend(text, &hint);
        let cells = Span::new(18, 25);
        assert_eq!(said(Hint::edit("Have as many.", cells, "cells:4")), "Have as many: `cells:4`.");
        assert_eq!(said(Hint::edit("Write `cells:4`.", cells, "cells:4")), "Write `cells:4`.");
        let costs = Span::new(25, 38);
        let taken = "Take the operations: without `costs:(1 2)`.";
        assert_eq!(said(Hint::edit("Take the operations.", costs, "")), taken);
        assert_eq!(said(Hint::edit("Remove it.", costs, "")), "Remove it.");
        assert_eq!(said(Hint::edit("Leave `costs` out.", costs, "")), "Leave `costs` out.");
        assert_eq!(said(Hint::new("Add more rows.")), "Add more rows.");
        assert_eq!(said(Hint::edit("Set `p` to 2.", cells, "p:2")), "Set `p` to 2.");
        let two_lines = Hint::edit("Add both.", cells, "a:1\nb:2");
        assert_eq!(said(two_lines), "Add both.");
    }

    #[test]
    fn an_empty_text_and_a_place_beyond_it_do_no_harm() {
        assert_eq!(
            written("", Span::new(7, 9)),
            "error[syntax]: wrong\n  --> f:1:1\n   = mend it\n\n"
        );
    }
}
