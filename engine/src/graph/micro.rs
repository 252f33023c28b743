//! Micro-batches: a mini-batch taken in parts, whose gradients are summed and applied once.
//!
//! The graph is that of one micro-batch. What differs from one to the next *varies*; the rest, the
//! parameters first of all, is there once. An `Accumulate` leads from the one to the other: it sums
//! over the micro-batches. So a parameter's gradient is accumulated, and so are the sums over the
//! batch that a loss is made of, and its means, each micro-batch's with its share of the rows as
//! its weight:
//!
//! ```text
//!   x, target ──▶ mean ──▶ · share ──▶ Accumulate ──▶ + 0.1 · sum(w²) ──▶ loss
//!                   │ backward, from share                 │
//!                   ▼                                      │ once
//!               grad/w/micro ────────▶ Accumulate ──▶ + ◀──┘ ──▶ grad/w ──▶ update of w
//! ```
//!
//! This is the loss, and the gradient, of the whole mini-batch. What combines rows in another way,
//! such as batch norm, does so within each micro-batch (Huang et al., "GPipe", 2018, section 2).

use super::op::{Element, Op, Reduction};
use super::{Context, Graph};
use crate::diag::Span;
use crate::index::{Idx as _, NodeId};
use crate::layout::dims::{Dimension, Name, Shape};
use crate::spec::ast::{Ident, Opt, OptValue};
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
    /// How many are asked for; the rows may make fewer.
    pub asked: u64,
}

impl MicroBatches {
    /// At most `count` parts, as even as parts of one size and a smaller last one can be.
    pub fn new(dim: Name, whole: u64, count: u64) -> Self {
        Self { dim, whole, size: whole.div_ceil(count.max(1)).max(1), asked: count.max(1) }
    }

    /// What `train` says of them.
    pub fn options(&self, span: Span) -> [Opt; 2] {
        let option = |key: &str, value| {
            let key = Ident { text: key.to_owned(), span };
            Opt { key, value, value_span: span, span }
        };
        let count = OptValue::Number(self.count() as f64);
        [option("micro_batches", count), option("batch", OptValue::Word(self.dim.to_string()))]
    }

    /// Whether so many rows make as many micro-batches as asked for, each of which, the last one too,
    /// has rows for so many equal parts.
    pub const fn makes(whole: u64, count: u64, parts: u64) -> bool {
        if count == 0 || Self::made(whole, count) != count {
            return false;
        }
        let size = whole.div_ceil(count);
        size.is_multiple_of(parts) && (whole - (count - 1) * size).is_multiple_of(parts)
    }

    /// How many parts so many rows make where `count` are asked for.
    pub const fn made(whole: u64, count: u64) -> u64 {
        if whole == 0 || count == 0 { 0 } else { whole.div_ceil(whole.div_ceil(count)) }
    }

    /// How many there are.
    pub const fn count(&self) -> u64 {
        self.whole.div_ceil(self.size)
    }

    /// Rows of the last.
    pub const fn last(&self) -> u64 {
        self.whole - (self.count() - 1) * self.size
    }

    /// Whether the last has fewer rows than the others.
    pub const fn is_ragged(&self) -> bool {
        self.last() != self.size
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
        // What has rows is of one micro-batch, even where every row is the same.
        let from_rows =
            || node.shape.has(&micro.dim) || node.inputs.iter().any(|i| self.known[i.index()]);
        matches!(node.op, Op::Share | Op::One) || (node.op != Op::Accumulate && from_rows())
    }
}

/// How a tensor without rows comes from the rows of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Combined {
    /// Where rows are combined for the last time: what it is made of.
    pub last: Vec<NodeId>,
    /// What combines rows of one micro-batch otherwise than the whole batch's would be.
    pub others: Vec<NodeId>,
}

