//! Options: `optimizer:adam rate:0.001`, with values that are numbers, words, lists and calls.

use super::reader::Reader;
use crate::diag::{Code, Hint, Span};
use crate::spec::ast::{Ident, Opt, OptValue};
use crate::spec::lex::{
    is_name_start, is_pair_name_char, is_space, is_word_char, name_len, number, run_len, shown,
    split_comment,
};
use std::collections::BTreeSet;

/// Where a list of options stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// After a statement word, to the end of the line.
    Statement,
    /// After a declaration: a comma starts the next one.
    Declaration,
    /// In a call, up to `)`.
    Call,
}

impl Place {
    fn ends_value(self, c: char) -> bool {
        is_space(c) || c == ',' || (self == Self::Call && c == ')')
    }
}

/// What stands between parentheses.
#[derive(Debug)]
struct Items {
    values: Vec<OptValue>,
    options: Vec<Opt>,
}

impl Reader<'_, '_> {
    /// Reads options as far as they go; bad ones are reported and left out.
    pub(super) fn options(&mut self, place: Place) -> Vec<Opt> {
        let mut options = Vec::new();
        let mut keys = BTreeSet::new();
        loop {
            self.take(|c| is_space(c) || (c == ',' && place == Place::Statement));
            match self.peek() {
                None => return options,
                Some(',') if place == Place::Declaration => return options,
                Some(_) if place == Place::Declaration && !self.at_option() => return options,
                Some(_) => {}
            }
            match self.option(place) {
                Some(option) => self.keep(option, &mut options, &mut keys),
                None => self.skip_option(place),
            }
        }
    }

    /// Reads the options of a call up to its `)`; a bad one makes the call unreadable.
    pub(super) fn call_options(&mut self) -> Option<Vec<Opt>> {
        let mut options = Vec::new();
        let mut keys = BTreeSet::new();
        loop {
            self.take(|c| is_space(c) || c == ',');
            if matches!(self.peek(), None | Some(')')) {
                return Some(options);
            }
            if !self.at_key() && self.peek().is_some_and(|c| c != '`' && is_word_char(c)) {
                let start = self.pos;
                self.take(is_word_char);
                let span = self.span(start);
                let message = format!("{} stands after an option", shown(span.of(self.text)));
                let hint = Hint::new("Write the arguments first, then `key:value`.");
                self.error_hint(Code::Syntax, span, message, hint);
                return None;
            }
            let option = self.option(Place::Call)?;
            self.keep(option, &mut options, &mut keys);
        }
    }

    /// Whether something comes next that is meant as an option rather than as a declaration.
    fn at_option(&self) -> bool {
        let rest = self.rest();
        let len = name_len(rest);
        len == 0 || self.at_key()
    }

    fn keep(&mut self, option: Opt, options: &mut Vec<Opt>, keys: &mut BTreeSet<String>) {
        if keys.insert(option.key.text.clone()) {
            options.push(option);
            return;
        }
        let message = format!("The option {} is given twice", shown(&option.key.text));
        let before = self.text[..option.span.start as usize].trim_end_matches(is_space).len();
        let span = Span::new(before as u32, option.span.end);
        let hint = Hint::edit("Leave the second out.", span, "");
        self.error_hint(Code::Duplicate, option.span, message, hint);
    }

