//! Optimizers as graph nodes: from parameters and gradients to new parameters.
//!
//! | optimizer | update of a parameter p with gradient g, step number t from 1 |
//! |---|---|
//! | sgd | p −= rate·g |
//! | momentum | m = momentum·m + g; p −= rate·m |
//! | adam | m = β₁m + (1−β₁)g; v = β₂v + (1−β₂)g²; p −= rate·(m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε) (Kingma & Ba 2015) |
//!
//! Slots start at zero and are laid out as their parameter.

use super::op::{Element, Init, Op, Phase, Role};
use super::{Context, Graph, Node};
use crate::diag::Span;
use crate::index::NodeId;
use crate::layout::dims::{Name, Shape};

/// The optimizer of a study with its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimizer {
    /// Plain gradient descent.
    Sgd,
    /// With heavy-ball momentum.
    Momentum {
        /// Share of the last step that is kept.
        momentum: f64,
    },
    /// Adam with bias correction.
    Adam {
        /// Decay of the mean of gradients.
        beta1: f64,
        /// Decay of the mean of their squares.
        beta2: f64,
        /// Added to the root, against division by zero.
        epsilon: f64,
    },
}

impl Optimizer {
    /// The learning rate used where the study gives none.
    pub const fn default_rate(self) -> f64 {
        match self {
            Self::Sgd | Self::Momentum { .. } => 0.1,
            Self::Adam { .. } => 0.001,
        }
    }
}

/// Appends the update of every parameter that has a gradient.
pub fn update(graph: &mut Graph, optimizer: Optimizer, rate: f64) {
    let step = match optimizer {
        Optimizer::Adam { .. } => Some(step_number(graph)),
        Optimizer::Sgd | Optimizer::Momentum { .. } => None,
    };
    for (parameter, gradient) in graph.gradients.clone() {
        let cx = Context {
            base: Name::from(format!("update/{}", graph.node(parameter).name)),
            role: Role::Slot,
            phase: Phase::Update,
            span: graph.node(parameter).span,
        };
        let mut make = Maker { graph, cx };
        let direction = match (optimizer, step) {
            (Optimizer::Momentum { momentum }, _) => {
                let m = make.slot("momentum.m", parameter);
                let kept = make.scaled(m, momentum);
                let new = make.element(Element::Add, &[kept, gradient]);
                make.assign(m, new);
                new
            }
            (Optimizer::Adam { beta1, beta2, epsilon }, Some(step)) => {
                let m = make.slot("adam.m", parameter);
                let v = make.slot("adam.v", parameter);
                let square = make.element(Element::Square, &[gradient]);
                let m_new = make.average(m, gradient, beta1);
                let v_new = make.average(v, square, beta2);
                make.assign(m, m_new);
                make.assign(v, v_new);
                let m_hat = make.corrected(m_new, step, beta1);
                let v_hat = make.corrected(v_new, step, beta2);
                let root = make.element(Element::Sqrt, &[v_hat]);
                let epsilon = make.number(epsilon);
                let floor = make.element(Element::Add, &[root, epsilon]);
                make.element(Element::Div, &[m_hat, floor])
            }
            (Optimizer::Sgd | Optimizer::Adam { .. }, _) => gradient,
        };
        let change = make.scaled(direction, rate);
        let new = make.element(Element::Sub, &[parameter, change]);
        make.assign(parameter, new);
    }
}

fn step_number(graph: &mut Graph) -> NodeId {
    let cx = Context {
        base: Name::from("update/step"),
        role: Role::Slot,
        phase: Phase::Update,
        span: Span::default(),
    };
    graph.add(&cx, Op::StepNumber, Vec::new(), Shape::scalar())
}

struct Maker<'g> {
    graph: &'g mut Graph,
    cx: Context,
}

impl Maker<'_> {
    fn slot(&mut self, kind: &str, parameter: NodeId) -> NodeId {
        let of = self.graph.node(parameter);
        let node = Node {
            op: Op::Source(Init::Constant(0.0)),
            inputs: Vec::new(),
            shape: of.shape.clone(),
            name: Name::from(format!("{kind}/{}", of.name)),
            role: Role::Slot,
            phase: Phase::Update,
            span: of.span,
            is_named: false,
        };
        self.graph.push(node)
    }

    fn number(&mut self, value: f64) -> NodeId {
        self.graph.constant(&self.cx, value)
    }

    fn element(&mut self, element: Element, inputs: &[NodeId]) -> NodeId {
        self.graph.elementwise(&self.cx, element, inputs)
    }

    fn scaled(&mut self, x: NodeId, by: f64) -> NodeId {
        let by = self.number(by);
        self.element(Element::Mul, &[x, by])
    }

    /// decay·old + (1 − decay)·new
    fn average(&mut self, old: NodeId, new: NodeId, decay: f64) -> NodeId {
        let old = self.scaled(old, decay);
        let new = self.scaled(new, 1.0 - decay);
        self.element(Element::Add, &[old, new])
    }

    /// x / (1 − decayᵗ)
    fn corrected(&mut self, x: NodeId, step: NodeId, decay: f64) -> NodeId {
        let divisor = self.element(Element::OneMinusPower(decay), &[step]);
        self.element(Element::Div, &[x, divisor])
    }

    fn assign(&mut self, target: NodeId, new: NodeId) {
        let shape = self.graph.shape(target).clone();
        self.graph.add(&self.cx, Op::Assign, vec![target, new], shape);
    }
}
