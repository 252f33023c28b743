//! Expressions: `relu(einsum(x, w -> batch hidden) + bias) * 0.5`.
//!
//! ```text
//! sum     := product { (+|-) product }
//! product := unary { (*|/) unary }
//! unary   := - unary | power
//! power   := atom [ ^ unary ]                  so -x^2 = -(x^2), x^y^z = x^(y^z)
//! atom    := number | name | ( sum ) | name ( arguments )
//! arguments := [ sum { , sum } ] [ -> { name } ] { key:value }
//! ```

use super::reader::Reader;
use crate::diag::{Code, Hint, Span};
use crate::spec::ast::{BinaryOp, Call, Expr, ExprKind, Ident};
use crate::spec::lex::{
    is_name_char, is_name_start, is_space, name_len, number_len, run_len, shown,
};

/// How deep an expression may be as a tree; a chain `a + b + c` is as deep as it has operators.
const MAX_HEIGHT: u32 = 256;

/// Signs that compare, longest first, and the functions that do.
const COMPARISONS: [(&str, &str); 6] = [
    ("==", "equal"),
    ("!=", "not_equal"),
    ("<=", "less_equal"),
    (">=", "greater_equal"),
    ("<", "less"),
    (">", "greater"),
];

/// An expression and how deep it is.
#[derive(Debug)]
struct Tree {
    expr: Expr,
    height: u32,
}

impl Reader<'_, '_> {
    /// Reads an expression that takes the rest of the line.
    pub(super) fn whole_expr(&mut self) -> Option<Expr> {
        let tree = self.compared()?;
        self.skip_spaces();
        match self.peek() {
            None => return Some(tree.expr),
            Some(')') => {
                let start = self.pos;
                self.pos += 1;
                let span = self.span(start);
                let hint = Hint::edit("Leave it out.", span, "");
                let message = "This `)` closes nothing".to_owned();
                self.error_hint(Code::Syntax, span, message, hint);
            }
            Some('@') => {
                let span = Span::new(self.pos as u32, self.pos as u32 + 1);
                let message = "`@` is no operator".to_owned();
                let hint = Hint::new("Products of matrices are `einsum(x, w -> batch hidden)`.");
                self.error_hint(Code::Syntax, span, message, hint);
            }
            Some(_) => self.unexpected("an operator or the end of the line"),
        }
        None
    }

    /// Reads a sum; what is compared with another is reported.
    fn compared(&mut self) -> Option<Tree> {
        let left = self.sum()?;
        self.skip_spaces();
        let sign = COMPARISONS.iter().find(|c| self.rest().starts_with(c.0));
        let Some(&(sign, function)) = sign else { return Some(left) };
        let start = self.pos;
        self.pos += sign.len();
        let at = self.span(start);
        let right = self.sum()?;
        let whole = left.expr.span.join(right.expr.span);
        let [x, y] = [left, right].map(|tree| tree.expr.span.of(self.text));
        let mend = format!("{function}({x}, {y})");
        let message = format!("{} is no operator", shown(sign));
        let hint = Hint::edit(format!("Write {}.", shown(&mend)), whole, mend);
        self.error_hint(Code::Syntax, at, message, hint);
        None
    }

    fn sum(&mut self) -> Option<Tree> {
        let mut left = self.product()?;
        loop {
            self.skip_spaces();
            let op = match self.peek() {
                Some('+') => BinaryOp::Add,
                Some('-') if !self.rest().starts_with("->") => BinaryOp::Sub,
                _ => return Some(left),
            };
            self.pos += 1;
            let right = self.product()?;
            left = self.binary(op, left, right)?;
        }
    }

    fn product(&mut self) -> Option<Tree> {
        let mut left = self.unary()?;
        loop {
            self.skip_spaces();
            let op = match self.peek() {
                Some('*') => BinaryOp::Mul,
                Some('/') => BinaryOp::Div,
                _ => return Some(left),
            };
            self.pos += 1;
            if self.peek() == Some('*') {
                let span = Span::new(self.pos as u32 - 1, self.pos as u32 + 1);
                let message = "`**` is no operator".to_owned();
                let hint = Hint::edit("Powers are written with `^`.", span, "^");
                self.error_hint(Code::Syntax, span, message, hint);
                return None;
            }
            let right = self.unary()?;
            left = self.binary(op, left, right)?;
        }
    }