/// Which tensors on the way to this one combine the rows of the batch.
#[expect(clippy::wildcard_enum_match_arm, reason = "what combines no rows is passed over")]
pub fn combined(graph: &Graph, of: NodeId) -> Combined {
    let mut out = Combined::default();
    let Some(micro) = &graph.micro else { return out };
    let mut varying = Varying::default();
    let varies: Vec<bool> = (0..=of.index()).map(|i| varying.of(graph, NodeId::new(i))).collect();
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
    // From there back to where rows are combined for the last time.
    let mut last = vec![false; varies.len()];
    // What goes into rows that are combined later, even if it is also read after the last time.
    let mut again = vec![false; varies.len()];
    let mut on_the_way = vec![false; varies.len()];
    (last[of.index()], on_the_way[of.index()]) = (true, true);
    for id in (0..varies.len()).rev().map(NodeId::new).filter(|id| varies[id.index()]) {
        if !on_the_way[id.index()] {
            continue;
        }
        let node = graph.node(id);
        let inputs = varying_inputs(id);
        let is_last = last[id.index()];
        let along = match &node.op {
            Op::Cumsum(dim, _) | Op::TopK { from: dim, .. } | Op::Gather(dim) => Some(dim),
            Op::Window(window) => Some(&window.from),
            Op::Unwindow(window) => Some(&window.to),
            _ => None,
        };
        let is_along_rows =
            along.is_some_and(|dim| inputs.iter().any(|i| rows[i.index()].contains(dim)));
        // Rows that are made of something else are the first ones in every micro-batch.
        let is_made_of_others = inputs.is_empty() && !has_rows_of_its_own(&node.op);
        let adds_up = is_sum(&node.op) || node.op == Op::Reduce(Reduction::Mean);
        if combines[id.index()] && is_last {
            out.last.push(id);
        }
        let is_sum_of_all = is_last && adds_up && !again[id.index()];
        let combines_otherwise = combines[id.index()] && !is_sum_of_all;
        if combines_otherwise || is_along_rows || is_made_of_others {
            out.others.push(id);
        }
        for input in inputs {
            on_the_way[input.index()] = true;
            again[input.index()] |= again[id.index()] || combines[id.index()];
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
    let mut rows: BTreeSet<Name> = match &node.op {
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
    };
    if node.shape.has(&micro.dim) {
        rows.insert(Name::clone(&micro.dim));
    }
    rows
}

/// Whether each row that an operation makes of what has none is that of the whole batch.
const fn has_rows_of_its_own(op: &Op) -> bool {
    matches!(
        op,
        Op::Source(_) | Op::Index | Op::Noise(..) | Op::Elementwise(_) | Op::Share | Op::One
    )
}

/// Whether an operation that combines rows adds them up.
const fn is_sum(op: &Op) -> bool {
    matches!(op, Op::Reduce(Reduction::Sum) | Op::Einsum)
}

/// A node as the whole mini-batch makes it: where rows are combined for the last time it is
/// accumulated, sums as they are and means with their shares, and what follows is computed anew.
pub fn over_mini_batch(graph: &mut Graph, cx: &Context, id: NodeId, combined: &Combined) -> NodeId {
    let mut rebuilding =
        Rebuilding { combined, varying: Varying::default(), done: BTreeMap::new() };
    rebuilding.node(graph, cx, id)
}

struct Rebuilding<'c> {
    combined: &'c Combined,
    varying: Varying,
    done: BTreeMap<NodeId, NodeId>,
}

impl Rebuilding<'_> {
    fn node(&mut self, graph: &mut Graph, cx: &Context, id: NodeId) -> NodeId {
        if !self.varying.of(graph, id) {
            return id;
        }
        if let Some(&new) = self.done.get(&id) {
            return new;
        }
        let node = graph.node(id).clone();
        let new = if node.inputs.is_empty() || self.combined.last.contains(&id) {
            graph.layer = node.layer;
            let part = if is_sum(&node.op) { id } else { shared(graph, cx, id) };
            let shape = graph.shape(part).clone();
            graph.add(cx, Op::Accumulate, vec![part], shape)
        } else {
            let inputs = node.inputs.iter().map(|&input| self.node(graph, cx, input)).collect();
            graph.layer = node.layer;
            graph.add(cx, node.op, inputs, node.shape)
        };
        self.done.insert(id, new);
        new
    }
}

/// A micro-batch's part of a mean.
fn shared(graph: &mut Graph, cx: &Context, id: NodeId) -> NodeId {
    let share = graph.add(cx, Op::Share, Vec::new(), Shape::scalar());
    graph.elementwise(cx, Element::Mul, &[id, share])
}
