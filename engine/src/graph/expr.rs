//! Expressions to nodes: the functions of the study language.
//!
//! Every function here is built from the closed set of operations in `op.rs`; [`FUNCTIONS`] is the
//! reference that messages, the studio's help and the docs show.

use super::op::{Element, NARY_FUNCTIONS, Op, Reduction, UNARY_FUNCTIONS};
use super::{Context, Graph};
use crate::diag::{Code, Diagnostic, Hint, Span, nearest};
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Name, Shape};
use crate::spec::ast::{BinaryOp, Call, Expr, ExprKind, Ident, OptValue};
use std::collections::{BTreeMap, BTreeSet};

/// A function of the language: its form, and what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// How it is called.
    pub form: &'static str,
    /// What it gives.
    pub about: &'static str,
}

const fn f(name: &'static str, form: &'static str, about: &'static str) -> Function {
    Function { name, form, about }
}

/// All functions.
pub const FUNCTIONS: &[Function] = &[
    f(
        "einsum",
        "einsum(x, w -> batch hidden)",
        "product of the inputs, summed over the dimensions not named after the arrow; without an arrow the dimensions that occur once stay",
    ),
    f(
        "sum",
        "sum(x) · sum(x -> batch) · sum(x, over:hidden)",
        "sum over all dimensions, over those not kept, or over those named",
    ),
    f(
        "mean",
        "mean(x) · mean(x -> batch) · mean(x, over:hidden)",
        "mean over dimensions, named as for sum",
    ),
    f(
        "max",
        "max(x) · max(x -> batch) · max(x, over:hidden)",
        "greatest over dimensions, named as for sum",
    ),
    f(
        "min",
        "min(x) · min(x -> batch) · min(x, over:hidden)",
        "least over dimensions, named as for sum",
    ),
    f(
        "logsumexp",
        "logsumexp(x, over:classes)",
        "log of the sum of exponentials, safe for large numbers, named as for sum",
    ),
    f(
        "softmax",
        "softmax(x, dim:classes)",
        "exponentials divided by their sum along one dimension",
    ),
    f("log_softmax", "log_softmax(x, dim:classes)", "logarithm of softmax, without its rounding"),
    f(
        "cross_entropy",
        "cross_entropy(logits, target, dim:classes)",
        "logsumexp(logits) − Σ target·logits along the class dimension; target holds probabilities that sum to 1",
    ),
    f("mean_square", "mean_square(y, target)", "mean of the squared differences"),
    f(
        "one_hot",
        "one_hot(labels, dim:classes)",
        "1 at the position the label names, else 0; a label out of range gives zeros",
    ),
    f("index", "index(classes)", "0, 1, 2, … along a dimension"),
    f(
        "rename",
        "rename(x, io -> io2)",
        "the same numbers under another dimension name; this is how a tensor is laid out anew",
    ),
    f("stop_gradient", "stop_gradient(x)", "x, through which no gradient passes"),
    f("relu", "relu(x)", "max(x, 0)"),
    f("gelu", "gelu(x)", "x·Φ(x), tanh approximation"),
    f("silu", "silu(x)", "x·sigmoid(x)"),
    f("sigmoid", "sigmoid(x)", "1/(1+e⁻ˣ)"),
    f("tanh", "tanh(x)", "hyperbolic tangent"),
    f("exp", "exp(x)", "eˣ"),
    f("log", "log(x)", "natural logarithm"),
    f("sqrt", "sqrt(x)", "√x"),
    f("rsqrt", "rsqrt(x)", "1/√x"),
    f("square", "square(x)", "x²"),
    f("abs", "abs(x)", "|x|"),
    f("sign", "sign(x)", "−1, 0 or 1"),
    f("maximum", "maximum(x, y)", "the greater, element by element"),
    f("minimum", "minimum(x, y)", "the lesser, element by element"),
    f("equal", "equal(x, y)", "1 where equal, else 0"),
    f("less", "less(x, y)", "1 where x < y, else 0"),
    f("less_equal", "less_equal(x, y)", "1 where x ≤ y, else 0"),
    f("select", "select(condition, x, y)", "x where the condition is not 0, else y"),
];

