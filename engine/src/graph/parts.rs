//! How the contributions to a gradient add up: over the users of a tensor, and over micro-batches.
//!
//! What does not vary from micro-batch to micro-batch has its gradient accumulated over them. Where
//! the loss is made of an accumulated tensor, each micro-batch's backward pass begins with what the
//! loss changes by for a change of that: 0.1 in 0.1 · sum. If that depends on accumulated tensors
//! itself, as in sum / count, it is known only when all micro-batches are through: then they begin
//! with 1, and what is accumulated is multiplied by it. That takes a single number: for a tensor, as
//! in sum(square(sums of rows)), each number would need a backward pass of its own.

use super::micro::Varying;
use super::op::{Element, Op, Phase, Role};
use super::{Context, Graph};
use crate::index::{NodeId, Stage};
use crate::layout::dims::{Name, Shape};
use std::collections::BTreeSet;

/// Where the parts of the gradient by `of` belong; the whole is `grad/NAME`.
pub(super) fn context(graph: &Graph, of: NodeId) -> Context {
    let node = graph.node(of);
    Context {
        base: Name::from(format!("grad/{}/part", node.name)),
        role: Role::Gradient,
        phase: Phase::Backward,
        span: node.span,
    }
}

/// What one user contributes to the gradient by a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub gradient: NodeId,
    /// Whether each micro-batch contributes its own: the user is computed for each.
    pub is_of_micro_batch: bool,
}

/// How contributions add up, over users and micro-batches.
#[derive(Default)]
pub(super) struct Sums {
    pub varying: Varying,
    /// What the backward passes of micro-batches begin at.
    pub begun: Vec<NodeId>,
    /// What all that they accumulate is multiplied by.
    pub factor: Option<NodeId>,
    /// Whether that is not a single number.
    is_entangled: bool,
}

impl Sums {
    /// Whether no micro-batch can know what to begin at.
    pub(super) fn are_entangled(&self) -> bool {
        self.is_entangled || (self.factor.is_some() && self.begun.len() > 1)
    }

    /// The sum of what a node's users contribute: first of those of one stage there, and over the
    /// micro-batches if the node itself does not vary, so that only sums go to its own stage.
    pub(super) fn total(&mut self, graph: &mut Graph, id: NodeId, parts: &[Part]) -> NodeId {
        let cx = context(graph, id);
        let mut groups: Vec<(Stage, bool, Vec<NodeId>)> = Vec::new();
        for part in parts {
            let key = (graph.stage(part.gradient), part.is_of_micro_batch);
            match groups.iter_mut().find(|g| (g.0, g.1) == key) {
                Some(group) => group.2.push(part.gradient),
                None => groups.push((key.0, key.1, vec![part.gradient])),
            }
        }
        let own = graph.layer;
        let mut sums = Vec::new();
        for (_, is_of_micro_batch, parts) in groups {
            graph.layer = graph.node(parts[0]).layer;
            let mut sum = parts[0];
            for &part in &parts[1..] {
                sum = graph.elementwise(&cx, Element::Add, &[sum, part]);
            }
            if is_of_micro_batch && !self.varying.of(graph, id) {
                let shape = graph.shape(sum).clone();
                sum = graph.add(&cx, Op::Accumulate, vec![sum], shape);
                if let Some(factor) = self.factor {
                    sum = graph.elementwise(&cx, Element::Mul, &[sum, factor]);
                }
            }
            sums.push(sum);
        }
        graph.layer = own;
        let mut total = sums[0];
        for &sum in &sums[1..] {
            total = graph.elementwise(&cx, Element::Add, &[total, sum]);
        }
        total
    }

    /// What the backward pass of a micro-batch begins with at a tensor that is accumulated: its own
    /// copy of the gradient by the sum, or 1 where that is not known yet.
    pub(super) fn begin(&mut self, graph: &mut Graph, part: NodeId, gradient: NodeId) -> NodeId {
        let cx = context(graph, part);
        self.begun.push(part);
        let one = graph.add(&cx, Op::One, Vec::new(), Shape::scalar());
        if follows_accumulated(graph, gradient) {
            self.factor = Some(gradient);
            self.is_entangled |= graph.shape(part).rank() > 0;
            one
        } else if graph.node(gradient).op == Op::Constant(1.0) {
            one
        } else {
            graph.elementwise(&cx, Element::Mul, &[gradient, one])
        }
    }
}

/// Whether a node can be computed only when all micro-batches are through.
fn follows_accumulated(graph: &Graph, id: NodeId) -> bool {
    let (mut open, mut seen) = (vec![id], BTreeSet::from([id]));
    while let Some(at) = open.pop() {
        if graph.node(at).op == Op::Accumulate {
            return true;
        }
        open.extend(graph.node(at).inputs.iter().copied().filter(|&input| seen.insert(input)));
    }
    false
}
