//! Lists of pairs: `rows:2 cols:2` of `mesh` and `dims`, `batch:rows+cols` of `layout`.
//!
//! A bad pair is reported and left out; the others count. Where the meaning of a slip is plain
//! (`rows=2`, `rows : 2`) the pair counts as well, so that one slip causes one message.

use super::reader::Reader;
use crate::diag::{Code, Hint, Span};
use crate::spec::ast::{Ident, Pair, RulePair};
use crate::spec::lex::{
    MAX_SIZE, is_name_char, is_odd_name_char, is_pair_name_char, is_space, name_len, number,
    number_len, run_len, shown,
};

/// What may stand where there is no example.
const VALUES: &str = "a value: a number, a word, or a list in parentheses";

/// What separates pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separators {
    /// Space, comma, dot and semicolon, as in Mesh-TensorFlow's strings: `mesh` and `layout`.
    MeshTensorFlow,
    /// Space and comma: `dims`.
    Plain,
}

impl Separators {
    fn has(self, c: char) -> bool {
        is_space(c) || c == ',' || (self == Self::MeshTensorFlow && matches!(c, '.' | ';'))
    }

    /// What ends a pair, rightly or not.
    fn ends(self, c: char) -> bool {
        self.has(c) || c == ';'
    }
}

impl Reader<'_, '_> {
    /// Reads `rows:2 cols:2` to the end of the line.
    pub(super) fn pairs(&mut self, separators: Separators) -> Vec<Pair> {
        let mut pairs = Vec::new();
        while self.next_pair(separators) {
            let start = self.pos;
            let Some(name) = self.pair_key(separators, "size", "2") else {
                self.skip_pair(separators);
                continue;
            };
            if let Some((size, size_span)) = self.size(separators, &name) {
                pairs.push(Pair { name, size, size_span, span: self.span(start) });
            }
        }
        pairs
    }

    /// Reads `batch:rows hidden:cols+planes` to the end of the line.
    pub(super) fn rules(&mut self) -> Vec<RulePair> {
        let separators = Separators::MeshTensorFlow;
        let example = self.problems.mesh_dim.clone().unwrap_or_else(|| "rows".to_owned());
        let mut rules = Vec::new();
        while self.next_pair(separators) {
            let start = self.pos;
            let rule = self.pair_key(separators, "mesh dimension", &example).and_then(|dim| {
                let mesh_dims = self.mesh_dims()?;
                Some(RulePair { dim, mesh_dims, span: self.span(start) })
            });
            match rule {
                Some(rule) if self.peek().is_none_or(|c| separators.ends(c)) => rules.push(rule),
                Some(_) => {
                    self.odd_joint();
                    self.skip_pair(separators);
                }
                None => self.skip_pair(separators),
            }
        }
        rules
    }

    /// Reports a character between mesh dimensions, or between rules, that joins neither.
    fn odd_joint(&mut self) {
        let start = self.pos;
        let rest = self.rest();
        let odd = run_len(rest, |c| matches!(c, '|' | '&' | '*' | '×' | '\\'));
        let name = run_len(&rest[odd..], is_pair_name_char);
        if odd == 0 || name == 0 {
            return self.unexpected("a space or the next rule");
        }
        self.pos += odd;
        let span = self.span(start);
        let message = format!("{} joins no mesh dimensions", shown(span.of(self.text)));
        let hint = if rest[odd + name..].starts_with(':') {
            Hint::edit("Separate rules by a space.", span, " ")
        } else {
            Hint::edit("Join mesh dimensions by `+`.", span, "+")
        };
        self.error_hint(Code::Syntax, span, message, hint);
    }

    /// Reports `(rows cols)`, which is written `rows+cols`.
    fn listed_mesh_dims(&mut self) {
        let start = self.pos;
        let rest = self.rest();
        let Some(close) = rest.find(')') else { return self.unclosed(start, ')') };
        self.pos += close + 1;
        let names: Vec<&str> = rest[1..close]
            .split(|c| is_space(c) || c == ',')
            .filter(|name| !name.is_empty())
            .collect();
        if names.is_empty() {
            self.pos = start;
            return self.unexpected("a mesh dimension");
        }
        let joined = names.join("+");
        let message = "Mesh dimensions are joined by `+`, without parentheses".to_owned();
        let hint = Hint::edit(format!("Write {}.", shown(&joined)), self.span(start), joined);
        self.error_hint(Code::Syntax, self.span(start), message, hint);
    }

