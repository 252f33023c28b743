//! Declarations and assignments.

use super::{Builder, MAX_NODES};
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::expr::scope::{MAX_ELEMENTS, Scope};
use crate::graph::initial;
use crate::graph::op::{Element, Init, Op, Phase, Role};
use crate::graph::options::Reader;
use crate::graph::{Context, Node};
use crate::index::{Idx as _, NodeId};
use crate::layout::dims::{Name, Shape};
use crate::spec::ast::{Decl, Expr, Ident};
use crate::spec::lex::written;

impl Builder<'_> {
    pub(super) fn full_name(&self, name: &str) -> Name {
        Name::from(format!("{}{name}", self.prefix))
    }

    /// Reports a name that is taken; a block may assign a name of its surroundings anew.
    fn is_free(&mut self, name: &Ident, span: Span) -> bool {
        let full = self.full_name(&name.text);
        if self.built.graph.find(&full).is_none() {
            return true;
        }
        let message = format!("There is already a tensor `{full}`; give this one another name");
        let mut d = Diagnostic::error(Code::Duplicate, span, message);
        let other = (2..).map(|i| format!("{}{i}", name.text));
        let free = |other: &String| self.built.graph.find(&self.full_name(other)).is_none();
        if let Some(other) = other.take(100).find(free).filter(|_| self.origin.is_none()) {
            let mend = written(&other);
            d = d.hint(Hint::edit(format!("Call it `{other}`."), name.span, mend));
        }
        self.diagnostics.push(d);
        false
    }

    pub(super) fn scope(&mut self) -> Scope<'_> {
        Scope {
            graph: &mut self.built.graph,
            dims: &self.dims,
            names: self.names.visible(),
            broken: &self.broken,
            dim_spans: &self.built.dim_spans,
            dims_end: self.dims_end,
            diagnostics: self.diagnostics,
            origin: self.origin,
            take_whole: self.cut.as_ref().and_then(|cut| cut.whole.as_ref()),
        }
    }

    pub(super) fn declare(&mut self, decl: &Decl, role: Role) {
        let span = self.origin.unwrap_or(decl.span);
        let Some(shape) = self.scope().shape(&decl.dims) else {
            self.broken.insert(decl.name.text.clone());
            return;
        };
        if !self.is_free(&decl.name, span) {
            return;
        }
        let elements = shape.elements();
        let what = match role {
            Role::Input => "input",
            Role::Slot => "state",
            Role::Parameter | Role::Activation | Role::Gradient | Role::Loss => "param",
        };
        let given = Reader::new(what, &decl.options, &["init"], self.diagnostics).get("init");
        let init = given.and_then(|o| initial::init(o, elements, self.diagnostics));
        let uninitialised = init.is_none();
        let name = self.full_name(&decl.name.text);
        let id = self.built.graph.push(Node {
            op: Op::Source(init.unwrap_or(Init::Constant(0.0))),
            inputs: Vec::new(),
            shape,
            name,
            role,
            phase: Phase::Forward,
            span,
            layer: 0,
            is_named: true,
        });
        if uninitialised {
            self.uninitialised.push(id);
        }
        self.names.insert(decl.name.text.clone(), id);
    }

    pub(super) fn assign(&mut self, name: &Ident, dims: Option<&[Ident]>, value: &Expr) {
        if self.built.graph.nodes().len() > MAX_NODES {
            return;
        }
        let span = self.origin.unwrap_or(name.span);
        if !self.is_free(name, span) {
            return;
        }
        let full = self.full_name(&name.text);
        let first_new = self.built.graph.nodes().len();
        let cx = Context {
            base: Name::clone(&full),
            role: Role::Activation,
            phase: Phase::Forward,
            span,
        };
        let Some(mut id) = self.scope().expr(&cx, value) else {
            self.broken.insert(name.text.clone());
            return;
        };
        if !self.is_storable(first_new, span) {
            self.broken.insert(name.text.clone());
            return;
        }
        if let Some(dims) = dims {
            let Some(shape) = self.scope().shape(dims) else { return };
            let Some(stated) = self.stated(&cx, id, shape) else { return };
            id = stated;
        }
        let is_new = crate::index::Idx::index(id) >= first_new;
        if !is_new {
            let shape = self.built.graph.shape(id).clone();
            id = self.built.graph.add(&cx, Op::Elementwise(Element::Identity), vec![id], shape);
        }
        let role = if *full == *"loss" { Role::Loss } else { Role::Activation };
        self.built.graph.rename_node(id, &full, role);
        self.names.insert(name.text.clone(), id);
        if role == Role::Loss {
            let shape = self.built.graph.shape(id);
            if shape.rank() > 0 {
                let message = format!("The loss is a single number, this one is {shape}");
                let d = Diagnostic::error(Code::ShapeMismatch, span, message);
                self.diagnostics.push(d.hint(Hint::edit(
                    "Take its mean.",
                    value.span,
                    format!("mean({})", crate::spec::print::expression(value)),
                )));
                return;
            }
            self.built.graph.loss = Some(id);
        }
    }

    /// A tensor with the dimensions that the text states for it.
    pub(super) fn stated(&mut self, cx: &Context, id: NodeId, shape: Shape) -> Option<NodeId> {
        if let Some(message) = misfit(self.built.graph.shape(id), &shape) {
            self.diagnostics.push(Diagnostic::error(Code::ShapeMismatch, cx.span, message));
            return None;
        }
        if *self.built.graph.shape(id) == shape {
            return Some(id);
        }
        let op = Op::Elementwise(Element::Identity);
        Some(self.built.graph.add(cx, op, vec![id], shape))
    }

    /// Reports the first of the nodes from `first` on whose tensor is too large.
    pub(super) fn is_storable(&mut self, first: usize, span: Span) -> bool {
        let graph = &self.built.graph;
        let new = (first..graph.nodes().len()).map(|i| graph.shape(NodeId::new(i)));
        let Some(shape) = new.into_iter().find(|s| s.elements() >= MAX_ELEMENTS) else {
            return true;
        };
        let message = format!("This makes a tensor {shape}, which has more than 2^52 elements");
        let hint = Hint::new("Sum over a dimension before others come in: einsum(x, y -> …).");
        self.diagnostics.push(Diagnostic::error(Code::TooLarge, span, message).hint(hint));
        false
    }
}

/// Why a result of shape `has` cannot be stored as `wants`.
fn misfit(has: &Shape, wants: &Shape) -> Option<String> {
    let lost = has.dims().iter().find(|d| !wants.has(&d.name))?;
    Some(format!(
        "The expression is {has}, which has the dimension `{}` that {wants} lacks",
        lost.name
    ))
}
