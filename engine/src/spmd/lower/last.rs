//! The last micro-batch, where it has fewer rows than the others or keeps what they compute again:
//! a graph of its own, whose tensors are those of the others by name. What does not vary is there
//! already, and what is accumulated goes on where the others left it.

use super::{Lowering, Model};
use crate::graph::Graph;
use crate::index::{IdVec, NodeId, ValueId};
use crate::layout::mesh::Mesh;
use crate::spmd::bodies::{Bodies, Table};
use crate::spmd::cells::Cells;
use crate::spmd::lazy;
use crate::spmd::program::{BodyKind, Program, ValueIds};

/// What lowering the micro-batches but the last has left.
pub(super) struct Seen<'a> {
    pub(super) graph: &'a Graph,
    pub(super) settles: IdVec<NodeId, bool>,
    pub(super) known: IdVec<NodeId, ValueIds>,
    pub(super) of_node: IdVec<NodeId, Option<ValueId>>,
    pub(super) raw: IdVec<NodeId, Option<ValueId>>,
}

impl Seen<'_> {
    /// Adds what the last micro-batch computes; what does not vary is there already.
    pub(super) fn last(
        self,
        program: Program,
        made: IdVec<ValueId, BodyKind>,
        model: Model<'_>,
        mesh: &Mesh,
        (table, cells): (Table, Option<&Cells>),
    ) -> Option<Program> {
        let Model { graph, layouts } = model;
        let main: IdVec<NodeId, Option<NodeId>> =
            graph.nodes().iter().map(|node| self.graph.find(&node.name)).collect();
        let settles = main.iter().map(|id| id.is_none_or(|id| self.settles[id])).collect();
        let bodies = Bodies::of(graph, cells);
        let plan = lazy::plan(graph, layouts, mesh, &bodies, Some(settles));
        let shared = |id: NodeId| main[id].filter(|_| !bodies.varies(id));
        let of = |id: NodeId, table: &IdVec<NodeId, Option<ValueId>>| table[shared(id)?];
        let mut last = Lowering {
            graph,
            layouts,
            mesh,
            plan,
            known: graph
                .nodes()
                .ids()
                .map(|id| shared(id).map_or_else(ValueIds::new, |id| self.known[id].clone()))
                .collect(),
            of_node: graph.nodes().ids().map(|id| of(id, &self.of_node)).collect(),
            raw: graph.nodes().ids().map(|id| of(id, &self.raw)).collect(),
            bodies,
            table,
            main: Some(main),
            elsewhere: None,
            program,
            made,
        };
        for id in graph.nodes().ids() {
            if last.bodies.is_of_micro_batch(id) {
                last.node(id)?;
            }
        }
        // The values of each node for the others, and for the last.
        let Lowering { mut program, known, main, .. } = last;
        for (id, main) in main.iter().flat_map(IdVec::entries) {
            let Some(main) = *main else { continue };
            for &of_last in &known[id] {
                let alike = |v: ValueId| {
                    let (a, b) = (&program.values[v], &program.values[of_last]);
                    (a.stage, &a.layout) == (b.stage, &b.layout)
                };
                let of_others = self.known[main].iter().copied().find(|&v| alike(v));
                if let Some(others) = of_others.filter(|&v| v != of_last) {
                    program.last_of.insert(others, of_last);
                }
            }
        }
        Some(program)
    }
}
