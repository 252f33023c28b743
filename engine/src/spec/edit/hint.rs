//! Mends of later stages, fitted to the text. Those stages know spans, not what stands around them:
//! what is removed takes its separators along, and what is added to a line stands before its comment.

use super::place::{OPTION_SEPARATORS, PAIR_SEPARATORS, removal};
use crate::diag::{Diagnostic, Span, TextEdit};
use crate::spec::lex::{self, is_name_char, is_space, run_len};

/// The most diagnostics that are fitted; nobody clicks further ones.
const MAX_FITTED: usize = 200;

/// The longest line around a mend that is looked at.
const MAX_LINE: usize = 10_000;

/// Fits the mends of diagnostics that later stages report.
pub fn fit(text: &str, diagnostics: &mut [Diagnostic]) {
    let hints = diagnostics.iter_mut().take(MAX_FITTED).flat_map(|d| &mut d.hints);
    for edit in hints.filter_map(|h| h.edit.as_mut()) {
        let adds = edit.span.start == edit.span.end && edit.replacement.starts_with(' ');
        if !adds && !edit.replacement.is_empty() {
            continue;
        }
        let Some(line) = line_around(text, edit.span) else { continue };
        let (code, _) = lex::split_comment(line.of(text));
        let code = lex::span_within(text, code);
        let word = run_len(code.of(text), is_name_char);
        let arguments = Span::new(code.start + word as u32, code.end);
        let within = arguments.start <= edit.span.start && edit.span.end <= arguments.end;
        if adds {
            let end = edit.span.start.min(code.end);
            edit.span = Span::new(end, end);
        } else if within && !edit.span.of(text).starts_with(is_space) {
            edit.span = removed(text, &code.of(text)[..word], arguments, edit.span);
        }
    }
}

/// What goes with a part of a line that is removed.
fn removed(text: &str, word: &str, arguments: Span, part: Span) -> Span {
    let separators = match word {
        "mesh" | "layout" => PAIR_SEPARATORS,
        "dims" | "train" | "model" | "block" => OPTION_SEPARATORS,
        _ => &[],
    };
    let span = removal(text, arguments, part, separators);
    let stays = |c: char| !is_space(c) && !separators.contains(&c);
    let before = Span::new(arguments.start, span.start).of(text).contains(stays);
    let after = Span::new(span.end, arguments.end).of(text).contains(stays);
    if before || after { span } else { arguments }
}

/// The one edit that turns a text into another; nothing where they are the same.
pub fn difference(old: &str, new: &str) -> Option<TextEdit> {
    let mut start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    if start == old.len() && start == new.len() {
        return None;
    }
    while !old.is_char_boundary(start) || !new.is_char_boundary(start) {
        start -= 1;
    }
    let rest = (&old[start..], &new[start..]);
    let mut end =
        rest.0.bytes().rev().zip(rest.1.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !rest.0.is_char_boundary(rest.0.len() - end) {
        end -= 1;
    }
    let span = Span::new(start as u32, (old.len() - end) as u32);
    Some(TextEdit { span, replacement: rest.1[..rest.1.len() - end].to_owned() })
}

/// The line that holds a span, unless it is very long.
fn line_around(text: &str, span: Span) -> Option<Span> {
    let (start, end) = (span.start as usize, span.end as usize);
    let bytes = text.as_bytes();
    let before = &bytes[start.saturating_sub(MAX_LINE)..start.min(bytes.len())];
    let after = bytes.get(end..(end + MAX_LINE).min(bytes.len()))?;
    let head = match before.iter().rposition(|&b| b == b'\n') {
        Some(at) => before.len() - at - 1,
        None if start < MAX_LINE => start,
        None => return None,
    };
    let tail = match after.iter().position(|&b| b == b'\n') {
        Some(at) => at,
        None if end + after.len() == bytes.len() => after.len(),
        None => return None,
    };
    let line = Span::new((start - head) as u32, (end + tail) as u32);
    text.get(start..end).filter(|inner| !inner.contains('\n')).map(|_| line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Code, Hint};
    use crate::spec::edit::apply;

    fn fitted(text: &str, part: &str) -> String {
        let start = text.find(part).unwrap() as u32;
        let span = Span::new(start, start + part.len() as u32);
        let d = Diagnostic::error(Code::Unused, span, "");
        let mut list = [d.hint(Hint::edit("", span, ""))];
        fit(text, &mut list);
        apply(text, &[list[0].hints[0].edit.clone().unwrap()])
    }

    #[test]
    fn what_is_removed_takes_its_separators_along() {
        for (text, part, left) in [
            ("layout a:x b:y c:z # all", "b:y", "layout a:x c:z # all"),
            ("layout a:x b:y", "a:x", "layout b:y"),
            ("layout a:x, b:y", "b:y", "layout a:x"),
            ("mesh x:2\nlayout a:x # only\nmodel mlp", "a:x", "mesh x:2\nlayout # only\nmodel mlp"),
            ("train rate:1 data:t steps:3", "data:t", "train rate:1 steps:3"),
            ("dims a:1, b:2, c:3\n", "b:2", "dims a:1, c:3\n"),
            ("input x[a] init:ones, y[a]", "init:ones", "input x[a], y[a]"),
            ("y = relu(x ) )", " )", "y = relu(x )"),
        ] {
            assert_eq!(fitted(text, part), left);
        }
    }

    #[test]
    fn what_is_added_stands_before_the_comment() {
        let text = "model mlp # short";
        let end = Span::new(text.len() as u32, text.len() as u32);
        let d = Diagnostic::error(Code::Unused, end, "").hint(Hint::size(end, "in", 8));
        let mut list = [d];
        fit(text, &mut list);
        let edit = list[0].hints[0].edit.clone().unwrap();
        assert_eq!(apply(text, &[edit]), "model mlp in:8 # short");
    }

    #[test]
    fn two_texts_differ_in_one_place() {
        for (old, new) in [("", "a"), ("a", ""), ("äb", "öb"), ("abab", "ab"), ("xay", "xby")] {
            let edit = difference(old, new).unwrap();
            assert_eq!(apply(old, &[edit]), new);
        }
        assert_eq!(difference("a", "a"), None);
    }
}
