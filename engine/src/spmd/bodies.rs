//! In which body of the Program a node's step stands.
//!
//! Without micro-batches that is its phase. With them, what varies is computed for each, forward or
//! backward; what follows from the parameters alone before all of them; what follows from an
//! accumulated tensor after. A layout is changed where it is asked for, but what does not vary is
//! laid out once.

use super::program::{BodyKind, Entry};
use crate::graph::Graph;
use crate::graph::micro::{MicroBatches, Varying};
use crate::graph::op::{Op, Phase};
use crate::index::{BodyId, IdVec, Idx as _, NodeId};

/// The bodies of all nodes.
#[derive(Debug, Clone)]
pub struct Bodies {
    of: IdVec<NodeId, Place>,
    is_cut: bool,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    body: BodyKind,
    varies: bool,
    accumulates: bool,
}

impl Bodies {
    /// The bodies of a graph's nodes.
    pub fn of(graph: &Graph) -> Self {
        let mut varying = Varying::default();
        let mut late = vec![false; graph.nodes().len()];
        let mut of = IdVec::new();
        for (id, node) in graph.nodes().entries() {
            let varies = varying.of(graph, id);
            let accumulates = node.op == Op::Accumulate;
            late[id.index()] = accumulates
                || node.phase == Phase::Update
                || (!varies && node.inputs.iter().any(|i| late[i.index()]));
            let body = match node.phase {
                Phase::Update => BodyKind::End,
                Phase::Forward | Phase::Backward if graph.micro.is_none() => by_phase(node.phase),
                _ if varies || accumulates => by_phase(node.phase),
                _ if late[id.index()] => BodyKind::End,
                _ => BodyKind::Begin,
            };
            of.push(Place { body, varies, accumulates });
        }
        Self { of, is_cut: graph.micro.is_some() }
    }

    /// Where a node's step stands.
    pub fn of_node(&self, id: NodeId) -> BodyKind {
        self.of[id].body
    }

    /// Where a node's result is complete.
    pub fn of_result(&self, id: NodeId) -> BodyKind {
        if self.of[id].accumulates { BodyKind::End } else { self.of[id].body }
    }

    /// Where a node's result is laid out anew for a step in the body `asked`.
    pub fn of_relayout(&self, id: NodeId, asked: BodyKind) -> BodyKind {
        let once = self.is_cut && asked.varies() && !self.of[id].varies;
        if once { BodyKind::Begin } else { asked }
    }

    /// Whether a node's result is another in each micro-batch.
    pub fn varies(&self, id: NodeId) -> bool {
        self.of[id].varies
    }
}

const fn by_phase(phase: Phase) -> BodyKind {
    match phase {
        Phase::Forward => BodyKind::Forward,
        Phase::Backward => BodyKind::Backward,
        Phase::Update => BodyKind::End,
    }
}

/// The place of a body in the Program's list.
pub fn id(kind: BodyKind) -> BodyId {
    BodyId::new(kind as usize)
}

/// Each micro-batch forward and at once backward, so that the activations of only one are held.
pub fn order(micro: Option<&MicroBatches>) -> Vec<Entry> {
    let entry = |kind, micro| Entry { body: id(kind), micro };
    let count = micro.map_or(1, MicroBatches::count);
    let of_micro = |m| [entry(BodyKind::Forward, m), entry(BodyKind::Backward, m)].into_iter();
    let begin = [entry(BodyKind::Begin, 0)].into_iter();
    begin.chain((0..count).flat_map(of_micro)).chain([entry(BodyKind::End, 0)]).collect()
}