    fn unary(&mut self) -> Option<Tree> {
        self.skip_spaces();
        let start = self.pos;
        if !self.eat("-") {
            return self.power();
        }
        if !self.enter() {
            return None;
        }
        let inner = self.unary()?;
        self.leave();
        let span = self.span(start);
        self.tree(ExprKind::Neg(Box::new(inner.expr)), span, inner.height)
    }

    fn power(&mut self) -> Option<Tree> {
        let base = self.atom()?;
        if self.peek_past_spaces() != Some('^') {
            return Some(base);
        }
        self.skip_spaces();
        self.pos += 1;
        if !self.enter() {
            return None;
        }
        let exponent = self.unary()?;
        self.leave();
        self.binary(BinaryOp::Pow, base, exponent)
    }

    fn atom(&mut self) -> Option<Tree> {
        self.skip_spaces();
        let start = self.pos;
        match self.peek() {
            Some('(') => {
                if !self.enter() {
                    return None;
                }
                self.pos += 1;
                let inner = self.compared()?;
                self.skip_spaces();
                match self.peek() {
                    Some(')') => self.pos += 1,
                    None => {
                        self.unclosed(start, ')');
                        return None;
                    }
                    Some(_) => {
                        self.unexpected("an operator or `)`");
                        return None;
                    }
                }
                self.leave();
                let expr = Expr { kind: inner.expr.kind, span: self.span(start) };
                Some(Tree { expr, height: inner.height })
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if is_name_start(c) || c == '`' => {
                let name = self.name("a tensor, a number or a function")?;
                if self.peek_past_spaces() == Some('(') {
                    self.skip_spaces();
                    return self.call(name);
                }
                if self.peek() == Some('[') {
                    self.indexed(&name);
                    return None;
                }
                self.tree(ExprKind::Name(name.text), name.span, 0)
            }
            Some('"' | '\'') => {
                let span = Span::new(start as u32, start as u32 + 1);
                let message = "An expression holds no text in quotes".to_owned();
                let hint = "Dimensions go by name, after an arrow or as an option: `einsum(x, w -> batch hidden)`, `sum(x, over:hidden)`.";
                self.error_hint(Code::Syntax, span, message, Hint::new(hint));
                None
            }
            Some('[') => {
                self.listed();
                None
            }
            _ => {
                self.unexpected("a tensor, a number or a function");
                None
            }
        }
    }

    /// Reports `x[1:3]`, or `x[batch hidden]` in an expression.
    fn indexed(&mut self, name: &Ident) {
        let start = self.pos;
        let Some(len) = self.rest().find(']') else { return self.unclosed(start, ']') };
        self.pos += len + 1;
        let span = self.span(start);
        let inner = &self.text[start + 1..start + len];
        let names = inner.split(|c| is_space(c) || c == ',').filter(|part| !part.is_empty());
        let are_names = names.clone().all(|part| name_len(part) == part.len());
        if are_names && !inner.is_empty() {
            let message = "A tensor has its dimensions where it is declared or assigned".to_owned();
            let hint = Hint::edit(format!("Write {}.", shown(&name.text)), span, "");
            return self.error_hint(Code::Syntax, span, message, hint);
        }
        let message = "There is no index in square brackets".to_owned();
        let x = name.span.of(self.text);
        let hint = Hint::new(format!(
            "A part of a dimension is `slice({x}, a -> b, begin:1)`, as many positions as `b` has; one position is `unstack({x}, dim:a at:1)`."
        ));
        self.error_hint(Code::Syntax, span, message, hint);
    }

    /// Reports `[x, y]` where tensors are listed.
    fn listed(&mut self) {
        let start = self.pos;
        let close = self.rest().find(']').filter(|len| !self.rest()[1..*len].contains('['));
        let Some(len) = close else { return self.unexpected("a tensor, a number or a function") };
        self.pos += len + 1;
        let span = self.span(start);
        let inner = &self.text[start + 1..start + len];
        let message = "Square brackets list no tensors".to_owned();
        let hint = Hint::edit("Write them without.", span, inner);
        self.error_hint(Code::Syntax, span, message, hint);
    }

    fn number(&mut self) -> Option<Tree> {
        let start = self.pos;
        let len = number_len(self.rest());
        if len == 0 {
            self.unexpected("a number");
            return None;
        }
        let after = &self.rest()[len..];
        if after.starts_with('_') {
            self.take(is_name_char);
            let span = self.span(start);
            let plain = span.of(self.text).replace('_', "");
            let message = format!("{} is no number", shown(span.of(self.text)));
            let hint = Hint::edit(format!("Write it as `{plain}`."), span, plain);
            self.error_hint(Code::BadNumber, span, message, hint);
            return None;
        }
        self.pos += len;
        let span = self.span(start);
        if after.starts_with(is_name_start) {
            let name = &after[..run_len(after, is_name_char)];
            let message = format!(
                "An operator is missing between {} and {}",
                shown(span.of(self.text)),
                shown(name)
            );
            let at = Span::new(span.end, span.end);
            let hint = Hint::edit("Multiply them with `*`.", at, " * ");
            self.error_hint(Code::Syntax, span, message, hint);
            return None;
        }
        match span.of(self.text).parse::<f64>() {
            Ok(x) if x.is_finite() => self.tree(ExprKind::Number(x), span, 0),
            _ => {
                let message = format!("{} is too large for a number", shown(span.of(self.text)));
                self.error(Code::BadNumber, span, message);
                None
            }
        }
    }

    /// Reads a call from its `(` on.
    fn call(&mut self, function: Ident) -> Option<Tree> {
        let open = self.pos;
        let start = function.span.start as usize;
        if !self.enter() {
            return None;
        }
        self.pos += 1;
        let (args, height) = self.arguments(open)?;
        let arrow = if self.eat("->") { Some(self.arrow_names()?) } else { None };
        let options = self.call_options()?;
        match self.peek() {
            Some(')') => self.pos += 1,
            _ => {
                self.unclosed(open, ')');
                return None;
            }
        }
        self.leave();
        let span = self.span(start);
        self.tree(ExprKind::Call(Call { function, args, arrow, options }), span, height)
    }

    /// Reads the arguments of a call up to `->`, its options or its `)`.
    fn arguments(&mut self, open: usize) -> Option<(Vec<Expr>, u32)> {
        let mut args: Vec<Expr> = Vec::new();
        let mut height = 0;
        let mut comma = None;
        loop {
            self.skip_spaces();
            let at_end = matches!(self.peek(), None | Some(')'))
                || self.rest().starts_with("->")
                || self.at_argument_key();
            match comma {
                Some(span) if at_end && !self.at_argument_key() && self.peek().is_some() => {
                    let message = "An argument is missing after this comma".to_owned();
                    let hint = Hint::edit("Leave the comma out.", span, "");
                    self.error_hint(Code::Syntax, span, message, hint);
                    return None;
                }
                _ if at_end => return Some((args, height)),
                None if !args.is_empty() => {
                    self.missing_comma(&args);
                    return None;
                }
                _ => {}
            }
            let arg = self.compared()?;
            height = height.max(arg.height);
            args.push(arg.expr);
            self.skip_spaces();
            let start = self.pos;
            comma = self.eat(",").then(|| self.span(start));
            if self.at_end() {
                self.unclosed(open, ')');
                return None;
            }
        }
    }

    fn missing_comma(&mut self, args: &[Expr]) {
        if self.peek().is_none_or(|c| !is_name_start(c) && !c.is_ascii_digit() && c != '`') {
            return self.unexpected("a comma or `)`");
        }
        let end = args.last().map_or(self.pos as u32, |a| a.span.end);
        let len = name_len(self.rest()).max(1);
        let span = Span::new(self.pos as u32, (self.pos + len) as u32);
        let message = format!("A comma is missing before {}", shown(span.of(self.text)));
        let hint = Hint::edit("Separate arguments by commas.", Span::new(end, end), ",");
        self.error_hint(Code::Syntax, span, message, hint);
    }

    /// Reads the names after `->`.
    fn arrow_names(&mut self) -> Option<Vec<Ident>> {
        let mut names = Vec::new();
        loop {
            self.take(|c| is_space(c) || c == ',');
            if matches!(self.peek(), None | Some(')')) || self.at_key() {
                return Some(names);
            }
            names.push(self.name("the name of a dimension")?);
        }
    }

    fn binary(&mut self, op: BinaryOp, left: Tree, right: Tree) -> Option<Tree> {
        let span = left.expr.span.join(right.expr.span);
        let height = left.height.max(right.height);
        self.tree(ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr)), span, height)
    }

    /// An expression over parts of this height.
    fn tree(&mut self, kind: ExprKind, span: Span, parts: u32) -> Option<Tree> {
        if parts == MAX_HEIGHT {
            let message = format!("An expression holds at most {MAX_HEIGHT} operations in a row");
            let hint = Hint::new("Assign parts of it to names of their own.");
            self.error_hint(Code::TooLarge, span, message, hint);
            return None;
        }
        Some(Tree { expr: Expr { kind, span }, height: parts + 1 })
    }
}
