//! What an expression is built into: names, dimensions, and where complaints go.

use super::functions::Function;
use crate::diag::{Code, Diagnostic, Hint, Span, nearest};
use crate::graph::Graph;
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Shape};
use crate::spec::ast::Ident;
use crate::spec::lex::written;
use std::collections::{BTreeMap, BTreeSet};

/// Tensors have fewer elements than this.
pub const MAX_ELEMENTS: u64 = 1 << 52;

/// The most dimensions of one tensor.
const MAX_RANK: usize = 32;

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
    /// Where each dimension got its size.
    pub dim_spans: &'a BTreeMap<String, Span>,
    /// The end of the last size in a `dims` line.
    pub dims_end: Option<u32>,
    /// Where complaints go.
    pub diagnostics: &'a mut Vec<Diagnostic>,
    /// Stands for every span, where the text is a preset's.
    pub origin: Option<Span>,
    /// How the batch is taken whole, where it is taken in micro-batches.
    pub take_whole: Option<&'a Hint>,
}

impl Scope<'_> {
    /// The span to report.
    pub fn span(&self, own: Span) -> Span {
        self.origin.unwrap_or(own)
    }

    /// Reports an error.
    pub fn complain(&mut self, code: Code, span: Span, message: impl Into<String>) {
        let span = self.span(span);
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    /// Reports a problem of an option.
    pub fn report<T>(&mut self, diagnostic: Diagnostic) -> Option<T> {
        let span = self.span(diagnostic.span);
        self.diagnostics.push(Diagnostic { span, ..diagnostic });
        None
    }

    /// The tensor of this name.
    pub fn name(&mut self, name: &str, span: Span) -> Option<NodeId> {
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

    /// The dimension of this name, with its size; `beside` are others that it stands with.
    pub fn dimension(&mut self, ident: &Ident, beside: &[Ident]) -> Option<Dimension> {
        if let Some(&size) = self.dims.get(&ident.text) {
            return Some(Dimension::new(ident.text.as_str(), size));
        }
        let span = self.span(ident.span);
        let message = format!("The dimension `{}` has no size", ident.text);
        let mut d = Diagnostic::error(Code::UnknownDimension, span, message);
        let others = self.dims.keys().map(String::as_str);
        let near = nearest(&ident.text, others.filter(|d| beside.iter().all(|b| b.text != *d)));
        if let Some(near) = near {
            d = d.hint(Hint::edit(format!("Write `{near}`."), span, written(near)));
        }
        if self.origin.is_none() {
            // After the last size of `dims`, or in a line of its own at the top.
            let pair = format!("{}:8", written(&ident.text));
            let (place, mend) = match self.dims_end {
                Some(end) => (Span::new(end, end), format!(" {pair}")),
                None => (Span::new(0, 0), format!("dims {pair}\n")),
            };
            d = d.hint(Hint::edit(format!("Give it a size: {pair}."), place, mend));
        }
        self.diagnostics.push(d);
        None
    }

    /// The shape with these dimensions.
    pub fn shape(&mut self, idents: &[Ident]) -> Option<Shape> {
        if idents.len() > MAX_RANK {
            let span = idents[0].span.join(idents[idents.len() - 1].span);
            let message =
                format!("A tensor has at most {MAX_RANK} dimensions, not {}", idents.len());
            self.complain(Code::TooLarge, span, message);
            return None;
        }
        let dims: Vec<Option<Dimension>> =
            idents.iter().map(|i| self.dimension(i, idents)).collect();
        let dims: Option<Vec<Dimension>> = dims.into_iter().collect();
        match Shape::new(dims?) {
            Ok(shape) if shape.elements() < MAX_ELEMENTS => Some(shape),
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

    /// Reports that a function is not called like this.
    pub fn wrong<T>(&mut self, function: Function, span: Span) -> Option<T> {
        let message = format!("`{}` is called as {}", function.name, function.form);
        let hint = Hint::new(format!("{}: {}.", function.name, function.about));
        let d = Diagnostic::error(Code::BadArguments, self.span(span), message);
        self.diagnostics.push(d.hint(hint));
        None
    }
}
