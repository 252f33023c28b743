//! In which body of the Program a node's step stands.
//!
//! Without micro-batches that is its phase. With them, what varies is computed for each, forward or
//! backward; what follows from the parameters alone before all of them; what follows from an
//! accumulated tensor after. A layout is changed where it is asked for, but what does not vary is
//! laid out once. In a pipeline each stage has bodies of its own, and where the schedule asks for it
//! the gradients that other stages wait for come before those of the weights.

use super::cells::Cells;
use super::program::{Body, BodyKind, Entry};
use crate::graph::Graph;
use crate::graph::micro::{MicroBatches, Varying};
use crate::graph::op::{Op, Phase, Role};
use crate::index::{BodyId, IdVec, Idx as _, NodeId, Stage};
use crate::timeline::{Kind, Task};

/// The bodies of all nodes.
#[derive(Debug, Clone)]
pub struct Bodies {
    of: IdVec<NodeId, Place>,
    is_cut: bool,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    kind: BodyKind,
    varies: bool,
    accumulates: bool,
    /// Whether it follows from nothing that is fed or trained.
    is_fixed: bool,
}

impl Bodies {
    /// The bodies of a graph's nodes.
    pub fn of(graph: &Graph, cells: Option<&Cells>) -> Self {
        let mut varying = Varying::default();
        let mut late = vec![false; graph.nodes().len()];
        let mut of: IdVec<NodeId, Place> = IdVec::new();
        for (id, node) in graph.nodes().entries() {
            let varies = varying.of(graph, id);
            let accumulates = node.op == Op::Accumulate;
            late[id.index()] = accumulates
                || node.phase == Phase::Update
                || (!varies && node.inputs.iter().any(|i| late[i.index()]));
            let is_of_phase = graph.micro.is_none() || varies || accumulates;
            let kind = if is_of_phase || node.phase == Phase::Update {
                by_phase(node.phase)
            } else if late[id.index()] {
                BodyKind::End
            } else {
                BodyKind::Begin
            };
            let is_fixed = !matches!(node.op, Op::Source(_) | Op::Accumulate)
                && node.inputs.iter().all(|&i| of[i].is_fixed);
            of.push(Place { kind, varies, accumulates, is_fixed });
        }
        let mut bodies = Self { of, is_cut: graph.micro.is_some() };
        if let Some(cells) = cells {
            bodies.cut_backward(graph, cells.splits_backward());
        }
        bodies
    }

    /// Takes what is computed again, and the gradients of the weights, out of the backward bodies.
    fn cut_backward(&mut self, graph: &Graph, weights_apart: bool) {
        let mut is_awaited = vec![false; graph.nodes().len()];
        let users = graph.users();
        for (id, node) in graph.nodes().entries().rev() {
            if self.of[id].kind != BodyKind::Backward {
                continue;
            }
            if graph.remats_stages && node.role == Role::Activation {
                self.of[id].kind = BodyKind::Recompute;
                continue;
            }
            let stage = graph.stage(id);
            is_awaited[id.index()] |= users[id]
                .iter()
                .any(|&user| graph.stage(user) != stage && self.of[user].kind.varies());
            if is_awaited[id.index()] || !weights_apart {
                for &input in &node.inputs {
                    is_awaited[input.index()] |= graph.stage(input) == stage;
                }
            } else {
                self.of[id].kind = BodyKind::WeightGradient;
            }
        }
    }

    /// Where a node's step stands.
    pub fn of_node(&self, id: NodeId) -> BodyKind {
        self.of[id].kind
    }

    /// Where a node's result is complete.
    pub fn of_result(&self, id: NodeId) -> BodyKind {
        if self.of[id].accumulates { BodyKind::End } else { self.of[id].kind }
    }

    /// Where a node's result is laid out anew, or sent on, for a step in the body `asked`.
    pub fn of_relayout(&self, id: NodeId, asked: BodyKind) -> BodyKind {
        let once = self.is_cut && asked.varies() && !self.of[id].varies;
        if once { BodyKind::Begin } else { asked }
    }

    /// Whether a node's result is another in each micro-batch.
    pub fn varies(&self, id: NodeId) -> bool {
        self.of[id].varies
    }