/// What an expression is built into.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The graph under construction.
    pub graph: &'a mut Graph,
    /// Sizes of the dimensions.
    pub dims: &'a BTreeMap<String, u64>,
    /// Tensors by the names that are visible here.
    pub names: &'a BTreeMap<String, NodeId>,
    /// Names whose own line was wrong: their use is reported no more.
    pub broken: &'a BTreeSet<String>,
    /// Where complaints go.
    pub diagnostics: &'a mut Vec<Diagnostic>,
    /// Stands for every span, where the text is a preset's.
    pub origin: Option<Span>,
}

impl Scope<'_> {
    /// The span to report.
    pub fn span(&self, own: Span) -> Span {
        self.origin.unwrap_or(own)
    }

    fn complain(&mut self, code: Code, span: Span, message: impl Into<String>) {
        let span = self.span(span);
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

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
            ExprKind::Call(call) => self.call(cx, call, expr.span),
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Option<NodeId> {
        if let Some(&id) = self.names.get(name) {
            return Some(id);
        }
        if self.broken.contains(name) {
            return None;
        }
        let span = self.span(span);
        let mut d = Diagnostic::error(
            Code::UnknownName,
            span,
            format!("`{name}` is neither declared by input or param nor assigned above"),
        );
        if self.dims.contains_key(name) {
            d = d.hint(Hint::new(format!(
                "`{name}` is a dimension; index({name}) counts along it."
            )));
        } else if let Some(near) = nearest(name, self.names.keys().map(String::as_str)) {
            d = d.hint(Hint::edit(format!("Write `{near}`."), span, near));
        }
        self.diagnostics.push(d);
        None
    }

    /// The dimension of this name, with its size.
    pub fn dimension(&mut self, ident: &Ident) -> Option<Dimension> {
        if let Some(&size) = self.dims.get(&ident.text) {
            return Some(Dimension::new(ident.text.as_str(), size));
        }
        let span = self.span(ident.span);
        let mut d = Diagnostic::error(
            Code::UnknownDimension,
            span,
            format!(
                "The dimension `{}` has no size; give it one: dims {}:8",
                ident.text, ident.text
            ),
        );
        if let Some(near) = nearest(&ident.text, self.dims.keys().map(String::as_str)) {
            d = d.hint(Hint::edit(format!("Write `{near}`."), span, near));
        }
        self.diagnostics.push(d);
        None
    }

    /// The shape with these dimensions.
    pub fn shape(&mut self, idents: &[Ident]) -> Option<Shape> {
        let dims: Vec<Option<Dimension>> = idents.iter().map(|i| self.dimension(i)).collect();
        let dims: Option<Vec<Dimension>> = dims.into_iter().collect();
        match Shape::new(dims?) {
            Ok(shape) if shape.elements() < 1 << 52 => Some(shape),
            Ok(shape) => {
                let span = idents.first().map_or(Span::default(), |i| i.span);
                self.complain(
                    Code::TooLarge,
                    span,
                    format!("A tensor {shape} has more than 2^52 elements"),
                );
                None
            }
            Err(name) => {
                let twice = idents.iter().rev().find(|i| *i.text == *name);
                let span = twice.map_or(Span::default(), |i| i.span);
                self.complain(
                    Code::Duplicate,
                    span,
                    format!("`{name}` stands twice in one shape; a tensor has each dimension once"),
                );
                None
            }
        }
    }

    fn call(&mut self, cx: &Context, call: &Call, span: Span) -> Option<NodeId> {
        let name = call.function.text.as_str();
        let Some(function) = FUNCTIONS.iter().find(|f| f.name == name) else {
            let at = self.span(call.function.span);
            let mut d = Diagnostic::error(
                Code::UnknownFunction,
                at,
                format!("There is no function `{name}`"),
            );
            if let Some(near) = nearest(name, FUNCTIONS.iter().map(|f| f.name)) {
                d = d.hint(Hint::edit(format!("Write `{near}`."), at, near));
            }
            self.diagnostics.push(d);
            return None;
        };
        if let "rename" | "index" = name {
            return if name == "rename" {
                self.rename(cx, call, *function, span)
            } else {
                self.index(cx, call, *function, span)
            };
        }
        let args: Vec<Option<NodeId>> = call.args.iter().map(|a| self.expr(cx, a)).collect();
        let args: Vec<NodeId> = args.into_iter().collect::<Option<_>>()?;
        let mut args = Args { scope: self, cx, call, function: *function, span, nodes: args };
        args.build(name)
    }

    fn rename(
        &mut self,
        cx: &Context,
        call: &Call,
        function: Function,
        span: Span,
    ) -> Option<NodeId> {
        let (Some(x), Some(ExprKind::Name(from)), Some([to])) =
            (call.args.first(), call.args.get(1).map(|e| &e.kind), call.arrow.as_deref())
        else {
            return self.wrong(function, span);
        };
        let x = self.expr(cx, x)?;
        let to = self.dimension(to)?;
        let shape = self.graph.shape(x).clone();
        let Some(axis) = shape.axis(from) else {
            let message = format!("The tensor {shape} has no dimension `{from}`");
            self.complain(Code::ShapeMismatch, span, message);
            return None;
        };
        let size = shape.dim(axis).size;
        if size != to.size {
            let message = format!(
                "`{from}` has {size} elements, `{}` has {}: a rename needs equal sizes",
                to.name, to.size
            );
            self.complain(Code::ShapeMismatch, span, message);
            return None;
        }
        let dims =
            shape.dims().iter().map(|d| if *d.name == **from { to.clone() } else { d.clone() });
        match Shape::new(dims.collect()) {
            Ok(shape) => Some(self.graph.add(cx, Op::Rename, vec![x], shape)),
            Err(name) => {
                let message = format!("The tensor {shape} already has a dimension `{name}`");
                self.complain(Code::ShapeMismatch, span, message);
                None
            }
        }
    }

    fn index(
        &mut self,
        cx: &Context,
        call: &Call,
        function: Function,
        span: Span,
    ) -> Option<NodeId> {
        let [Expr { kind: ExprKind::Name(name), span: at }] = call.args.as_slice() else {
            return self.wrong(function, span);
        };
        let shape = self.shape(&[Ident { text: name.clone(), span: *at }])?;
        Some(self.graph.add(cx, Op::Index, Vec::new(), shape))
    }

    fn wrong(&mut self, function: Function, span: Span) -> Option<NodeId> {
        let message = format!("`{}` is called as {}", function.name, function.form);
        self.complain(Code::BadArguments, span, message);
        None
    }
}

