//! The shapes of a graph's tensors. A model has many tensors and few shapes, so each shape is there
//! once: what follows from shapes alone is worked out once for each.

use crate::index::{IdVec, Idx as _, NodeId, ShapeId};
use crate::layout::dims::Shape;
use indexmap::IndexSet;

/// All shapes, and which each node has.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    all: IndexSet<Shape>,
    of_node: IdVec<NodeId, ShapeId>,
}

impl Shapes {
    /// Takes in the shape of the next node, most likely that of one of its inputs; returns the one
    /// that is kept.
    pub fn push(&mut self, shape: Shape, inputs: &[NodeId]) -> Shape {
        let is_same = |id: &ShapeId| self.all[id.index()].is(&shape);
        if let Some(id) = inputs.iter().map(|&i| self.of_node[i]).find(is_same) {
            self.of_node.push(id);
            return shape;
        }
        let (at, _) = self.all.insert_full(shape);
        self.of_node.push(ShapeId::new(at));
        self.all[at].clone()
    }

    /// Which shape a node has.
    pub fn of(&self, node: NodeId) -> ShapeId {
        self.of_node[node]
    }

    /// A shape.
    pub fn shape(&self, id: ShapeId) -> &Shape {
        &self.all[id.index()]
    }

    /// All shapes in order.
    pub fn iter(&self) -> impl Iterator<Item = &Shape> {
        self.all.iter()
    }
}
