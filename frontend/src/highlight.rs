//! The study text as words in colour for the editor's backdrop, line by line, so that only words
//! that changed are shown anew.
//!
//! Colours come from a small scanner of its own: it must keep every character where the textarea
//! shows it, also in text that cannot be parsed. Diagnostics underline their span; every line
//! carries the worst severity in it, for the mark in the gutter.

use meshwork_engine::diag::{Diagnostic, Severity, place};

const STATEMENTS: [&str; 12] = [
    "mesh", "layout", "model", "dims", "input", "param", "state", "block", "end", "train",
    "pipeline", "hardware",
];

/// One line of the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The worst that is wrong in it.
    mark: Option<Severity>,
    /// Its words in their inks.
    pub words: Vec<Word>,
}

/// Characters in the same ink.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// The classes of its ink.
    pub class: String,
    /// The characters.
    pub text: String,
}

impl Line {
    /// Its classes.
    pub const fn class(&self) -> &'static str {
        match self.mark {
            None => "line",
            Some(Severity::Error) => "line has-error",
            Some(Severity::Warning) => "line has-warning",
        }
    }
}

/// The lines of the text.
pub fn lines(text: &str, diagnostics: &[Diagnostic]) -> Vec<Line> {
    let classes = classes(text);
    let mut marks: Vec<Option<Severity>> = vec![None; text.len() + 1];
    let mut worst: Vec<Option<Severity>> = vec![None; text.matches('\n').count() + 1];
    for d in diagnostics {
        let (start, end) = (d.span.start as usize, d.span.end as usize);
        let line = place(text, d.span.start).line as usize - 1;
        if let Some(w) = worst.get_mut(line) {
            *w = Some(w.map_or(d.severity, |s| s.min(d.severity)));
        }
        for m in marks.iter_mut().take(end.max(start + 1)).skip(start) {
            *m = Some(m.map_or(d.severity, |s| s.min(d.severity)));
        }
    }
    let mut at = 0;
    let inked = text.split('\n').zip(worst).map(|(line, mark)| {
        let words = words(line, &classes[at..], &marks[at..]);
        at += line.len() + 1;
        Line { mark, words }
    });
    inked.collect()
}

fn words(line: &str, classes: &[Ink], marks: &[Option<Severity>]) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::new();
    let mut open: Option<(Ink, Option<Severity>)> = None;
    for (i, c) in line.char_indices() {
        let style = (classes[i], marks[i]);
        match out.last_mut() {
            Some(word) if open == Some(style) => word.text.push(c),
            _ => {
                let class = format!("{}{}", style.0.class(), underline(style.1));
                out.push(Word { class, text: c.to_string() });
                open = Some(style);
            }
        }
    }
    // a diagnostic at the end of the line has no character to underline
    let end = line.len();
    if let Some(mark) = marks.get(end).copied().flatten()
        && (end == 0 || marks[end - 1] != Some(mark))
    {
        out.push(Word { class: format!("end{}", underline(Some(mark))), text: " ".to_owned() });
    } else if line.is_empty() {
        // a line without characters would have no height
        out.push(Word { class: String::new(), text: "\u{200b}".to_owned() });
    }
    out
}

const fn underline(mark: Option<Severity>) -> &'static str {
    match mark {
        Some(Severity::Error) => " bad",
        Some(Severity::Warning) => " odd",
        None => "",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ink {
    Plain,
    Comment,
    Statement,
    Key,
    Number,
    Function,
    Operator,
}

impl Ink {
    const fn class(self) -> &'static str {
        match self {
            Self::Plain => "ink-name",
            Self::Comment => "ink-comment",
            Self::Statement => "ink-statement",
            Self::Key => "ink-key",
            Self::Number => "ink-number",
            Self::Function => "ink-function",
            Self::Operator => "ink-operator",
        }
    }
}

