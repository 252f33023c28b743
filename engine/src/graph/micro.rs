//! Micro-batches: a mini-batch taken in parts, whose gradients are summed and applied once.
//!
//! The graph is that of one micro-batch. What differs from one to the next *varies*; the rest, the
//! parameters first of all, is there once. An `Accumulate` leads from the one to the other: it sums
//! over the micro-batches. So a parameter's gradient is accumulated, and so is the loss, each
//! micro-batch's with its share of the rows as its weight:
//!
//! ```text
//!   x, target ──▶ loss/micro ──▶ · share ──▶ Accumulate ──▶ loss
//!                     │ backward, from share
//!                     ▼
//!                 grad/w/micro ────────────▶ Accumulate ──▶ grad/w ──▶ update of w, once
//! ```
//!
//! With the loss a mean (or a sum) over the batch this is the gradient of the whole mini-batch. What
//! combines rows in another way, such as batch norm, does so within each micro-batch (Huang et al.,
//! "GPipe", 2018, section 2).

use super::op::{Element, Op, Reduction};
use super::{Context, Graph};
use crate::index::{Idx as _, NodeId};
use crate::layout::dims::{Dimension, Name, Shape};
use std::collections::{BTreeMap, BTreeSet};

/// How a mini-batch is taken in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MicroBatches {
    /// The dimension that is cut.
    pub dim: Name,
    /// Rows of the mini-batch.
    pub whole: u64,
    /// Rows of a micro-batch; the last may have fewer.
    pub size: u64,
}

impl MicroBatches {
    /// At most `count` parts, as even as parts of one size and a smaller last one can be.
    pub fn new(dim: Name, whole: u64, count: u64) -> Self {
        Self { dim, whole, size: whole.div_ceil(count.max(1)).max(1) }
    }

    /// How many there are.
    pub const fn count(&self) -> u64 {
        self.whole.div_ceil(self.size)
    }

    /// Rows of the last.
    pub const fn last(&self) -> u64 {
        self.whole - (self.count() - 1) * self.size
    }

    /// The part of the mini-batch's rows that one has.
    pub fn share(&self, micro: u64) -> f64 {
        let rows = if micro + 1 == self.count() { self.last() } else { self.size };
        rows as f64 / self.whole as f64
    }

    /// A shape with the rows of the whole mini-batch.
    pub fn whole_shape(&self, shape: &Shape) -> Shape {
        let dims = shape.dims().iter().map(|d| {
            let size = if d.name == self.dim { self.whole } else { d.size };
            Dimension::new(Name::clone(&d.name), size)
        });
        Shape::new(dims.collect()).unwrap_or_default()
    }
}

/// Which nodes differ from micro-batch to micro-batch; grows with the graph.
#[derive(Debug, Clone, Default)]
pub struct Varying {
    known: Vec<bool>,
}

impl Varying {
    /// Whether a node does.
    pub fn of(&mut self, graph: &Graph, id: NodeId) -> bool {
        for i in self.known.len()..=id.index() {
            let varies = self.node(graph, NodeId::new(i));
            self.known.push(varies);
        }
        self.known[id.index()]
    }

    fn node(&self, graph: &Graph, id: NodeId) -> bool {
        let Some(micro) = &graph.micro else { return false };
        let node = graph.node(id);
        if let Op::Source(_) | Op::Index | Op::Noise(..) = node.op {
            return node.shape.has(&micro.dim);
        }
        let of_inputs = || node.inputs.iter().any(|i| self.known[i.index()]);
        node.op == Op::Share || (node.op != Op::Accumulate && of_inputs())
    }
}

/// How a loss comes from the rows of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Combined {
    /// Means over the batch that the loss adds up.
    pub means: Vec<NodeId>,
    /// Sums over it.
    pub sums: Vec<NodeId>,
    /// What combines rows otherwise, or is not a sum of the former.
    pub others: Vec<NodeId>,
}

