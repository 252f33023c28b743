//! The reader: a place in one line of the study, and the problems found so far.
//!
//! Every reading function either takes what it expects and moves on, or reports a problem with
//! its mend and returns `None`; the caller then skips to a place where it can go on.

use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::spec::ast::Ident;
use crate::spec::lex::{is_odd_name_char, is_space, name_len, number_len, run_len, shown};

/// The most problems that are listed.
pub(super) const MAX_PROBLEMS: usize = 1000;

/// How deep parentheses may nest.
const MAX_NESTING: u32 = 64;

/// What was found wrong.
#[derive(Debug, Default)]
pub(super) struct Problems {
    /// The first [`MAX_PROBLEMS`].
    pub(super) list: Vec<Diagnostic>,
    /// Whether there were more.
    pub(super) unlisted: bool,
    /// How many errors there were.
    pub(super) errors: usize,
    /// The first dimension of the mesh, as far as it was read: an example for rules.
    pub(super) mesh_dim: Option<String>,
}

impl Problems {
    /// Counts one without its text where no more are listed; whether that was enough.
    pub(super) fn only_counts(&mut self) -> bool {
        let full = self.list.len() >= MAX_PROBLEMS;
        self.errors += usize::from(full);
        self.unlisted |= full;
        full
    }

    /// Adds one.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.errors += usize::from(diagnostic.is_error());
        if self.list.len() < MAX_PROBLEMS {
            self.list.push(diagnostic);
        } else {
            self.unlisted = true;
        }
    }
}

/// A place in the code of one line.
#[derive(Debug)]
pub(super) struct Reader<'t, 'p> {
    /// The whole study, so that offsets are those of the spans.
    pub(super) text: &'t str,
    /// Where to read on.
    pub(super) pos: usize,
    /// Where the code of the line ends.
    pub(super) end: usize,
    /// Parentheses open here.
    nesting: u32,
    /// The problems of the study.
    pub(super) problems: &'p mut Problems,
}

impl<'t, 'p> Reader<'t, 'p> {
    /// A reader of the code that `span` covers.
    pub(super) fn new(text: &'t str, span: Span, problems: &'p mut Problems) -> Self {
        Self { text, pos: span.start as usize, end: span.end as usize, nesting: 0, problems }
    }

