//! [`Spec`] → text in canonical form: one space between parts, two per open block, as few
//! parentheses and back quotes as the meaning allows, numbers in their shortest form.
//!
//! Printing and parsing again gives the same Spec, spans apart. A name that cannot be written
//! (empty, or with a back quote or a line break in it) does not come from a text.

use super::ast::{
    BinaryOp, Call, Decl, Expr, ExprKind, Ident, Item, Opt, OptValue, Pair, RulePair, Spec, Stmt,
};
use super::lex::{is_bare_word, is_space, write_name};
use super::parse;

/// The canonical text of a Spec, with a line break after every line.
pub fn print(spec: &Spec) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for item in &spec.items {
        line(&mut out, &mut depth, &item.stmt, |out| write_item(out, item));
    }
    out
}

/// A text in canonical form. Lines with errors keep their words, so that nothing is lost while a
/// text is being mended; a text beyond the limit stays as it is.
pub fn fmt(text: &str) -> String {
    let reading = parse::read(text);
    if reading.items.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut depth = 0;
    for (item, broken) in reading.items.iter().zip(&reading.broken) {
        line(&mut out, &mut depth, &item.stmt, |out| {
            if *broken {
                out.push_str(item.span.of(text).trim_matches(is_space));
            } else {
                write_item(out, item);
            }
        });
    }
    out
}

/// Writes one line at its depth; an empty one without the spaces in front.
fn line(out: &mut String, depth: &mut usize, stmt: &Stmt, write: impl FnOnce(&mut String)) {
    if matches!(stmt, Stmt::End) {
        *depth = depth.saturating_sub(1);
    }
    let start = out.len();
    for _ in 0..*depth {
        out.push_str("  ");
    }
    let indented = out.len();
    write(out);
    if out.len() == indented {
        out.truncate(start);
    }
    out.push('\n');
    if matches!(stmt, Stmt::Block { .. }) {
        *depth += 1;
    }
}

fn write_item(out: &mut String, item: &Item) {
    statement(out, &item.stmt);
    if let Some(comment) = &item.comment {
        if !matches!(item.stmt, Stmt::Blank) {
            out.push(' ');
        }
        out.push_str(comment);
    }
}

fn statement(out: &mut String, stmt: &Stmt) {
    match stmt {
        Stmt::Blank => {}
        Stmt::Mesh(pairs) => size_pairs(out, "mesh", pairs),
        Stmt::Dims(pairs) => size_pairs(out, "dims", pairs),
        Stmt::Layout(rules) => {
            out.push_str("layout");
            for rule in rules {
                out.push(' ');
                write_rule(out, rule);
            }
        }
        Stmt::Model { preset, options } => {
            out.push_str("model ");
            write_word(out, &preset.text);
            spaced_options(out, options);
        }
        Stmt::Input(list) => decls(out, "input", list),
        Stmt::Param(list) => decls(out, "param", list),
        Stmt::State(list) => decls(out, "state", list),
        Stmt::Assign { name, dims, value } => {
            write_name(out, &name.text);
            if let Some(dims) = dims {
                brackets(out, dims);
            }
            out.push_str(" = ");
            expr(out, value, 0);
        }
        Stmt::Next { name, value } => {
            write_name(out, &name.text);
            out.push_str(" := ");
            expr(out, value, 0);
        }
        Stmt::Block { name, options } => {
            out.push_str("block ");
            write_name(out, &name.text);
            spaced_options(out, options);
        }
        Stmt::End => out.push_str("end"),
        Stmt::Train(options) => {
            out.push_str("train");
            spaced_options(out, options);
        }
        Stmt::Pipeline(options) => {
            out.push_str("pipeline");
            spaced_options(out, options);
        }
        Stmt::Hardware { name, options } => {
            out.push_str("hardware");
            if let Some(name) = name {
                out.push(' ');
                write_word(out, &name.text);
            }
            spaced_options(out, options);
        }
        Stmt::Unreadable(text) => out.push_str(text),
    }
}

fn size_pairs(out: &mut String, word: &str, pairs: &[Pair]) {
    out.push_str(word);
    for pair in pairs {
        out.push(' ');
        write_pair(out, &pair.name.text, pair.size);
    }
}

/// Writes `rows:2`.
pub(super) fn write_pair(out: &mut String, name: &str, size: u64) {
    write_name(out, name);
    out.push(':');
    out.push_str(&size.to_string());
}

