//! What nodes alike have in common.
//!
//! Layouts follow from shapes, and how an operation is laid out from those of its operands and its
//! result. So nodes of the same operation on tensors of the same shapes are of one kind, worked out
//! once: a model of many layers has hardly more kinds than a model of one.

use super::flow::{self, Outcome, Splits};
use super::relayout;
use crate::graph::Graph;
use crate::graph::op::Op;
use crate::index::{IdVec, KindId, NodeId, ShapeId};
use crate::layout::mesh::Mesh;
use crate::layout::tensor::{Combine, TensorLayout};
use crate::resolve::Layouts;
use std::rc::Rc;

/// How nodes of one kind lie on the mesh.
#[derive(Debug, Clone)]
pub struct Kind {
    /// The splits their operation works under.
    pub splits: Splits,
    /// The layouts in which they want their operands, where these are legal.
    pub operands: Vec<Option<TensorLayout>>,
    /// How their result leaves if no operand is partial; `None` for immediates.
    pub clear: Option<Rc<Outcome>>,
    /// What settling that costs one processor: see [`relayout::Price::sent`].
    pub price: f64,
}

impl Kind {
    fn of(graph: &Graph, id: NodeId, layouts: &Layouts, mesh: &Mesh) -> Self {
        let node = graph.node(id);
        let splits = Splits::of(graph, id, layouts, mesh);
        let own = |of: NodeId, layout: TensorLayout| {
            layouts[of].clone().filter(|own| *own == layout).unwrap_or(layout)
        };
        let operand =
            |&i: &NodeId| splits.operand(graph.shape(i), mesh).map(|layout| own(i, layout));
        let operands = node.inputs.iter().map(operand).collect();
        let none: Vec<&[_]> = node.inputs.iter().map(|_| &[][..]).collect();
        let clear = Some(&splits)
            .filter(|_| !flow::is_immediate(graph, id))
            .and_then(|splits| flow::outcome(graph, node, splits, &none, mesh).ok())
            .map(|outcome| Rc::new(Outcome { layout: own(id, outcome.layout), ..outcome }));
        let partial = clear.as_ref().filter(|outcome| !outcome.layout.is_settled());
        let price = partial.map_or(0.0, |raw| price(graph, id, &raw.layout, layouts, mesh));
        Self { splits, operands, clear, price }
    }
}

/// What it costs one processor to settle a node's result.
pub fn price(graph: &Graph, id: NodeId, raw: &TensorLayout, layouts: &Layouts, mesh: &Mesh) -> f64 {
    let Some(to) = &layouts[id] else { return 0.0 };
    relayout::plan(raw, to, graph.shape(id), mesh).1.sent as f64
}

/// The kinds of a graph's nodes.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    all: IdVec<KindId, Kind>,
    of_node: IdVec<NodeId, KindId>,
}

impl Kinds {
    /// Finds the kinds in a graph, whose layouts follow from its shapes.
    pub fn of(graph: &Graph, layouts: &Layouts, mesh: &Mesh) -> Self {
        let mut kinds = Self::default();
        // There are few kinds for each shape of a result.
        let mut known: IdVec<ShapeId, Vec<(Alike, KindId)>> =
            graph.shapes().iter().map(|_| Vec::new()).collect();
        for id in graph.nodes().ids() {
            let mut made = || kinds.all.push(Kind::of(graph, id, layouts, mesh));
            let kind = match alike(graph, id) {
                Some(alike) => {
                    let here = &mut known[graph.shape_id(id)];
                    here.iter().find(|k| k.0 == alike).map(|k| k.1).unwrap_or_else(|| {
                        let kind = made();
                        here.push((alike, kind));
                        kind
                    })
                }
                None => made(),
            };
            kinds.of_node.push(kind);
        }
        kinds
    }

    /// The kind of a node.
    pub fn get(&self, node: NodeId) -> &Kind {
        &self.all[self.of_node[node]]
    }
}

/// What nodes of one kind agree in beside their shape: how layouts pass through the operation, and
/// the shapes of its operands.
type Alike = (Way, [Option<ShapeId>; 3]);

/// How layouts pass through an operation without partial operands, where that follows from shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    ByName,
    Immediate,
    Combined(Combine),
    Rename,
    Reshape,
}

fn alike(graph: &Graph, id: NodeId) -> Option<Alike> {
    let node = graph.node(id);
    let way = match &node.op {
        Op::Elementwise(_)
        | Op::Source(_)
        | Op::Index
        | Op::Noise(..)
        | Op::StopGradient
        | Op::Accumulate
        | Op::Assign => Way::ByName,
        Op::Constant(_) | Op::StepNumber | Op::Training | Op::Share | Op::One => Way::Immediate,
        Op::Einsum | Op::Gather(_) | Op::Scatter(_) => Way::Combined(Combine::Sum),
        Op::Reduce(reduction) => Way::Combined(reduction.combine()),
        Op::Rename => Way::Rename,
        Op::Reshape => Way::Reshape,
        // Their dimensions are not told by shapes alone.
        Op::Window(_) | Op::Unwindow(_) | Op::TopK { .. } | Op::Cumsum(..) => return None,
    };
    let mut shapes = [None; 3];
    for (k, &input) in node.inputs.iter().enumerate() {
        *shapes.get_mut(k)? = Some(graph.shape_id(input));
    }
    Some((way, shapes))
}
