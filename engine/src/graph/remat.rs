//! Re-materialization: what a marked block computes is let go after the forward pass, and computed
//! again from what went into the block when the backward pass needs it. Memory for time, as in Chen
//! et al., "Training Deep Nets with Sublinear Memory Cost" (2016).
//!
//! A copy stands for a node of a block (`remat/h/1` for `h`) wherever the backward pass reads it.
//! Random masks repeat, since a copy keeps the name that its numbers follow from.

use super::op::{Op, Phase};
use super::{Context, Graph};
use crate::index::{Idx as _, NodeId};
use crate::layout::dims::Name;
use std::collections::{BTreeMap, BTreeSet};

/// The copies made so far.
#[derive(Debug)]
pub struct Remat {
    /// For each node of the forward pass, the block that computes it, if it is marked.
    block_of: Vec<Option<usize>>,
    copies: BTreeMap<NodeId, NodeId>,
}

impl Remat {
    /// No copies yet of the first `count` nodes.
    pub fn new(graph: &Graph, count: usize) -> Self {
        let mut block_of = vec![None; count];
        for (block, range) in graph.remat_blocks.iter().enumerate() {
            for of in block_of.iter_mut().take(range.end).skip(range.start) {
                *of = Some(block);
            }
        }
        Self { block_of, copies: BTreeMap::new() }
    }

    /// The node whose result the backward pass of `reader` reads for that of `id`. What another
    /// block computed went into the reader's block and is kept.
    pub fn now(&mut self, graph: &mut Graph, reader: NodeId, id: NodeId) -> NodeId {
        let Some(block) = self.block_of.get(reader.index()).copied().flatten() else { return id };
        let mut missing = BTreeSet::new();
        let mut open = vec![id];
        while let Some(at) = open.pop() {
            if self.is_let_go(graph, at, block)
                && !self.copies.contains_key(&at)
                && missing.insert(at)
            {
                open.extend(&graph.node(at).inputs);
            }
        }
        for at in missing {
            let node = graph.node(at).clone();
            graph.layer = node.layer;
            let inputs = node.inputs.iter().map(|&i| self.copy(i, block)).collect();
            let op = if let Op::Noise(noise, None) = node.op {
                Op::Noise(noise, Some(Name::clone(&node.name)))
            } else {
                node.op
            };
            let cx = Context {
                base: Name::from(format!("remat/{}", node.name)),
                role: node.role,
                phase: Phase::Backward,
                span: node.span,
            };
            let copy = graph.add(&cx, op, inputs, node.shape);
            self.copies.insert(at, copy);
        }
        self.copy(id, block)
    }

    fn copy(&self, id: NodeId, block: usize) -> NodeId {
        let own = self.block_of.get(id.index()) == Some(&Some(block));
        self.copies.get(&id).copied().filter(|_| own).unwrap_or(id)
    }

    fn is_let_go(&self, graph: &Graph, id: NodeId, block: usize) -> bool {
        let is_computed = !matches!(
            graph.node(id).op,
            Op::Source(_) | Op::Constant(_) | Op::StepNumber | Op::Training | Op::Share | Op::One
        );
        is_computed && self.block_of.get(id.index()) == Some(&Some(block))
    }

    /// Removes the copies that nothing reads.
    pub fn finish(self, graph: &mut Graph) {
        if self.copies.is_empty() {
            return;
        }
        let copies: BTreeSet<NodeId> = self.copies.into_values().collect();
        let mut keep = vec![false; graph.nodes().len()];
        for id in graph.nodes().ids().rev() {
            keep[id.index()] |= !copies.contains(&id);
            if keep[id.index()] {
                for input in &graph.node(id).inputs {
                    keep[input.index()] = true;
                }
            }
        }
        graph.retain(&keep);
    }
}
