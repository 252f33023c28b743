//! The arguments of one call: tensors, dimensions, options.

use super::functions::Function;
use super::scope::Scope;
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::op::{Element, Op};
use crate::graph::options::not_among;
use crate::graph::{Context, Graph};
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Name, Shape};
use crate::spec::ast::{Call, Expr, ExprKind, Ident, Opt, OptValue};
use crate::spec::lex::written;
use crate::spec::synonyms::{self, Ours, call};

/// A call under construction.
#[derive(Debug)]
pub struct Args<'s, 'a, 'c> {
    /// Where it stands.
    pub scope: &'s mut Scope<'a>,
    /// What its nodes belong to.
    pub cx: &'c Context,
    /// What the user wrote.
    pub call: &'c Call,
    /// The function called.
    pub function: Function,
    /// The whole call.
    pub span: Span,
}

impl Args<'_, '_, '_> {
    /// Reports that the function is not called like this.
    pub fn wrong<T>(&mut self) -> Option<T> {
        self.scope.wrong(self.function, self.span)
    }

    /// Reports that shapes do not fit.
    pub fn misfit<T>(&mut self, message: impl Into<String>) -> Option<T> {
        self.scope.complain(Code::ShapeMismatch, self.span, message);
        None
    }

    /// Reports options that the function does not take, or takes once.
    pub fn options_are_known(&mut self) -> bool {
        let function = self.function;
        for (i, option) in self.call.options.iter().enumerate() {
            let (key, span) = (option.key.text.as_str(), self.scope.span(option.key.span));
            let message = if !function.takes(key) {
                format!(
                    "`{}` has no option `{key}`: it is called as {}",
                    function.name, function.form
                )
            } else if self.call.options[..i].iter().any(|o| o.key.text == key) {
                format!("`{key}` is given twice")
            } else {
                continue;
            };
            let mut d = Diagnostic::error(Code::UnknownOption, span, message);
            if !function.takes(key) {
                d.hints.extend(self.meant_option(option));
            }
            self.scope.diagnostics.push(d);
            return false;
        }
        true
    }

    /// What was most likely meant by an option that the function does not take.
    fn meant_option(&mut self, option: &Opt) -> Option<Hint> {
        let known: Vec<&str> = self.function.options().collect();
        let (key, span) = (option.key.text.as_str(), self.scope.span(option.key.span));
        let found = synonyms::find(call::CALL, key, &known);
        if let Some(Ours::Word(&[to @ ("dim" | "over")])) = found
            && !matches!(key, "dim" | "over")
            && let OptValue::Number(n) = option.value
        {
            return Some(self.numbered(to, n, option.span));
        }
        if let (Some(Ours::Word(["dim"])), OptValue::List(list)) = (found, &option.value)
            && list.len() > 1
            && self.function.name != "concat"
        {
            let text = format!("`{}` goes along one dimension.", self.function.name);
            return Some(Hint::new(text));
        }
        // What is left out takes the separator before it along.
        let before = self.call.args.last().map_or(option.span.start, |a| a.span.end);
        let first = self.call.options.first().is_some_and(|o| o.span == option.span);
        let start = if first && !self.has_arrow() { before } else { option.span.start };
        let whole = self.scope.span(Span::new(start, option.span.end));
        synonyms::hint(call::CALL, key, &known, span, whole)
            .or_else(|| synonyms::near(key, known.iter().copied(), span))
    }

    /// The mend of a dimension that goes by its place, counted from the end below 0.
    fn numbered(&mut self, option: &str, place: f64, span: Span) -> Hint {
        let call = self.call;
        let reported = self.scope.diagnostics.len();
        let x = call.args.first().and_then(|x| self.scope.expr(self.cx, x));
        self.scope.diagnostics.truncate(reported);
        let dims = x.map_or_else(Vec::new, |x| self.shape(x).dims().to_vec());
        let place = if place < 0.0 { place + dims.len() as f64 } else { place };
        let is_place = place.fract() == 0.0 && (0.0..dims.len() as f64).contains(&place);
        match dims.get(place as usize).filter(|_| is_place) {
            Some(dim) => {
                let mend = format!("{option}:{}", written(&dim.name));
                let text = format!("Write `{mend}`: dimensions go by name.");
                Hint::edit(text, self.scope.span(span), mend)
            }
            None => Hint::new(format!("Dimensions go by name: `{option}:hidden`, for example.")),
        }
    }

    /// The graph.
    pub const fn graph(&mut self) -> &mut Graph {
        self.scope.graph
    }

    /// The shape of a node.
    pub fn shape(&self, id: NodeId) -> Shape {
        self.scope.graph.shape(id).clone()
    }

    /// Adds a node.
    pub fn add(&mut self, op: Op, inputs: Vec<NodeId>, shape: Shape) -> NodeId {
        self.scope.graph.add(self.cx, op, inputs, shape)
    }

    /// Adds an element-wise node.
    pub fn apply(&mut self, element: Element, inputs: &[NodeId]) -> NodeId {
        self.scope.graph.elementwise(self.cx, element, inputs)
    }

    /// Applies it to the second and the first, over the dimensions in the order of the arguments.
    pub fn turned(&mut self, element: Element, [x, y]: [NodeId; 2]) -> NodeId {
        let shape = self.scope.graph.broadcast_shape(&[x, y]);
        self.add(Op::Elementwise(element), vec![y, x], shape)
    }

    /// Adds a constant.
    pub fn constant(&mut self, value: f64) -> NodeId {
        self.scope.graph.constant(self.cx, value)
    }

    /// All arguments as tensors; all are looked at, so that every mistake is reported.
    pub fn tensors(&mut self) -> Option<Vec<NodeId>> {
        let call = self.call;
        let nodes: Vec<Option<NodeId>> =
            call.args.iter().map(|a| self.scope.expr(self.cx, a)).collect();
        nodes.into_iter().collect()
    }

    /// The only argument, a tensor.
    pub fn tensor(&mut self) -> Option<NodeId> {
        match self.call.args.as_slice() {
            [x] => self.scope.expr(self.cx, x),
            _ => self.wrong(),
        }
    }

    /// The first argument, a tensor, and the others, names of its dimensions (at least `least`).
    pub fn tensor_and_dims(&mut self, least: usize) -> Option<(NodeId, Vec<Name>)> {
        let Some((x, dims)) = self.call.args.split_first().filter(|(_, d)| d.len() >= least) else {
            return self.wrong();
        };
        let name = |e: &Expr| {
            let ExprKind::Name(n) = &e.kind else { return None };
            Some(Name::from(n.as_str()))
        };
        let Some(names) = dims.iter().map(name).collect::<Option<Vec<Name>>>() else {
            return self.wrong();
        };
        let x = self.scope.expr(self.cx, x)?;
        let shape = self.shape(x);
        self.all_in(names.iter(), &shape)?;
        Some((x, names))
    }

    /// Reports the first name that `shape` lacks.
    pub fn all_in<'n>(
        &mut self,
        mut names: impl Iterator<Item = &'n Name>,
        shape: &Shape,
    ) -> Option<()> {
        match names.find(|n| !shape.has(n)) {
            Some(name) => self.misfit(format!("`{name}` is no dimension of the argument {shape}")),
            None => Some(()),
        }
    }

    /// Whether dimensions follow an arrow.
    pub const fn has_arrow(&self) -> bool {
        self.call.arrow.is_some()
    }

    /// The dimensions after the arrow, which has to be there.
    pub fn arrow(&mut self) -> Option<Shape> {
        match &self.call.arrow {
            Some(idents) => self.scope.shape(idents),
            None => self.wrong(),
        }
    }

    /// The dimensions after the arrow, exactly as many.
    pub fn arrow_of<const N: usize>(&mut self) -> Option<[Dimension; N]> {
        let shape = self.arrow()?;
        match <[Dimension; N]>::try_from(shape.dims().to_vec()) {
            Ok(dims) => Some(dims),
            Err(_) => self.wrong(),
        }
    }

    /// An option as the user wrote it.
    pub fn option(&self, key: &str) -> Option<&Opt> {
        self.call.options.iter().find(|o| o.key.text == key)
    }

    /// The names an option lists; empty without it, `None` (and a complaint) if they are no names.
    pub fn names(&mut self, key: &str) -> Option<Vec<Ident>> {
        let Some(option) = self.option(key) else { return Some(Vec::new()) };
        let ident = |text: &String| Ident { text: text.clone(), span: option.value_span };
        let names = match &option.value {
            OptValue::Word(word) => Some(vec![ident(word)]),
            OptValue::List(list) => list
                .iter()
                .map(|v| if let OptValue::Word(w) = v { Some(ident(w)) } else { None })
                .collect(),
            OptValue::Number(_) | OptValue::Call { .. } => None,
        };
        names.map_or_else(|| self.wrong(), Some)
    }

    /// The dimensions an option lists, in order.
    pub fn dims(&mut self, key: &str) -> Option<Vec<Dimension>> {
        let idents = self.names(key)?;
        let dims: Vec<Option<Dimension>> =
            idents.iter().map(|i| self.scope.dimension(i, &idents)).collect();
        dims.into_iter().collect()
    }

    /// The one dimension of a tensor that `dim:` names.
    pub fn dim_of(&mut self, x: NodeId) -> Option<Dimension> {
        let shape = self.shape(x);
        match self.dims("dim")?.as_slice() {
            [dim] => {
                self.all_in([&dim.name].into_iter(), &shape)?;
                Some(dim.clone())
            }
            _ => self.wrong(),
        }
    }

    /// A number that is `ok`, or the default.
    pub fn number(
        &mut self,
        key: &str,
        default: f64,
        takes: &str,
        ok: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let Some(option) = self.option(key) else { return Some(default) };
        match option.value {
            OptValue::Number(n) if n.is_finite() && ok(n) => Some(n),
            OptValue::Number(_) | OptValue::Word(_) | OptValue::List(_) | OptValue::Call { .. } => {
                let span = option.value_span;
                self.scope.complain(Code::BadOption, span, format!("`{key}` takes {takes}"));
                None
            }
        }
    }

    /// A whole number of at least `least`, or the default.
    pub fn whole(&mut self, key: &str, default: i64, least: i64) -> Option<i64> {
        let takes = if least < 0 {
            "a whole number".to_owned()
        } else {
            format!("a whole number from {least} on")
        };
        let ok = |n: f64| n.fract() == 0.0 && n >= least as f64 && n.abs() < 1e15;
        self.number(key, default as f64, &takes, ok).map(|n| n as i64)
    }

    /// `on` or `off`; off without the option.
    pub fn switch(&mut self, key: &str) -> Option<bool> {
        let Some(option) = self.option(key) else { return Some(false) };
        match &option.value {
            OptValue::Word(w) if w == "on" => Some(true),
            OptValue::Word(w) if w == "off" => Some(false),
            OptValue::Number(_) | OptValue::Word(_) | OptValue::List(_) | OptValue::Call { .. } => {
                let d = not_among(option, &["off", "on"]);
                self.scope.report(d)
            }
        }
    }

    /// Reports a dimension whose size does not follow; the mend gives it the one that does.
    pub fn wrong_size<T>(&mut self, dim: &Dimension, should: u64, why: &str) -> Option<T> {
        let span = self.scope.span(self.span);
        let message = format!("`{}` has {} elements; {why} {should}", dim.name, dim.size);
        let mut d = Diagnostic::error(Code::ShapeMismatch, span, message);
        if let Some(&place) = self.scope.dim_spans.get(&*dim.name).filter(|_| should > 0) {
            d = d.hint(Hint::size(place, &dim.name, should));
        }
        self.scope.diagnostics.push(d);
        None
    }

    /// `shape` with one dimension replaced by others.
    pub fn replaced(&mut self, shape: &Shape, name: &str, by: &[Dimension]) -> Option<Shape> {
        let dims = shape
            .dims()
            .iter()
            .flat_map(|d| if *d.name == *name { by.to_vec() } else { vec![d.clone()] });
        match Shape::new(dims.collect()) {
            Ok(shape) => Some(shape),
            Err(twice) => {
                self.misfit(format!("The tensor {shape} already has a dimension `{twice}`"))
            }
        }
    }
}
