//! Where in the text a change belongs: the arguments of a line, the separators that go with a
//! removed pair, the place of a new line.

use super::insertion;
use crate::diag::{Span, TextEdit};
use crate::spec::ast::{Item, Stmt};
use crate::spec::lex::{self, MAX_TEXT, is_name_char, is_space, line_break, run_len};
use crate::spec::parse;

/// The lines of a text, each read by itself.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    items: Vec<Item>,
    broken: Vec<bool>,
}

impl<'t> Lines<'t> {
    /// Reads a text that is not beyond the limit.
    pub(super) fn read(text: &'t str) -> Option<Self> {
        let fits = text.len() <= MAX_TEXT;
        let parse::Reading { items, broken, .. } = parse::read_lines(text);
        fits.then_some(Self { text, items, broken })
    }

    /// The lines in order.
    pub(super) fn items(&self) -> impl DoubleEndedIterator<Item = &Item> + ExactSizeIterator {
        self.items.iter()
    }

    /// Whether a line holds an error.
    pub(super) fn is_broken(&self, line: usize) -> bool {
        self.broken[line]
    }

    /// The lines of a statement, unreadable ones included.
    pub(super) fn of<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.items.iter().enumerate().filter(move |(_, i)| self.word(i) == word).map(|(i, _)| i)
    }

    /// The statement word of a line, or nothing for a line that is no statement.
    fn word(&self, item: &Item) -> &'t str {
        match item.stmt {
            Stmt::Assign { .. } | Stmt::Next { .. } | Stmt::Blank => "",
            Stmt::Mesh(_)
            | Stmt::Layout(_)
            | Stmt::Model { .. }
            | Stmt::Dims(_)
            | Stmt::Input(_)
            | Stmt::Param(_)
            | Stmt::State(_)
            | Stmt::Block { .. }
            | Stmt::End
            | Stmt::Train(_)
            | Stmt::Pipeline(_)
            | Stmt::Hardware { .. }
            | Stmt::Unreadable(_) => {
                let (code, _) = lex::split_comment(item.span.of(self.text));
                let len = run_len(code, is_name_char);
                let assigns = code[len..].trim_start_matches(is_space).starts_with(['=', '[']);
                if assigns { "" } else { &code[..len] }
            }
        }
    }

    /// What stands between the statement word of a line and its comment, with the spaces in front.
    pub(super) fn arguments(&self, line: usize) -> Span {
        let (code, _) = lex::split_comment(self.items[line].span.of(self.text));
        let span = lex::span_within(self.text, code);
        Span::new(span.start + run_len(code, is_name_char) as u32, span.end)
    }

    /// Replaces all arguments of a line; the space after the statement word stays as it is.
    pub(super) fn replace_arguments(&self, line: usize, written: &str) -> TextEdit {
        let span = self.arguments(line);
        let arguments = span.of(self.text);
        let gap = arguments.len() - arguments.trim_start_matches(is_space).len();
        if written.is_empty() || gap == 0 {
            let space = if written.is_empty() { "" } else { " " };
            return TextEdit { span, replacement: format!("{space}{written}") };
        }
        let span = Span::new(span.start + gap as u32, span.end);
        TextEdit { span, replacement: written.to_owned() }
    }

    /// Adds a line after the last line of these statements, or else before the first statement.
    pub(super) fn new_line(&self, after: &[&str], line: &str) -> TextEdit {
        let newline = line_break(self.text);
        let last = self.items().rev().find(|i| after.contains(&self.word(i)));
        if let Some(item) = last {
            return insertion(item.span.end, format!("{newline}{line}"));
        }
        match self.items().find(|i| !matches!(i.stmt, Stmt::Blank)) {
            Some(first) => insertion(first.span.start, format!("{line}{newline}")),
            None => self.line_at_end(line),
        }
    }

    /// Adds a line after the last one that says something.
    pub(super) fn last_line(&self, line: &str) -> TextEdit {
        let newline = line_break(self.text);
        match self.items().rev().find(|i| !matches!(i.stmt, Stmt::Blank)) {
            Some(item) => insertion(item.span.end, format!("{newline}{line}")),
            None => self.line_at_end(line),
        }
    }

    fn line_at_end(&self, line: &str) -> TextEdit {
        let newline = line_break(self.text);
        let open = !self.text.is_empty() && !self.text.ends_with('\n');
        let before = if open { newline } else { "" };
        insertion(self.text.len() as u32, format!("{before}{line}{newline}"))
    }
}

/// What separates the pairs of `mesh` and `layout` beside space.
pub(super) const PAIR_SEPARATORS: &[char] = &[',', '.', ';'];

/// What separates options beside space.
pub(super) const OPTION_SEPARATORS: &[char] = &[','];

/// A pair of a list with the separators that go with it: those before it, or for the first one
/// those after it.
pub(super) fn removal(text: &str, arguments: Span, pair: Span, separators: &[char]) -> Span {
    let is_separator = |c: char| is_space(c) || separators.contains(&c);
    let before = Span::new(arguments.start, pair.start).of(text);
    let after = Span::new(pair.end, arguments.end).of(text);
    let kept_before = before.trim_end_matches(is_separator).len() as u32;
    let separators_after = (after.len() - after.trim_start_matches(is_separator).len()) as u32;
    if kept_before > 0 {
        Span::new(arguments.start + kept_before, pair.end)
    } else {
        Span::new(pair.start, pair.end + separators_after)
    }
}

/// Removes parts of the arguments of a line, which may overlap; if nothing is left, the statement
/// word stands alone. In a broken line a comma keeps the pieces around a removed part from being
/// read as one pair: `a: b:x c` without `b:x` is not `a: c`.
pub(super) fn union(
    text: &str,
    arguments: Span,
    mut removed: Vec<Span>,
    broken: bool,
) -> Vec<TextEdit> {
    if removed.is_empty() {
        return Vec::new();
    }
    removed.sort();
    let mut joined: Vec<Span> = Vec::new();
    for span in removed {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => *last = last.join(span),
            _ => joined.push(span),
        }
    }
    let is_separator = |c: char| is_space(c) || PAIR_SEPARATORS.contains(&c);
    let mut left = arguments.start;
    let mut nothing_left = true;
    for span in joined.iter().chain([&Span::new(arguments.end, arguments.end)]) {
        nothing_left &= Span::new(left, span.start).of(text).chars().all(is_separator);
        left = span.end;
    }
    if nothing_left {
        joined = vec![arguments];
    } else if let Some(first) = joined.first_mut()
        && Span::new(arguments.start, first.start).of(text).chars().all(is_separator)
    {
        // What stays keeps the place of the first.
        let after = Span::new(first.end, arguments.end).of(text);
        first.end += (after.len() - after.trim_start_matches(is_separator).len()) as u32;
    }
    let replacement = |span: Span| {
        let before = Span::new(arguments.start, span.start).of(text);
        let after = Span::new(span.end, arguments.end).of(text).trim_start_matches(is_separator);
        let leads = before.chars().all(is_separator);
        let joins = !after.is_empty() && (!leads || !after.starts_with(is_name_char));
        if broken && joins { "," } else { "" }.to_owned()
    };
    joined.into_iter().map(|span| TextEdit { span, replacement: replacement(span) }).collect()
}