    fn skip_option(&mut self, place: Place) {
        self.leave_all();
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            match c {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                _ if open == 0 && place.ends_value(c) => return,
                _ => {}
            }
            self.pos += c.len_utf8();
        }
    }

    /// Reads `key:value`.
    fn option(&mut self, place: Place) -> Option<Opt> {
        let start = self.pos;
        let rest = self.rest();
        let odd = &rest[..run_len(rest, is_pair_name_char)];
        if odd.contains(['-', '/'])
            && rest[odd.len()..].starts_with(':')
            && odd.starts_with(is_name_start)
        {
            self.pos += odd.len();
            let span = self.span(start);
            let plain = odd.replace(['-', '/'], "_");
            let message = format!("{} is no name of an option", shown(odd));
            let hint = Hint::edit(format!("Write `{plain}`."), span, plain);
            self.error_hint(Code::Syntax, span, message, hint);
            return None;
        }
        let key = self.name("an option `key:value`")?;
        self.colon(
            &key,
            "value",
            "",
            |c| place.ends_value(c),
            |rest| {
                let len = name_len(rest);
                len > 0 && rest[len..].starts_with(':')
            },
        )?;
        let value_start = self.pos;
        if self.otherwise_enclosed(&key.text) {
            return None;
        }
        let value = self.value()?;
        if !self.peek().is_none_or(|c| place.ends_value(c)) {
            self.unexpected("a space or the next option");
            return None;
        }
        Some(Opt { key, value, value_span: self.span(value_start), span: self.span(start) })
    }

    /// Reports a value in square brackets or quotes; whether it was one.
    fn otherwise_enclosed(&mut self, key: &str) -> bool {
        let start = self.pos;
        let (close, takes) = match self.peek() {
            Some('[') => (']', "A list stands in parentheses"),
            Some(quote @ ('"' | '\'')) => (quote, "Words stand without quotes"),
            _ => return false,
        };
        let Some(len) = self.rest()[1..].find(close) else { return false };
        let inner = &self.text[start + 1..start + 1 + len];
        self.pos += len + 2;
        let span = self.span(start);
        let mend = match close {
            ']' if key == "init" => format!("values({inner})"),
            ']' if inner.contains(|c| is_space(c) || c == ',') => format!("({inner})"),
            _ => inner.to_owned(),
        };
        let hint = if is_value(&mend) {
            Hint::edit(format!("Write {}.", shown(&mend)), span, mend)
        } else {
            Hint::new("Write `name:value`, or `name:(first second)` for several.")
        };
        self.error_hint(Code::Syntax, span, takes.to_owned(), hint);
        true
    }

    /// Reads the value of an option.
    pub(super) fn value(&mut self) -> Option<OptValue> {
        let start = self.pos;
        let name = match self.peek() {
            Some('(') => {
                let Items { values, options } = self.items()?;
                if let Some(option) = options.first() {
                    let message = "A list holds values only";
                    self.error(Code::Syntax, option.span, message);
                    return None;
                }
                return Some(OptValue::List(values));
            }
            Some('`') => self.name("a value")?.text,
            Some(c) if is_word_char(c) => {
                let word = self.take(is_word_char);
                match number(word) {
                    Some(x) if x.is_finite() => return Some(OptValue::Number(x)),
                    Some(_) => {
                        let message = format!("{} is too large for a number", shown(word));
                        self.error(Code::BadNumber, self.span(start), message);
                        return None;
                    }
                    None => word.to_owned(),
                }
            }
            _ => {
                self.unexpected("a value");
                return None;
            }
        };
        if self.peek() != Some('(') {
            return Some(OptValue::Word(name));
        }
        let Items { values: args, options } = self.items()?;
        Some(OptValue::Call { name, args, options })
    }

    /// Reads `(1 2 key:3)`: values, then options.
    fn items(&mut self) -> Option<Items> {
        let open = self.pos;
        if !self.enter() {
            return None;
        }
        self.pos += 1;
        let mut items = Items { values: Vec::new(), options: Vec::new() };
        let mut keys = BTreeSet::new();
        loop {
            self.take(|c| is_space(c) || c == ',');
            match self.peek() {
                None => {
                    self.unclosed(open, ')');
                    return None;
                }
                Some(')') => {
                    self.pos += 1;
                    self.leave();
                    return Some(items);
                }
                Some(_) if self.at_key() => {
                    let option = self.option(Place::Call)?;
                    self.keep(option, &mut items.options, &mut keys);
                }
                Some(_) => {
                    let start = self.pos;
                    items.values.push(self.value()?);
                    if !items.options.is_empty() {
                        let message = "A value without a key stands after one with a key";
                        let hint = Hint::new("Write the values first, then `key:value`.");
                        self.error_hint(Code::Syntax, self.span(start), message.to_owned(), hint);
                        return None;
                    }
                    if !self.peek().is_some_and(|c| Place::Call.ends_value(c)) && !self.at_end() {
                        self.unexpected("a space, a comma or `)`");
                        return None;
                    }
                }
            }
        }
    }

    /// Reads a preset or another word that may hold `-` and `.`: `two_layer`, `tpu-v2`.
    pub(super) fn word(&mut self, expected: &str) -> Option<Ident> {
        let start = self.pos;
        if self.peek() == Some('`') {
            return self.name(expected);
        }
        let len = run_len(self.rest(), is_word_char);
        let word = &self.rest()[..len];
        if len == 0 || number(word).is_some() {
            self.unexpected(expected);
            return None;
        }
        self.pos += len;
        Some(Ident { text: word.to_owned(), span: self.span(start) })
    }

    /// Whether a word comes next that is no key.
    pub(super) fn at_word(&self) -> bool {
        self.peek().is_some_and(|c| c == '`' || is_word_char(c)) && !self.at_key()
    }
}

/// Whether `text` as a whole is the value of an option.
pub(in crate::spec) fn is_value(text: &str) -> bool {
    let mut problems = super::reader::Problems::default();
    let mut reader = Reader::new(text, Span::new(0, text.len() as u32), &mut problems);
    let whole = reader.value().is_some() && reader.at_end();
    whole && problems.errors == 0 && !text.contains('\n') && split_comment(text) == (text, None)
}