    /// Whether a node follows from nothing that is fed or trained, so that every stage may compute
    /// it for itself.
    pub fn is_fixed(&self, id: NodeId) -> bool {
        self.of[id].is_fixed
    }

    /// Whether the last micro-batch, where it is unlike the others, computes a node for itself.
    pub fn is_of_micro_batch(&self, id: NodeId) -> bool {
        self.of[id].varies || self.of[id].accumulates
    }
}

const fn by_phase(phase: Phase) -> BodyKind {
    match phase {
        Phase::Forward => BodyKind::Forward,
        Phase::Backward => BodyKind::Backward,
        Phase::Update => BodyKind::End,
    }
}

/// The bodies of a Program: one to begin, those of each stage (of all copies), one to end.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// How many stages there are.
    pub stages: u32,
    /// Whether the last micro-batch has bodies of its own.
    pub has_last: bool,
}

impl Table {
    /// All bodies in order.
    pub fn list(self) -> IdVec<BodyId, Body> {
        let once = |kind| Body { kind, stage: Stage(0), is_last: false };
        let last: &[bool] = if self.has_last { &[false, true] } else { &[false] };
        let of_stage = (0..self.stages).map(Stage).flat_map(|stage| {
            last.iter().flat_map(move |&is_last| {
                BodyKind::OF_MICRO_BATCH.into_iter().map(move |kind| Body { kind, stage, is_last })
            })
        });
        std::iter::once(once(BodyKind::Begin))
            .chain(of_stage)
            .chain([once(BodyKind::End)])
            .collect()
    }

    /// The place of a body in the list.
    pub fn id(self, kind: BodyKind, stage: Stage, is_last: bool) -> BodyId {
        let kinds = BodyKind::OF_MICRO_BATCH.len();
        let of_stage = kinds * (1 + usize::from(self.has_last));
        BodyId::new(match BodyKind::OF_MICRO_BATCH.iter().position(|&k| k == kind) {
            Some(place) => {
                let last = if is_last && self.has_last { kinds } else { 0 };
                1 + stage.index() * of_stage + last + place
            }
            None if kind == BodyKind::Begin => 0,
            None => 1 + self.stages as usize * of_stage,
        })
    }

    /// Which body is run when: as the cells' schedule says, or each micro-batch forward and at once
    /// backward, so that the activations of only one are held.
    pub fn order(self, micro: Option<&MicroBatches>, cells: Option<&Cells>) -> Vec<Entry> {
        let count = micro.map_or(1, MicroBatches::count);
        let is_last = |stage, at| {
            let last = cells.zip(micro).map(|(cells, micro)| cells.last(stage, micro));
            last.unwrap_or(count - 1..count).contains(&at)
        };
        let entry =
            |kind, stage, at| Entry { body: self.id(kind, stage, is_last(stage, at)), micro: at };
        let mut out = vec![entry(BodyKind::Begin, Stage(0), 0)];
        match cells {
            None => {
                for micro in 0..count {
                    out.push(entry(BodyKind::Forward, Stage(0), micro));
                    out.push(entry(BodyKind::Backward, Stage(0), micro));
                }
            }
            Some(cells) => {
                for task in cells.sequence() {
                    let micro = u64::from(task.micro_batch.0);
                    let kinds = of_task(task.kind).iter();
                    out.extend(kinds.map(|&kind| entry(kind, cells.stage_of(*task), micro)));
                }
            }
        }
        out.push(entry(BodyKind::End, Stage(0), 0));
        out
    }
}

/// The bodies that are run for a task of a pipeline, in that order.
const fn of_task(kind: Kind) -> &'static [BodyKind] {
    match kind {
        Kind::Forward => &[BodyKind::Forward],
        Kind::Recompute => &[BodyKind::Recompute],
        Kind::Backward => &[BodyKind::Backward, BodyKind::WeightGradient],
        Kind::InputGradient => &[BodyKind::Backward],
        Kind::WeightGradient => &[BodyKind::WeightGradient],
    }
}

/// For each entry of a pipeline's order the task it belongs to; nothing for what is run once.
pub fn tasks(cells: &Cells) -> Vec<Option<Task>> {
    let bodies = |&task: &Task| std::iter::repeat_n(Some(task), of_task(task.kind).len());
    let tasks = cells.sequence().iter().flat_map(bodies);
    std::iter::once(None).chain(tasks).chain([None]).collect()
}