/// A call whose arguments are built.
struct Args<'s, 'a, 'c> {
    scope: &'s mut Scope<'a>,
    cx: &'c Context,
    call: &'c Call,
    function: Function,
    span: Span,
    nodes: Vec<NodeId>,
}

impl Args<'_, '_, '_> {
    fn build(&mut self, name: &str) -> Option<NodeId> {
        let takes_dims = matches!(
            name,
            "sum"
                | "mean"
                | "max"
                | "min"
                | "logsumexp"
                | "softmax"
                | "log_softmax"
                | "cross_entropy"
                | "one_hot"
        );
        let options = if takes_dims { &["over", "dim"][..] } else { &[] };
        if let Some(odd) =
            self.call.options.iter().find(|o| !options.contains(&o.key.text.as_str()))
        {
            let message = format!(
                "`{name}` has no option `{}`: it is called as {}",
                odd.key.text, self.function.form
            );
            self.scope.complain(Code::UnknownOption, odd.span, message);
            return None;
        }
        let arrow_fits = self.call.arrow.is_none() || name == "einsum" || takes_dims;
        if !arrow_fits {
            return self.wrong();
        }
        if let Some(&(_, element)) =
            UNARY_FUNCTIONS.iter().chain(NARY_FUNCTIONS).find(|(n, _)| *n == name)
        {
            if self.nodes.len() != element.arity() {
                return self.wrong();
            }
            let nodes = self.nodes.clone();
            return Some(self.apply(element, &nodes));
        }
        self.composed(name)
    }

    /// The functions that are several operations, or one with dimensions.
    fn composed(&mut self, name: &str) -> Option<NodeId> {
        match (name, self.nodes.as_slice()) {
            ("einsum", [_, ..]) => self.einsum(),
            ("sum", [x]) => self.reduce(*x, Reduction::Sum),
            ("mean", [x]) => self.reduce(*x, Reduction::Mean),
            ("max", [x]) => self.reduce(*x, Reduction::Max),
            ("min", [x]) => self.reduce(*x, Reduction::Min),
            ("logsumexp", &[x]) => {
                let kept = self.kept(x)?;
                Some(self.logsumexp(x, &kept))
            }
            ("log_softmax", &[x]) => {
                let kept = self.kept(x)?;
                let total = self.logsumexp(x, &kept);
                Some(self.apply(Element::Sub, &[x, total]))
            }
            ("softmax", &[x]) => {
                let kept = self.kept(x)?;
                let shifted = self.shifted(x, &kept);
                let e = self.apply(Element::Exp, &[shifted.0]);
                let total = self.reduce_to(e, Reduction::Sum, &kept);
                Some(self.apply(Element::Div, &[e, total]))
            }
            ("cross_entropy", &[logits, target]) => {
                let kept = self.kept(logits)?;
                let total = self.logsumexp(logits, &kept);
                let product = self.apply(Element::Mul, &[logits, target]);
                let hit = self.reduce_to(product, Reduction::Sum, &kept);
                Some(self.apply(Element::Sub, &[total, hit]))
            }
            ("mean_square", &[y, target]) => {
                let difference = self.apply(Element::Sub, &[y, target]);
                let square = self.apply(Element::Square, &[difference]);
                Some(self.reduce_to(square, Reduction::Mean, &Shape::scalar()))
            }
            ("one_hot", &[labels]) => {
                let dims = self.named_dims()?;
                let shape = self.scope.shape(&dims)?;
                if shape.rank() != 1 {
                    return self.wrong();
                }
                let cx = self.cx.clone();
                let index = self.scope.graph.add(&cx, Op::Index, Vec::new(), shape);
                Some(self.apply(Element::Equal, &[labels, index]))
            }
            ("silu", &[x]) => {
                let gate = self.apply(Element::Sigmoid, &[x]);
                Some(self.apply(Element::Mul, &[x, gate]))
            }
            ("stop_gradient", &[x]) => {
                let shape = self.scope.graph.shape(x).clone();
                Some(self.scope.graph.add(self.cx, Op::StopGradient, vec![x], shape))
            }
            _ => self.wrong(),
        }
    }

    fn wrong(&mut self) -> Option<NodeId> {
        self.scope.wrong(self.function, self.span)
    }

    fn apply(&mut self, element: Element, inputs: &[NodeId]) -> NodeId {
        self.scope.graph.elementwise(self.cx, element, inputs)
    }

    fn reduce_to(&mut self, x: NodeId, reduction: Reduction, kept: &Shape) -> NodeId {
        self.scope.graph.add(self.cx, Op::Reduce(reduction), vec![x], kept.clone())
    }

    fn reduce(&mut self, x: NodeId, reduction: Reduction) -> Option<NodeId> {
        let kept = self.kept(x)?;
        Some(self.reduce_to(x, reduction, &kept))
    }

    /// x less its maximum along the dimensions that go, and that maximum; both without gradient
    /// through the maximum, which cancels.
    fn shifted(&mut self, x: NodeId, kept: &Shape) -> (NodeId, NodeId) {
        let top = self.reduce_to(x, Reduction::Max, kept);
        let top = self.scope.graph.add(self.cx, Op::StopGradient, vec![top], kept.clone());
        (self.apply(Element::Sub, &[x, top]), top)
    }

    fn logsumexp(&mut self, x: NodeId, kept: &Shape) -> NodeId {
        let (shifted, top) = self.shifted(x, kept);
        let e = self.apply(Element::Exp, &[shifted]);
        let total = self.reduce_to(e, Reduction::Sum, kept);
        let log = self.apply(Element::Log, &[total]);
        self.apply(Element::Add, &[log, top])
    }

    /// The dimensions that `over:` or `dim:` name.
    fn named_dims(&mut self) -> Option<Vec<Ident>> {
        let mut dims = Vec::new();
        for option in &self.call.options {
            let ident = |text: &String| Ident { text: text.clone(), span: option.value_span };
            match &option.value {
                OptValue::Word(word) => dims.push(ident(word)),
                OptValue::List(list) => {
                    for value in list {
                        let OptValue::Word(word) = value else {
                            self.wrong();
                            return None;
                        };
                        dims.push(ident(word));
                    }
                }
                OptValue::Number(_) | OptValue::Call { .. } => {
                    self.wrong();
                    return None;
                }
            }
        }
        Some(dims)
    }

    /// The dimensions of `x` that stay: those after the arrow, or all but those named, or none.
    fn kept(&mut self, x: NodeId) -> Option<Shape> {
        let shape = self.scope.graph.shape(x).clone();
        if let Some(arrow) = &self.call.arrow {
            let kept = self.scope.shape(arrow)?;
            return self.all_in(&kept, &shape).then_some(kept);
        }
        let gone = self.named_dims()?;
        if gone.is_empty() {
            let needs_dim =
                matches!(self.function.name, "softmax" | "log_softmax" | "cross_entropy");
            if needs_dim && shape.rank() != 1 {
                self.wrong();
                return None;
            }
            return Some(Shape::scalar());
        }
        let named = self.scope.shape(&gone)?;
        self.all_in(&named, &shape).then(|| shape.filter(|d| !named.has(&d.name)))
    }

    /// Reports the first of `dims` that `shape` lacks.
    fn all_in(&mut self, dims: &Shape, shape: &Shape) -> bool {
        if let Some(d) = dims.dims().iter().find(|d| !shape.has(&d.name)) {
            let message = format!("`{}` is no dimension of the argument {shape}", d.name);
            self.scope.complain(Code::ShapeMismatch, self.span, message);
            return false;
        }
        true
    }

    /// The einsum as products of two: from the left, each keeps what later inputs or the result
    /// need.
    fn product(&mut self, kept: &Shape) -> NodeId {
        let nodes = self.nodes.clone();
        let mut product = nodes[0];
        for (i, &next) in nodes.iter().enumerate().skip(1) {
            let graph = &mut *self.scope.graph;
            let both = graph.shape(product).union(graph.shape(next));
            let later = |name: &Name| nodes[i + 1..].iter().any(|&n| graph.shape(n).has(name));
            let shape = if i + 1 == nodes.len() {
                kept.clone()
            } else {
                both.filter(|d| kept.has(&d.name) || later(&d.name))
            };
            product = graph.add(self.cx, Op::Einsum, vec![product, next], shape);
        }
        if nodes.len() > 1 {
            return product;
        }
        let has_all = self.scope.graph.shape(product).rank() == kept.rank();
        if has_all {
            let op = Op::Elementwise(Element::Identity);
            return self.scope.graph.add(self.cx, op, nodes, kept.clone());
        }
        self.reduce_to(product, Reduction::Sum, kept)
    }

    fn einsum(&mut self) -> Option<NodeId> {
        let graph = &self.scope.graph;
        let union = self.nodes.iter().fold(Shape::scalar(), |s, &n| s.union(graph.shape(n)));
        let kept = if let Some(arrow) = &self.call.arrow {
            let kept = self.scope.shape(arrow)?;
            if !self.all_in(&kept, &union) {
                return None;
            }
            kept
        } else {
            let count =
                |name: &Name| self.nodes.iter().filter(|&&n| graph.shape(n).has(name)).count();
            union.filter(|d| count(&d.name) == 1)
        };
        Some(self.product(&kept))
    }
}