    /// What is left of the line.
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.pos..self.end]
    }

    /// The next character.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next character after white space.
    pub(super) fn peek_past_spaces(&self) -> Option<char> {
        self.rest().trim_start_matches(is_space).chars().next()
    }

    /// Whether the line ends here.
    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.end
    }

    /// Takes `token` if it comes next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.pos += token.len();
        }
        found
    }

    /// Takes all characters of a kind.
    pub(super) fn take(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let taken = &self.rest()[..run_len(self.rest(), accept)];
        self.pos += taken.len();
        taken
    }

    /// Moves over white space; whether there was some.
    pub(super) fn skip_spaces(&mut self) -> bool {
        !self.take(is_space).is_empty()
    }

    /// From `start` to here.
    pub(super) fn span(&self, start: usize) -> Span {
        Span::new(start as u32, self.pos as u32)
    }

    /// The next character, or the end of the line, as a span.
    fn here(&self) -> Span {
        let len = self.peek().map_or(0, char::len_utf8);
        Span::new(self.pos as u32, (self.pos + len) as u32)
    }

    /// Reports an error.
    pub(super) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.problems.report(Diagnostic::error(code, span, message));
    }

    /// Reports an error with its mend.
    pub(super) fn error_hint(&mut self, code: Code, span: Span, message: String, hint: Hint) {
        self.problems.report(Diagnostic::error(code, span, message).hint(hint));
    }

    /// Reports that something else was expected here.
    pub(super) fn unexpected(&mut self, expected: &str) {
        let span = self.here();
        let found = match self.peek() {
            None => "the line ends".to_owned(),
            Some('`') if name_len(self.rest()) == 0 => return self.bad_back_quote(),
            Some(_) => {
                let rest = self.rest();
                let one = (span.end - span.start) as usize;
                let len = name_len(rest).max(number_len(rest)).max(one);
                format!("{} stands", shown(&rest[..len]))
            }
        };
        self.error(Code::Syntax, span, format!("{found} where {expected} was expected"));
    }

    fn bad_back_quote(&mut self) {
        let start = self.pos;
        let span = Span::new(start as u32, start as u32 + 1);
        if self.rest().starts_with("``") {
            self.pos += 2;
            let message = "A name in back quotes needs at least one character";
            self.error(Code::Syntax, span, message);
        } else {
            self.pos = self.end;
            let end = Span::new(self.end as u32, self.end as u32);
            let message = "This back quote is not closed on its line".to_owned();
            let hint = Hint::edit("Close it.", end, "`");
            self.error_hint(Code::Syntax, span, message, hint);
        }
    }

    /// Reads a name: letters, digits and underscores, or anything in back quotes.
    pub(super) fn name(&mut self, expected: &str) -> Option<Ident> {
        let start = self.pos;
        let len = name_len(self.rest());
        if len == 0 {
            self.unexpected(expected);
            return None;
        }
        self.pos += len;
        let span = self.span(start);
        let text = span.of(self.text);
        if !text.starts_with('`') && self.peek() == Some('.') {
            self.pos = start;
            self.odd_name();
            return None;
        }
        Some(Ident { text: text.trim_matches('`').to_owned(), span })
    }

    /// Reports and takes a name that needs back quotes.
    pub(super) fn odd_name(&mut self) {
        let start = self.pos;
        self.take(is_odd_name_char);
        let span = self.span(start);
        let name = span.of(self.text);
        let message =
            format!("{} holds other characters than letters, digits and underscores", shown(name));
        let hint = Hint::edit("Write the name in back quotes.", span, format!("`{name}`"));
        self.error_hint(Code::Syntax, span, message, hint);
    }

    /// Whether `name:` comes next (or `name=`, which is a slip for it).
    pub(super) fn at_key(&self) -> bool {
        let rest = self.rest();
        let len = name_len(rest);
        len > 0 && rest[len..].trim_start_matches(is_space).starts_with([':', '='])
    }

    /// Whether an option of a call comes next: `x == y` is none.
    pub(super) fn at_argument_key(&self) -> bool {
        let rest = &self.rest()[name_len(self.rest())..];
        self.at_key() && !rest.trim_start_matches(is_space).starts_with("==")
    }

    /// Reads names up to `close`, separated by spaces or commas. The opening bracket stands at
    /// `open`.
    pub(super) fn names(&mut self, open: usize, close: char) -> Option<Vec<Ident>> {
        let mut names = Vec::new();
        loop {
            self.take(|c| is_space(c) || c == ',');
            match self.peek() {
                None => {
                    self.unclosed(open, close);
                    return None;
                }
                Some(c) if c == close => {
                    self.pos += c.len_utf8();
                    return Some(names);
                }
                Some('=') => {
                    self.unclosed_at(open, close, self.pos);
                    return None;
                }
                Some(':') => {
                    let span = self.here();
                    let message = "Brackets hold names; the sizes stand in `dims`".to_owned();
                    let hint = Hint::new("Write `x[batch io]` and `dims batch:8 io:4`.");
                    self.error_hint(Code::Syntax, span, message, hint);
                    return None;
                }
                Some(c) if c.is_ascii_digit() => {
                    self.unexpected("the name of a dimension (`dims` gives the sizes)");
                    return None;
                }
                Some(_) => names.push(self.name("the name of a dimension")?),
            }
        }
    }

    /// Reports a bracket that nothing closes.
    pub(super) fn unclosed(&mut self, open: usize, close: char) {
        self.unclosed_at(open, close, self.end);
    }

    /// The same for one that should be closed at a place before the end. What comes before that
    /// place except for white space and commas stays.
    fn unclosed_at(&mut self, open: usize, close: char, place: usize) {
        let span = Span::new(open as u32, open as u32 + 1);
        let before = &self.text[open + 1..place];
        let kept = before.trim_end_matches(|c| is_space(c) || c == ',').len();
        let mend = Span::new((open + 1 + kept) as u32, place as u32);
        let message =
            format!("{} is not closed: a statement ends with its line", shown(span.of(self.text)));
        let space = if place < self.end { " " } else { "" };
        let hint = Hint::edit(format!("Add `{close}`."), mend, format!("{close}{space}"));
        self.error_hint(Code::Syntax, span, message, hint);
        self.pos = self.end;
    }

    /// Goes one parenthesis deeper, if that is allowed; [`Reader::leave`] goes back.
    pub(super) fn enter(&mut self) -> bool {
        if self.nesting == MAX_NESTING {
            let span = self.here();
            let message = format!("Parentheses and signs nest more than {MAX_NESTING} deep");
            let hint = Hint::new("Assign the inner parts to names of their own.");
            self.error_hint(Code::TooLarge, span, message, hint);
            self.pos = self.end;
            return false;
        }
        self.nesting += 1;
        true
    }

    /// Leaves what [`Reader::enter`] entered.
    pub(super) fn leave(&mut self) {
        self.nesting -= 1;
    }
    /// Forgets what is open, to go on after an unreadable part.
    pub(super) fn leave_all(&mut self) {
        self.nesting = 0;
    }
}
