//! Specs without their spans, so that two texts that say the same compare equal.

use super::ast::{
    Call, Decl, Expr, ExprKind, Ident, Item, Opt, OptValue, Pair, RulePair, Spec, Stmt,
};
use crate::diag::Span;

/// The same Spec with every span at `0..0`.
#[must_use]
pub fn strip_spans(mut spec: Spec) -> Spec {
    for Item { stmt, span, .. } in &mut spec.items {
        *span = Span::default();
        statement(stmt);
    }
    spec
}

fn statement(stmt: &mut Stmt) {
    match stmt {
        Stmt::Mesh(pairs) | Stmt::Dims(pairs) => {
            for Pair { name, size_span, span, .. } in pairs {
                ident(name);
                *size_span = Span::default();
                *span = Span::default();
            }
        }
        Stmt::Layout(rules) => {
            for RulePair { dim, mesh_dims, span } in rules {
                ident(dim);
                idents(mesh_dims);
                *span = Span::default();
            }
        }
        Stmt::Model { preset: name, options } | Stmt::Block { name, options } => {
            ident(name);
            opts(options);
        }
        Stmt::Input(decls) | Stmt::Param(decls) | Stmt::State(decls) => {
            for Decl { name, dims, options, span } in decls {
                ident(name);
                idents(dims);
                opts(options);
                *span = Span::default();
            }
        }
        Stmt::Assign { name, dims, value } => {
            ident(name);
            idents(dims.as_deref_mut().unwrap_or_default());
            expr(value);
        }
        Stmt::Next { name, value } => {
            ident(name);
            expr(value);
        }
        Stmt::Train(options) | Stmt::Pipeline(options) => opts(options),
        Stmt::Hardware { name, options } => {
            idents(name.as_mut_slice());
            opts(options);
        }
        Stmt::Blank | Stmt::End | Stmt::Unreadable(_) => {}
    }
}

fn ident(ident: &mut Ident) {
    ident.span = Span::default();
}

fn idents(names: &mut [Ident]) {
    names.iter_mut().for_each(ident);
}

fn opts(options: &mut [Opt]) {
    for Opt { key, value: v, value_span, span } in options {
        ident(key);
        value(v);
        *value_span = Span::default();
        *span = Span::default();
    }
}

fn value(v: &mut OptValue) {
    match v {
        OptValue::Number(_) | OptValue::Word(_) => {}
        OptValue::List(values) => values.iter_mut().for_each(value),
        OptValue::Call { args, options, .. } => {
            args.iter_mut().for_each(value);
            opts(options);
        }
    }
}

fn expr(e: &mut Expr) {
    e.span = Span::default();
    match &mut e.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => {}
        ExprKind::Neg(inner) => expr(inner),
        ExprKind::Binary(_, left, right) => {
            expr(left);
            expr(right);
        }
        ExprKind::Call(Call { function, args, arrow, options }) => {
            ident(function);
            args.iter_mut().for_each(expr);
            idents(arrow.as_deref_mut().unwrap_or_default());
            opts(options);
        }
    }
}
