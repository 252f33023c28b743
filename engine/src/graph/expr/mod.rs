//! Expressions to nodes.
//!
//! [`Scope`] knows what names stand for; [`Args`] reads a call's arguments and
//! options; `compose` holds the functions that are compositions of operations (softmax, norms,
//! losses), `moves`, `windows` and `picks` those whose arguments are not all tensors. All end
//! in the closed set of operations in `op.rs`.

pub mod functions;
pub mod scope;
mod foreign;
pub mod args;
pub mod moves;
pub mod windows;
pub mod picks;
pub mod compose;

use super::Context;
use super::op::{Element, NARY_FUNCTIONS, Op, Reduction, UNARY_FUNCTIONS};
use crate::index::NodeId;
use crate::spec::ast::{BinaryOp, Expr, ExprKind};
use args::Args;
use functions::Function;
use scope::Scope;

impl Scope<'_> {
    /// Builds an expression; `None` if anything in it is wrong (and has been reported).
    pub fn expr(&mut self, cx: &Context, expr: &Expr) -> Option<NodeId> {
        let cx = &Context { span: self.span(expr.span), ..cx.clone() };
        match &expr.kind {
            ExprKind::Number(n) => Some(self.graph.constant(cx, *n)),
            ExprKind::Name(name) => self.name(name, expr.span),
            ExprKind::Neg(x) => {
                if let ExprKind::Number(n) = x.kind {
                    return Some(self.graph.constant(cx, -n));
                }
                let x = self.expr(cx, x)?;
                Some(self.graph.elementwise(cx, Element::Neg, &[x]))
            }
            ExprKind::Binary(op, x, y) => {
                let (a, b) = (self.expr(cx, x), self.expr(cx, y));
                let (a, b) = (a?, b?);
                if *op == BinaryOp::Pow && self.graph.node(b).op == Op::Constant(2.0) {
                    return Some(self.graph.elementwise(cx, Element::Square, &[a]));
                }
                let element = match op {
                    BinaryOp::Add => Element::Add,
                    BinaryOp::Sub => Element::Sub,
                    BinaryOp::Mul => Element::Mul,
                    BinaryOp::Div => Element::Div,
                    BinaryOp::Pow => Element::Pow,
                };
                Some(self.graph.elementwise(cx, element, &[a, b]))
            }
            ExprKind::Call(call) => {
                let Some(function) = Function::find(&call.function.text) else {
                    self.unknown_function(call, expr.span);
                    return None;
                };
                Args { scope: self, cx, call, function, span: expr.span }.build()
            }
        }
    }
}

/// Builds a call.
type Build = for<'x, 's, 'a, 'c> fn(&'x mut Args<'s, 'a, 'c>) -> Option<NodeId>;

/// The functions whose arguments are not all tensors.
const MOVERS: &[(&str, Build)] = &[
    ("rename", |args| args.rename()),
    ("index", |args| args.index()),
    ("random", |args| args.random()),
    ("training", |args| args.training()),
    ("broadcast", |args| args.broadcast()),
    ("transpose", |args| args.transpose()),
    ("reshape", |args| args.reshape()),
    ("slice", |args| args.slice()),
    ("pad", |args| args.pad()),
    ("shift", |args| args.shift()),
    ("unstack", |args| args.unstack()),
    ("window", |args| args.window()),
    ("max_pool", |args| args.pool(Reduction::Max)),
    ("avg_pool", |args| args.pool(Reduction::Mean)),
    ("top_k", |args| args.top_k(true)),
    ("top_k_positions", |args| args.top_k(false)),
    ("argmax", |args| args.argmax()),
    ("cumsum", |args| args.cumsum()),
    ("dropout", |args| args.dropout()),
];

/// How a function is built, if its arguments are not all tensors.
fn mover(name: &str) -> Option<Build> {
    MOVERS.iter().find(|m| m.0 == name).map(|m| m.1)
}

impl Args<'_, '_, '_> {
    fn build(&mut self) -> Option<NodeId> {
        if !self.options_are_known() {
            return None;
        }
        if self.call.arrow.is_some() && !self.function.takes_arrow() {
            return self.wrong();
        }
        let name = self.function.name;
        if let Some(build) = mover(name) {
            return build(self);
        }
        let nodes = self.tensors()?;
        let element = UNARY_FUNCTIONS.iter().chain(NARY_FUNCTIONS).find(|(n, _)| *n == name);
        match element {
            Some(&(_, element)) if nodes.len() == element.arity() => {
                Some(self.apply(element, &nodes))
            }
            Some(_) => self.wrong(),
            None => self.composed(name, &nodes),
        }
    }
}