    /// Moves to the next pair; whether there is one.
    fn next_pair(&mut self, separators: Separators) -> bool {
        loop {
            self.take(|c| separators.has(c));
            let Some(c @ (';' | '.')) = self.peek() else { return !self.at_end() };
            let start = self.pos;
            self.pos += 1;
            let span = self.span(start);
            let message = format!(
                "`{c}` separates pairs in `mesh` and `layout` only; here a space or a comma does"
            );
            let hint = Hint::edit("Write a space instead.", span, " ");
            self.error_hint(Code::Syntax, span, message, hint);
        }
    }

    fn skip_pair(&mut self, separators: Separators) {
        self.take(|c| !separators.ends(c));
    }

    /// Reads the name of a pair; `-` and `/` may stand in it without back quotes.
    fn pair_name(&mut self, expected: &str) -> Option<Ident> {
        if self.peek() == Some('`') {
            return self.name(expected);
        }
        let start = self.pos;
        let mut text = self.take(is_pair_name_char);
        if text.ends_with('-') && self.peek() == Some('>') {
            self.pos -= 1;
            text = &text[..text.len() - 1];
        }
        if text.is_empty() {
            self.unexpected(expected);
            return None;
        }
        Some(Ident { text: text.to_owned(), span: self.span(start) })
    }

    /// Reads `name:` of a pair, up to its value.
    fn pair_key(&mut self, separators: Separators, what: &str, example: &str) -> Option<Ident> {
        if separators == Separators::Plain {
            let rest = self.rest();
            let odd = &rest[..run_len(rest, is_odd_name_char)];
            if odd.contains('.') && rest[odd.len()..].starts_with(':') {
                self.odd_name();
                return None;
            }
        }
        let name = self.pair_name("a pair `name:value`")?;
        let ends = |c: char| separators.ends(c);
        self.colon(&name, what, example, ends, |rest| {
            let len = if rest.starts_with('`') {
                name_len(rest)
            } else {
                run_len(rest, is_pair_name_char)
            };
            len > 0 && rest[len..].starts_with(':')
        })?;
        Some(name)
    }

    /// Reads the `:` between `name` and its value, which must stand without spaces around it.
    /// `ends` tells what ends a pair, `at_key` whether another pair begins; without an `example` the
    /// value may be anything.
    pub(super) fn colon(
        &mut self,
        name: &Ident,
        what: &str,
        example: &str,
        ends: impl Fn(char) -> bool,
        at_key: impl Fn(&str) -> bool,
    ) -> Option<()> {
        let after_name = self.pos;
        let mut spaced = self.skip_spaces();
        let colon = self.pos;
        let slip = [":=", "==", "=>", "->", "="].iter().any(|s| self.eat(s));
        let lacks = !slip && spaced && self.at_plain_number();
        if !slip && !lacks && !self.eat(":") {
            self.pos = after_name;
            if spaced || self.peek().is_none_or(&ends) {
                let message = format!("{} has no {what}", shown(&name.text));
                let written = name.span.of(self.text);
                let hint = Hint::new(if example.is_empty() {
                    format!("Write `{written}:` and {VALUES}.")
                } else {
                    format!("Write a pair such as `{written}:{example}`.")
                });
                self.error_hint(Code::Syntax, name.span, message, hint);
            } else {
                self.unexpected(&format!("`:` and the {what}"));
            }
            return None;
        }
        let after_colon = self.pos;
        let spaces_follow = self.skip_spaces();
        if self.peek().is_none_or(&ends) || (spaces_follow && at_key(self.rest())) {
            self.pos = after_colon;
            let span = Span::new(name.span.start, after_colon as u32);
            let message = format!("{} has no {what} after its `:`", shown(&name.text));
            let hint = Hint::new(if example.is_empty() {
                format!("Write {VALUES}.")
            } else {
                format!("Write a {what}, such as `{example}`.")
            });
            self.error_hint(Code::Syntax, span, message, hint);
            return None;
        }
        spaced |= spaces_follow;
        if slip || spaced {
            let message = if slip {
                format!("{} stands where `:` was expected", shown(&self.text[colon..after_colon]))
            } else if lacks {
                format!("A `:` is missing between {} and its {what}", shown(&name.text))
            } else {
                "Spaces stand round `:`".to_owned()
            };
            let mend = Span::new(after_name as u32, self.pos as u32);
            let hint = Hint::edit("Write a plain `:`, as in `name:value`.", mend, ":");
            let span = if slip { Span::new(colon as u32, after_colon as u32) } else { mend };
            self.error_hint(Code::Syntax, span, message, hint);
        }
        Some(())
    }