fn write_rule(out: &mut String, rule: &RulePair) {
    write_name(out, &rule.dim.text);
    for (i, mesh_dim) in rule.mesh_dims.iter().enumerate() {
        out.push(if i == 0 { ':' } else { '+' });
        write_name(out, &mesh_dim.text);
    }
}

fn decls(out: &mut String, word: &str, decls: &[Decl]) {
    out.push_str(word);
    for (i, decl) in decls.iter().enumerate() {
        out.push_str(if i == 0 { " " } else { ", " });
        write_name(out, &decl.name.text);
        if !decl.dims.is_empty() {
            brackets(out, &decl.dims);
        }
        spaced_options(out, &decl.options);
    }
}

fn brackets(out: &mut String, names: &[Ident]) {
    out.push('[');
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        write_name(out, &name.text);
    }
    out.push(']');
}

fn spaced_options(out: &mut String, options: &[Opt]) {
    for option in options {
        out.push(' ');
        write_option(out, option);
    }
}

fn write_option(out: &mut String, option: &Opt) {
    write_name(out, &option.key.text);
    out.push(':');
    write_value(out, &option.value);
}

/// Writes the value of an option.
pub(super) fn write_value(out: &mut String, value: &OptValue) {
    match value {
        OptValue::Number(x) => out.push_str(&number(*x)),
        OptValue::Word(word) => write_word(out, word),
        OptValue::List(values) => items(out, values, &[]),
        OptValue::Call { name, args, options } => {
            write_word(out, name);
            items(out, args, options);
        }
    }
}

fn items(out: &mut String, values: &[OptValue], options: &[Opt]) {
    out.push('(');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        write_value(out, value);
    }
    for (i, option) in options.iter().enumerate() {
        if i + values.len() > 0 {
            out.push(' ');
        }
        write_option(out, option);
    }
    out.push(')');
}

/// Writes a word, in back quotes where it needs them.
pub(super) fn write_word(out: &mut String, word: &str) {
    if is_bare_word(word) {
        out.push_str(word);
    } else {
        out.push('`');
        out.push_str(word);
        out.push('`');
    }
}

/// The shortest text that reads as this number again.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) { format!("{x}") } else { format!("{x:e}") }
}

/// How tightly an expression binds: what stands at a tighter place needs parentheses.
fn binding(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => 1,
        ExprKind::Binary(BinaryOp::Mul | BinaryOp::Div, ..) => 2,
        ExprKind::Neg(_) => 3,
        ExprKind::Binary(BinaryOp::Pow, ..) => 4,
        ExprKind::Number(_) | ExprKind::Name(_) | ExprKind::Call(_) => 5,
    }
}

/// An expression in canonical form.
pub fn expression(e: &Expr) -> String {
    let mut out = String::new();
    expr(&mut out, e, 0);
    out
}

/// Writes an expression at a place that takes what binds at least as tightly as `place`.
fn expr(out: &mut String, e: &Expr, place: u8) {
    let parentheses = binding(&e.kind) < place;
    if parentheses {
        out.push('(');
    }
    match &e.kind {
        ExprKind::Number(x) => out.push_str(&number(*x)),
        ExprKind::Name(name) => write_name(out, name),
        ExprKind::Neg(inner) => {
            out.push('-');
            expr(out, inner, 3);
        }
        ExprKind::Binary(op, left, right) => {
            let (symbol, left_place, right_place) = match op {
                BinaryOp::Add => (" + ", 1, 2),
                BinaryOp::Sub => (" - ", 1, 2),
                BinaryOp::Mul => (" * ", 2, 3),
                BinaryOp::Div => (" / ", 2, 3),
                BinaryOp::Pow => ("^", 5, 3),
            };
            expr(out, left, left_place);
            out.push_str(symbol);
            expr(out, right, right_place);
        }
        ExprKind::Call(call) => write_call(out, call),
    }
    if parentheses {
        out.push(')');
    }
}

fn write_call(out: &mut String, call: &Call) {
    write_name(out, &call.function.text);
    out.push('(');
    let mut any = false;
    for arg in &call.args {
        if any {
            out.push_str(", ");
        }
        any = true;
        expr(out, arg, 0);
    }
    if let Some(names) = &call.arrow {
        out.push_str(if any { " ->" } else { "->" });
        any = true;
        for name in names {
            out.push(' ');
            write_name(out, &name.text);
        }
    }
    for option in &call.options {
        if any {
            out.push(' ');
        }
        any = true;
        write_option(out, option);
    }
    out.push(')');
}
