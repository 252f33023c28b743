//! The greatest along a split dimension: each processor finds those of its own slice, and the
//! greatest of all these candidates are taken.
//!
//! ```text
//! top 2 of 8 on 2 processors:
//!   processor 0 holds 5 1 7 2     its candidates (7 at 2) (5 at 0)
//!   processor 1 holds 3 6 0 7     its candidates (7 at 7) (6 at 5)
//!   Allgather, then on each       positions 2 7
//! ```
//!
//! A candidate is a pair, the element and its position in the whole tensor, so that one Allgather
//! carries both and of equals the first still comes first.

use super::Lowering;
use crate::graph::op::Op;
use crate::index::{Idx as _, NodeId, TensorAxis, ValueId};
use crate::layout::dims::{Dimension, Name, Shape};
use crate::layout::tensor::TensorLayout;
use crate::spmd::flow;
use crate::spmd::program::{Search, Value, Work};
use crate::spmd::relayout::relayout;
use smallvec::smallvec;

/// The dimension of an element and its position; no name that a study can write.
const PAIR: &str = "(element, position)";

impl Lowering<'_> {
    /// The positions of the greatest along a dimension.
    pub(super) fn top_k(&mut self, id: NodeId) -> Option<()> {
        let node = self.graph.node(id);
        let Op::TopK { from, .. } = &node.op else { return None };
        let axis = self.graph.shape(node.inputs[0]).axis(from)?;
        let parts = self.mesh.group_size(self.plan.kinds.get(id).splits.get(from));
        if parts == 1 {
            return self.plain(id, Work::TopK(axis, Search::All));
        }
        let x = self.operand(id, 0)?;
        let count = flow::ranks(&node.op, &node.shape);
        let mut candidates = self.candidates(id, x, axis, count * parts)?;
        self.step(id, Work::TopK(axis, Search::Own), smallvec![x], Some(candidates));
        let Value { layout, shape, .. } = self.program.values[candidates].clone();
        let mut splits = layout.splits().to_vec();
        splits[axis.index()].clear();
        let whole = TensorLayout::new(splits, Vec::new(), &shape, self.mesh).ok()?;
        for collective in relayout(&layout, &whole, &shape, self.mesh) {
            let from = self.program.values[candidates].clone();
            let layout = collective.retype(&from.layout, &shape, self.mesh).ok()?;
            let to = self.beside(id, Value { layout, ..from });
            self.step(id, Work::Collective(collective), smallvec![candidates], Some(to));
            candidates = to;
        }
        self.compute(id, Work::TopK(axis, Search::Candidates), smallvec![candidates]);
        Some(())
    }

    /// A value for so many candidates, split as `x` is.
    fn candidates(
        &mut self,
        id: NodeId,
        x: ValueId,
        axis: TensorAxis,
        count: u64,
    ) -> Option<ValueId> {
        let from = self.program.values[x].clone();
        let mut dims = from.shape.dims().to_vec();
        dims[axis.index()] = Dimension::new(Name::clone(&dims[axis.index()].name), count);
        dims.push(Dimension::new(Name::from(PAIR), 2));
        let shape = Shape::new(dims).ok()?;
        let splits = [from.layout.splits(), &[Vec::new()]].concat();
        let layout = TensorLayout::new(splits, Vec::new(), &shape, self.mesh).ok()?;
        Some(self.beside(id, Value { shape, layout, ..from }))
    }
}