    /// Whether a number comes next that is no name of a pair, such as `2d:4`.
    fn at_plain_number(&self) -> bool {
        let rest = self.rest();
        let len = number_len(rest);
        len > 0 && !rest[len..].starts_with(|c: char| c == ':' || is_pair_name_char(c))
    }

    /// Reads a size: a whole number from 1 on.
    fn size(&mut self, separators: Separators, name: &Ident) -> Option<(u64, Span)> {
        let start = self.pos;
        self.take(|c| !separators.ends(c));
        if separators == Separators::MeshTensorFlow {
            self.fraction();
        }
        let span = self.span(start);
        let written = span.of(self.text);
        let whole = |digits: &str| {
            let digits_only = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            digits_only.then(|| digits.parse().unwrap_or(u64::MAX))
        };
        match whole(written) {
            Some(1..=MAX_SIZE) => return whole(written).map(|size| (size, span)),
            Some(0) | None => {}
            Some(_) => {
                let message =
                    format!("The size {} of {} is beyond 2^40", shown(written), shown(&name.text));
                self.error(Code::TooLarge, span, message);
                return None;
            }
        }
        let digits = run_len(written, |c| c.is_ascii_digit());
        let odd = &written[digits..];
        if digits > 0 && odd.contains(':') && !odd.starts_with(is_name_char) {
            let odd_len = run_len(odd, |c| !is_name_char(c) && c != '`').max(1);
            let at = span.start + digits as u32;
            let span = Span::new(at, at + odd_len as u32);
            let message = format!("{} separates no pairs", shown(span.of(self.text)));
            let hint = Hint::edit("Separate them by a space.", span, " ");
            self.error_hint(Code::Syntax, span, message, hint);
            return None;
        }
        let message = format!(
            "{} is no size for {}: a size is a whole number of at least 1",
            shown(written),
            shown(&name.text)
        );
        let meant = whole(&written.replace(['_', '`'], ""))
            .or_else(|| number(written).filter(|x| x.fract() == 0.0).map(|x| x as u64))
            .filter(|size| (1..=MAX_SIZE).contains(size));
        let hint = match meant {
            Some(size) => Hint::edit(format!("Write it as `{size}`."), span, size.to_string()),
            None => Hint::new(format!("Write a size such as `{}:8`.", name.span.of(self.text))),
        };
        self.error_hint(Code::BadNumber, span, message, hint);
        None
    }

    /// Takes `.5` after `rows:4`: a dot separates pairs, but a pair `5` has no name.
    fn fraction(&mut self) {
        let Some(rest) = self.rest().strip_prefix('.') else { return };
        let digits = run_len(rest, |c| c.is_ascii_digit());
        let after = rest[digits..].chars().next();
        if digits > 0 && !after.is_some_and(|c| is_pair_name_char(c) || c == ':' || c == '=') {
            self.pos += 1 + digits;
        }
    }

    /// Reads `rows+cols`.
    fn mesh_dims(&mut self) -> Option<Vec<Ident>> {
        if self.peek() == Some('(') {
            self.listed_mesh_dims();
            return None;
        }
        let mut dims: Vec<Ident> = vec![self.pair_name("a mesh dimension")?];
        loop {
            let after = self.pos;
            let mut spaced = self.skip_spaces();
            if !self.eat("+") {
                self.pos = after;
                return Some(dims);
            }
            spaced |= self.skip_spaces();
            if spaced {
                let span = self.span(after);
                let message = "Spaces stand round `+`".to_owned();
                let hint = Hint::edit("Write `+` without spaces.", span, "+");
                self.error_hint(Code::Syntax, span, message, hint);
            }
            dims.push(self.pair_name("a mesh dimension after `+`")?);
        }
    }
}
