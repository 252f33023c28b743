//! Short words for the nodes that updates are made of.

use super::Rate;
use crate::diag::Span;
use crate::graph::op::{Element, Init, Op, Phase, Reduction, Role};
use crate::graph::{Context, Graph, Node};
use crate::index::NodeId;
use crate::layout::dims::{Name, Shape};

/// Appends nodes of the update to a graph.
pub(super) struct Maker<'g> {
    pub(super) graph: &'g mut Graph,
    pub(super) cx: Context,
}

/// Where nodes called `base/1`, `base/2`, … belong.
pub(super) fn context(base: &str, role: Role, span: Span) -> Context {
    Context { base: Name::from(base), role, phase: Phase::Update, span }
}

impl<'g> Maker<'g> {
    /// For what all parameters share.
    pub(super) fn shared(graph: &'g mut Graph, base: &str, role: Role, span: Span) -> Self {
        Self { graph, cx: context(base, role, span) }
    }

    /// For the update of one parameter.
    pub(super) fn of(graph: &'g mut Graph, parameter: NodeId) -> Self {
        graph.layer = graph.node(parameter).layer;
        let node = graph.node(parameter);
        let cx = context(&format!("update/{}", node.name), Role::Slot, node.span);
        Self { graph, cx }
    }

    /// State of the shape of its parameter, at first zero, called `KIND/PARAMETER`.
    pub(super) fn slot(&mut self, kind: &str, parameter: NodeId) -> NodeId {
        let shape = self.graph.shape(parameter).clone();
        self.slot_of(kind, parameter, shape)
    }

    /// The same of another shape.
    pub(super) fn slot_of(&mut self, kind: &str, parameter: NodeId, shape: Shape) -> NodeId {
        let of = self.graph.node(parameter);
        let node = Node {
            op: Op::Source(Init::Constant(0.0)),
            inputs: Vec::new(),
            shape,
            name: Name::from(format!("{kind}/{}", of.name)),
            role: Role::Slot,
            phase: Phase::Update,
            span: of.span,
            layer: of.layer,
            is_named: false,
        };
        self.graph.push(node)
    }

    /// A constant.
    pub(super) fn number(&mut self, value: f64) -> NodeId {
        self.graph.constant(&self.cx, value)
    }

    /// Element by element, broadcast by name.
    pub(super) fn element(&mut self, element: Element, inputs: &[NodeId]) -> NodeId {
        self.graph.elementwise(&self.cx, element, inputs)
    }

    /// The same with a number as its second input.
    pub(super) fn with(&mut self, element: Element, x: NodeId, number: f64) -> NodeId {
        let number = self.number(number);
        self.element(element, &[x, number])
    }

    /// x·by
    pub(super) fn scaled(&mut self, x: NodeId, by: f64) -> NodeId {
        self.with(Element::Mul, x, by)
    }

    /// x·r(t)
    pub(super) fn times_rate(&mut self, x: NodeId, rate: Rate) -> NodeId {
        match rate {
            Rate::Fixed(rate) => self.scaled(x, rate),
            Rate::Scheduled(rate) => self.element(Element::Mul, &[x, rate]),
        }
    }

    /// decay·old + (1 − decay)·new
    pub(super) fn average(&mut self, old: NodeId, new: NodeId, decay: f64) -> NodeId {
        let old = self.scaled(old, decay);
        let new = self.scaled(new, 1.0 - decay);
        self.element(Element::Add, &[old, new])
    }

    /// x combined over the dimensions that `kept` lacks.
    pub(super) fn reduce(&mut self, x: NodeId, reduction: Reduction, kept: Shape) -> NodeId {
        self.graph.add(&self.cx, Op::Reduce(reduction), vec![x], kept)
    }

    /// Root of the mean of squares of all elements.
    pub(super) fn root_mean_square(&mut self, x: NodeId) -> NodeId {
        let square = self.element(Element::Square, &[x]);
        let mean = self.reduce(square, Reduction::Mean, Shape::scalar());
        self.element(Element::Sqrt, &[mean])
    }

    /// Puts a new value in the place of a slot or parameter, for the next step.
    pub(super) fn assign(&mut self, target: NodeId, new: NodeId) {
        let shape = self.graph.shape(target).clone();
        self.graph.add(&self.cx, Op::Assign, vec![target, new], shape);
    }

    /// Calls a node by this name, unless the study has a tensor of that name.
    pub(super) fn name(&mut self, id: NodeId, name: &str) {
        if self.graph.find(name).is_none() {
            self.graph.rename_node(id, &Name::from(name), self.cx.role);
        }
    }
}
