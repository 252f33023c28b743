//! Study text → [`Spec`]: never fails, never panics, one pass in linear time.
//!
//! First every line is read by itself; then the lines are checked against each other: names given
//! twice, statements that may stand once, blocks and their ends. What clashes is reported at the
//! second place and left out, so that the Spec is free of clashes. Which presets, functions and
//! options exist is not known here: the graph builder checks that.

mod reader;
mod pairs;
mod options;
mod expr;
mod line;
mod document;

use self::document::Document;
use self::reader::{MAX_PROBLEMS, Problems, Reader};
use super::ast::{Item, Spec, Stmt};
use super::lex::{self, MAX_TEXT};
use crate::diag::{Code, Diagnostic, Hint, Span};

pub(super) use self::options::is_value;

/// Parses a study. The diagnostics come in the order of the text; a text beyond 4 MiB is not read.
pub fn parse(text: &str) -> (Spec, Vec<Diagnostic>) {
    let Reading { items, problems, .. } = read(text);
    let Problems { list: mut diagnostics, unlisted, .. } = problems;
    diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
    if unlisted {
        let span = diagnostics.last().map_or(Span::default(), |d| d.span);
        let message =
            format!("There are more than {MAX_PROBLEMS} problems; the rest is not listed");
        diagnostics.push(Diagnostic::error(Code::TooLarge, span, message));
    }
    (Spec { items }, diagnostics)
}

/// A text taken apart.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Its lines.
    pub(super) items: Vec<Item>,
    /// Per line, whether it holds an error, so that its item may say less than its text.
    pub(super) broken: Vec<bool>,
    /// What is wrong, in the order it was found.
    problems: Problems,
}

/// Reads every line and checks the lines against each other.
pub(super) fn read(text: &str) -> Reading {
    if text.len() > MAX_TEXT {
        let mut reading = Reading::default();
        let start = text.floor_char_boundary(MAX_TEXT);
        let span = Span::new(start as u32, text.len() as u32);
        let message = format!("The text has {} bytes; at most {MAX_TEXT} are read", text.len());
        let hint = Hint::new("Keep data in a data set (`data:NAME`) rather than in the text.");
        reading.problems.report(Diagnostic::error(Code::TooLarge, span, message).hint(hint));
        return reading;
    }
    let mut reading = read_lines(text);
    let Reading { items, broken, problems } = &mut reading;
    let mut document = Document::new(text, problems);
    for (line, (item, broken)) in items.iter_mut().zip(broken).enumerate() {
        *broken |= document.check(line, item);
    }
    document.finish();
    reading
}

/// Reads every line by itself: names may stand twice, blocks may be open.
pub(super) fn read_lines(text: &str) -> Reading {
    let mut reading = Reading::default();
    if text.len() > MAX_TEXT {
        return reading;
    }
    for (start, line) in lex::lines(text) {
        let (code, comment) = lex::split_comment(line);
        let errors = reading.problems.errors;
        let code = lex::span_within(text, code);
        let stmt = Reader::new(text, code, &mut reading.problems).statement();
        if let Stmt::Mesh(pairs) = &stmt
            && reading.problems.mesh_dim.is_none()
        {
            reading.problems.mesh_dim = pairs.first().map(|p| lex::written(&p.name.text));
        }
        reading.broken.push(reading.problems.errors > errors);
        reading.items.push(Item {
            stmt,
            comment: comment.map(str::to_owned),
            span: Span::new(start, start + line.len() as u32),
        });
    }
    reading
}
