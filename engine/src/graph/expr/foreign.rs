//! Calls of functions that others have: what is written here instead.
//!
//! ```text
//! log1p(x * y)      log(1 + x * y)
//! a / sub(b, c)     a / (b - c)
//! argmin(x, dim:d)  argmax(-x dim:d)
//! ```

use super::functions::FUNCTIONS;
use super::scope::Scope;
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::spec::ast::{Call, Expr, ExprKind, Stmt};
use crate::spec::parse;
use crate::spec::print;
use crate::spec::synonyms::{self, Ours, functions};

/// What the arguments of a form are called.
const ARGUMENTS: [&str; 3] = ["x", "y", "z"];

impl Scope<'_> {
    /// Reports a call of a function that there is not.
    pub fn unknown_function(&mut self, call: &Call, whole: Span) {
        let name = call.function.text.as_str();
        let at = self.span(call.function.span);
        let message = format!("There is no function `{name}`");
        let mut d = Diagnostic::error(Code::UnknownFunction, at, message);
        let known: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).collect();
        let hint = match synonyms::find(functions::FUNCTIONS, name, &known) {
            Some(Ours::Form(count, form)) => Some(match filled(form, count, call) {
                Some(mend) => Hint::edit(format!("Write `{mend}`."), self.span(whole), mend),
                None => Hint::new(format!("Write `{form}`.")),
            }),
            Some(_) => synonyms::hint(functions::FUNCTIONS, name, &known, at, at),
            None => synonyms::near(name, known.iter().copied(), at),
        };
        d.hints.extend(hint);
        self.diagnostics.push(d);
    }
}

/// A form with the arguments of a call; nothing where it does not take them.
fn filled(form: &str, count: usize, call: &Call) -> Option<String> {
    let (spec, problems) = parse::parse(&format!("form = {form}"));
    let [item] = spec.items.as_slice() else { return None };
    let Stmt::Assign { value, .. } = &item.stmt else { return None };
    if !problems.is_empty() || call.args.len() != count {
        return None;
    }
    let mut made = put(value, &call.args);
    let takes_more = matches!(value.kind, ExprKind::Call(_));
    if let (ExprKind::Call(outer), true) = (&mut made.kind, takes_more) {
        outer.arrow.clone_from(&call.arrow);
        outer.options.extend(call.options.iter().cloned());
    } else if call.arrow.is_some() || !call.options.is_empty() {
        return None;
    }
    let written = print::expression(&made);
    // Around a call there may be what binds more tightly.
    Some(match made.kind {
        ExprKind::Binary(..) | ExprKind::Neg(_) => format!("({written})"),
        ExprKind::Number(_) | ExprKind::Name(_) | ExprKind::Call(_) => written,
    })
}

/// A form with these arguments in place of their names.
fn put(form: &Expr, args: &[Expr]) -> Expr {
    let boxed = |e: &Expr| Box::new(put(e, args));
    let kind = match &form.kind {
        ExprKind::Number(n) => ExprKind::Number(*n),
        ExprKind::Name(name) => {
            let place = ARGUMENTS.iter().position(|a| a == name);
            return place.and_then(|i| args.get(i)).unwrap_or(form).clone();
        }
        ExprKind::Neg(inner) => ExprKind::Neg(boxed(inner)),
        ExprKind::Binary(op, left, right) => ExprKind::Binary(*op, boxed(left), boxed(right)),
        ExprKind::Call(call) => {
            let args = call.args.iter().map(|a| put(a, args)).collect();
            ExprKind::Call(Call { args, ..call.clone() })
        }
    };
    Expr { kind, span: form.span }
}