/// Which tensors on the way to a loss combine the rows of the batch, and how.
#[expect(clippy::wildcard_enum_match_arm, reason = "what combines no rows is passed over")]
pub fn combined(graph: &Graph, loss: NodeId) -> Combined {
    let mut out = Combined::default();
    let Some(micro) = &graph.micro else { return out };
    let mut varying = Varying::default();
    let varies: Vec<bool> = (0..=loss.index()).map(|i| varying.of(graph, NodeId::new(i))).collect();
    let varying_inputs = |id: NodeId| {
        let inputs = graph.node(id).inputs.iter().copied();
        inputs.filter(|i| varies[i.index()]).collect::<Vec<NodeId>>()
    };
    // The dimensions along which each tensor's rows lie.
    let mut rows: Vec<BTreeSet<Name>> = Vec::with_capacity(varies.len());
    let mut combines = vec![false; varies.len()];
    for id in (0..varies.len()).map(NodeId::new) {
        let before: BTreeSet<Name> =
            varying_inputs(id).iter().flat_map(|i| rows[i.index()].iter().cloned()).collect();
        let own =
            if varies[id.index()] { rows_of(graph, micro, id, &before) } else { BTreeSet::new() };
        combines[id.index()] = own.is_empty() && !before.is_empty();
        rows.push(own);
    }
    // From the loss back to where rows are combined for the last time.
    let mut last = vec![false; varies.len()];
    let mut on_the_way = vec![false; varies.len()];
    (last[loss.index()], on_the_way[loss.index()]) = (true, true);
    for id in (0..varies.len()).rev().map(NodeId::new).filter(|id| varies[id.index()]) {
        if !on_the_way[id.index()] {
            continue;
        }
        let node = graph.node(id);
        let inputs = varying_inputs(id);
        let is_last = last[id.index()];
        let along_rows = matches!(&node.op, Op::Cumsum(dim, _) | Op::TopK { from: dim, .. }
            if inputs.iter().any(|i| rows[i.index()].contains(dim)));
        match &node.op {
            Op::Reduce(Reduction::Mean) if is_last && combines[id.index()] => out.means.push(id),
            Op::Reduce(Reduction::Sum) | Op::Einsum if is_last && combines[id.index()] => {
                out.sums.push(id);
            }
            _ if combines[id.index()] || along_rows => out.others.push(id),
            op if is_last && !inputs.is_empty() && !is_linear(op, inputs.len()) => {
                out.others.push(id);
            }
            _ => {}
        }
        for input in inputs {
            on_the_way[input.index()] = true;
            last[input.index()] |= is_last && !combines[id.index()];
        }
    }
    out
}

/// The dimensions of a tensor along which the rows lie, from those of its inputs.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "rows stay where they were unless an operation renames or joins them"
)]
fn rows_of(
    graph: &Graph,
    micro: &MicroBatches,
    id: NodeId,
    before: &BTreeSet<Name>,
) -> BTreeSet<Name> {
    let node = graph.node(id);
    let dims = || node.shape.dims().iter().map(|d| &d.name);
    match &node.op {
        Op::Source(_) | Op::Index | Op::Noise(..) => BTreeSet::from([Name::clone(&micro.dim)]),
        Op::Rename => {
            let old = graph.shape(node.inputs[0]).dims().iter();
            let kept = old.zip(dims()).filter(|(old, _)| before.contains(&old.name));
            kept.map(|(_, new)| Name::clone(new)).collect()
        }
        Op::Reshape => {
            let old = graph.shape(node.inputs[0]);
            let gone = before.iter().any(|name| !node.shape.has(name));
            let is_row = |n: &&Name| before.contains(*n) || (gone && !old.has(n));
            dims().filter(is_row).cloned().collect()
        }
        _ => before.iter().filter(|name| node.shape.has(name)).cloned().collect(),
    }
}

/// Whether sums pass through an operation so many of whose inputs vary.
#[expect(clippy::wildcard_enum_match_arm, reason = "an operation is not linear unless listed")]
fn is_linear(op: &Op, varying: usize) -> bool {
    match op {
        Op::Elementwise(Element::Identity | Element::Neg | Element::Add | Element::Sub)
        | Op::Reduce(Reduction::Sum | Reduction::Mean)
        | Op::Rename
        | Op::Reshape
        | Op::StopGradient => true,
        Op::Elementwise(Element::Mul | Element::Div) | Op::Einsum => varying == 1,
        _ => false,
    }
}

/// The sum of a node over the micro-batches, each weighed by its share of the rows if it is a mean.
pub fn accumulate(graph: &mut Graph, cx: &Context, id: NodeId, is_mean: bool) -> NodeId {
    let mut part = id;
    if is_mean {
        let share = graph.add(cx, Op::Share, Vec::new(), Shape::scalar());
        part = graph.elementwise(cx, Element::Mul, &[part, share]);
    }
    let shape = graph.shape(part).clone();
    graph.add(cx, Op::Accumulate, vec![part], shape)
}

/// A node as the whole mini-batch makes it: sums and means over the batch that it follows from are
/// accumulated, and what follows from these is computed anew.
pub fn over_mini_batch(graph: &mut Graph, cx: &Context, id: NodeId) -> NodeId {
    let mut varying = Varying::default();
    let mut done = BTreeMap::new();
    rebuilt(graph, cx, id, &mut varying, &mut done)
}

fn rebuilt(
    graph: &mut Graph,
    cx: &Context,
    id: NodeId,
    varying: &mut Varying,
    done: &mut BTreeMap<NodeId, NodeId>,
) -> NodeId {
    if !varying.of(graph, id) {
        return id;
    }
    if let Some(&new) = done.get(&id) {
        return new;
    }
    let node = graph.node(id).clone();
    let has_rows = |graph: &Graph, id: &NodeId| {
        graph.micro.as_ref().is_some_and(|m| graph.shape(*id).has(&m.dim))
    };
    let new = if node.inputs.is_empty() || node.inputs.iter().any(|i| has_rows(graph, i)) {
        graph.layer = node.layer;
        let is_sum = matches!(node.op, Op::Reduce(Reduction::Sum) | Op::Einsum);
        accumulate(graph, cx, id, !is_sum)
    } else {
        let inputs = node.inputs.iter().map(|&i| rebuilt(graph, cx, i, varying, done)).collect();
        graph.layer = node.layer;
        graph.add(cx, node.op, inputs, node.shape)
    };
    done.insert(id, new);
    new
}