/// The ink of every byte.
fn classes(text: &str) -> Vec<Ink> {
    let mut inks = vec![Ink::Plain; text.len() + 1];
    let mut at = 0;
    for line in text.split('\n') {
        let code = &line[..comment_start(line)];
        inks[at + code.len()..at + line.len()].fill(Ink::Comment);
        let mut first = true;
        let mut i = 0;
        while let Some(c) = code[i..].chars().next() {
            let rest = &code[i..];
            let length = word_length(rest);
            if length == 0 {
                if !c.is_whitespace() {
                    inks[at + i..at + i + c.len_utf8()].fill(Ink::Operator);
                }
                i += c.len_utf8();
                continue;
            }
            let word = &rest[..length];
            let after = rest[length..].trim_start();
            let ink = if first && STATEMENTS.contains(&word) && !after.starts_with(['=', '[']) {
                Ink::Statement
            } else if word.starts_with(|c: char| c.is_ascii_digit()) {
                Ink::Number
            } else if rest[length..].starts_with('(') {
                Ink::Function
            } else if rest[length..].starts_with(':') {
                Ink::Key
            } else {
                Ink::Plain
            };
            inks[at + i..at + i + length].fill(ink);
            first = false;
            i += length;
        }
        at += line.len() + 1;
    }
    inks
}

fn comment_start(line: &str) -> usize {
    let mut quoted = false;
    for (i, c) in line.char_indices() {
        match c {
            '`' => quoted = !quoted,
            '#' if !quoted => return i,
            _ => {}
        }
    }
    line.len()
}

fn word_length(text: &str) -> usize {
    if let Some(rest) = text.strip_prefix('`') {
        return rest.find('`').map_or(text.len(), |end| end + 2);
    }
    let number = text.starts_with(|c: char| c.is_ascii_digit());
    let inside = |c: char| c.is_alphanumeric() || c == '_' || (number && c == '.');
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshwork_engine::diag::{Code, Span};

    fn html(text: &str, diagnostics: &[Diagnostic]) -> String {
        let word = |w: &Word| format!("<span class=\"{}\">{}</span>", w.class, w.text);
        let whole = |l: &Line| {
            let words: String = l.words.iter().map(word).collect();
            format!("<div class=\"{}\">{words}</div>", l.class())
        };
        lines(text, diagnostics).iter().map(whole).collect()
    }

    fn plain(text: &str, diagnostics: &[Diagnostic]) -> String {
        let lines = lines(text, diagnostics).into_iter();
        let lines = lines.map(|l| l.words.into_iter().map(|w| w.text).collect::<String>());
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_character_stays() {
        let text =
            "# <b> & \"c\"\nmesh  rows:2 cols:2\nh = relu(einsum(x, `a#b` -> é hidden)) # end";
        assert_eq!(plain(text, &[]), text);
    }

    #[test]
    fn statements_keys_numbers_and_functions_have_their_ink() {
        let out = html("model two_layer batch:8\nmodel = relu(x)", &[]);
        assert!(out.contains("<span class=\"ink-statement\">model</span>"));
        assert!(out.contains("<span class=\"ink-key\">batch</span>"));
        assert!(out.contains("<span class=\"ink-number\">8</span>"));
        assert!(out.contains("<span class=\"ink-function\">relu</span>"));
        assert_eq!(out.matches("ink-statement").count(), 1);
    }

    #[test]
    fn a_span_is_underlined_and_its_line_marked() {
        let d = [Diagnostic::error(Code::BadNumber, Span::new(10, 11), "")];
        let out = html("mesh rows:x", &d);
        assert!(out.contains("<div class=\"line has-error\">"));
        assert!(out.contains("<span class=\"ink-name bad\">x</span>"));
    }

    #[test]
    fn a_span_at_the_end_of_a_line_shows() {
        let d = [Diagnostic::warning(Code::Syntax, Span::new(6, 6), "")];
        let out = html("f(x, y\nz", &d);
        assert!(out.contains("<span class=\"end odd\"> </span></div>"));
    }

    #[test]
    fn spans_out_of_range_do_no_harm() {
        let d = [Diagnostic::error(Code::Syntax, Span::new(90, 95), "")];
        assert_eq!(plain("é", &d), "é");
    }
}
