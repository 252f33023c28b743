//! The graph: whole tensors with named dimensions, before any processor is thought of.
//!
//! Nodes stand in an order in which every node follows its inputs. A training study's graph holds
//! the forward pass, then the backward pass (`autodiff.rs`), then the update (`optimizer/`).

pub mod op;
pub mod shapes;
pub mod users;
pub mod init;
pub mod optimizer;
pub mod options;
pub mod initial;
pub mod train;
pub mod models;
pub mod micro;
pub mod remat;
mod parts;
pub mod autodiff;
pub mod expr;
pub mod build;

use crate::diag::Span;
use crate::index::{IdVec, Idx as _, NodeId, ShapeId, Stage};
use crate::layout::dims::{Name, Shape};
use indexmap::IndexMap;
use micro::MicroBatches;
use op::{Dtype, Element, Op, Phase, Role};
use shapes::Shapes;
use std::ops::Range;
use users::Users;

/// One operation and the tensor it makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// From what.
    pub inputs: Vec<NodeId>,
    /// Shape of the result.
    pub shape: Shape,
    /// Name of the result, unique in the graph.
    pub name: Name,
    /// What the result is in the study.
    pub role: Role,
    /// The part of the step it belongs to.
    pub phase: Phase,
    /// The place in the text that asked for it.
    pub span: Span,
    /// The layer of the model it belongs to; [`Graph::push`] sets it.
    pub layer: u32,
    /// Whether the user wrote the name (or could have: presets), not the engine.
    pub is_named: bool,
}

/// All nodes of a study.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    nodes: IdVec<NodeId, Node>,
    shapes: Shapes,
    by_name: IndexMap<Name, NodeId>,
    counters: IndexMap<Name, u32>,
    /// The loss, if the study has one.
    pub loss: Option<NodeId>,
    /// Gradient of each parameter, once differentiated.
    pub gradients: Vec<(NodeId, NodeId)>,
    /// The states, and what each is from the next step on.
    pub next: Vec<(NodeId, NodeId)>,
    /// How numbers are stored.
    pub dtype: Dtype,
    /// How the batch is taken in parts, if it is; shapes are those of a micro-batch then.
    pub micro: Option<MicroBatches>,
    /// Seed of random numbers.
    pub seed: u64,
    /// The layer that nodes added now belong to.
    pub layer: u32,
    /// Names of the layers: the model's lines and repetitions of blocks, in order.
    pub layers: Vec<String>,
    /// The stage of a pipeline that each layer belongs to; empty without a pipeline.
    pub stage_of_layer: Vec<Stage>,
    /// Places in node order of the blocks whose results are let go and computed again.
    pub remat_blocks: Vec<Range<usize>>,
    /// Those blocks are the stages of a pipeline, whose schedule says when they are computed again;
    /// else it is part of the backward pass.
    pub remats_stages: bool,
}

/// What a node under construction belongs to; see [`Graph::add`].
#[derive(Debug, Clone)]
pub struct Context {
    /// Name that derived names start with: `h` makes `h/1`, `h/2`, …
    pub base: Name,
    /// Role of the tensors made.
    pub role: Role,
    /// Phase of the nodes made.
    pub phase: Phase,
    /// Place in the text.
    pub span: Span,
}

impl Graph {
    /// All nodes, inputs before users.
    pub const fn nodes(&self) -> &IdVec<NodeId, Node> {
        &self.nodes
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// The shape of a node's result.
    pub fn shape(&self, id: NodeId) -> &Shape {
        &self.nodes[id].shape
    }

    /// Every shape that a tensor has, each once.
    pub const fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Which of the shapes a node's result has.
    pub fn shape_id(&self, id: NodeId) -> ShapeId {
        self.shapes.of(id)
    }

    /// The stage that computes a node.
    pub fn stage(&self, id: NodeId) -> Stage {
        let layer = self.nodes[id].layer as usize;
        self.stage_of_layer.get(layer).copied().unwrap_or(Stage(0))
    }

    /// Lets a source belong to the layer that reads it first.
    pub fn sources_follow_their_readers(&mut self) {
        let users = self.users();
        for id in self.nodes.ids() {
            if let Op::Source(_) = self.nodes[id].op {
                let first = users[id].iter().map(|&user| self.nodes[user].layer).min();
                self.nodes[id].layer = first.unwrap_or(0);
            }
        }
    }

    /// The shape of a node's result for the whole mini-batch.
    pub fn whole_shape(&self, id: NodeId) -> Shape {
        let shape = self.shape(id);
        self.micro.as_ref().map_or_else(|| shape.clone(), |micro| micro.whole_shape(shape))
    }

    /// The node that makes the tensor of this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// Appends an unnamed node: it is called `base/1`, `base/2`, …
    pub fn add(&mut self, cx: &Context, op: Op, inputs: Vec<NodeId>, shape: Shape) -> NodeId {
        let name = loop {
            let count = self.counters.entry(Name::clone(&cx.base)).or_insert(0);
            *count += 1;
            let name = Name::from(format!("{}/{count}", cx.base));
            if !self.by_name.contains_key(&name) {
                break name;
            }
        };
        self.push(Node {
            op,
            inputs,
            shape,
            name,
            role: cx.role,
            phase: cx.phase,
            span: cx.span,
            layer: self.layer,
            is_named: false,
        })
    }

    /// Appends a node that brings its own name, which must be new.
    pub fn push(&mut self, node: Node) -> NodeId {
        let name = Name::clone(&node.name);
        let shape = self.shapes.push(node.shape, &node.inputs);
        let id = self.nodes.push(Node { layer: self.layer, shape, ..node });
        self.by_name.insert(name, id);
        id
    }

    /// An element-wise node over the union of its inputs' dimensions.
    pub fn elementwise(&mut self, cx: &Context, element: Element, inputs: &[NodeId]) -> NodeId {
        let shape = self.broadcast_shape(inputs);
        self.add(cx, Op::Elementwise(element), inputs.to_vec(), shape)
    }

    /// A constant.
    pub fn constant(&mut self, cx: &Context, value: f64) -> NodeId {
        self.add(cx, Op::Constant(value), Vec::new(), Shape::scalar())
    }

    /// The shape that inputs broadcast to: the one whose dimensions hold all others' in its own
    /// order, if there is one, else the first's dimensions followed by the new ones of the rest.
    pub fn broadcast_shape(&self, inputs: &[NodeId]) -> Shape {
        let shapes = || inputs.iter().map(|&i| self.shape(i));
        let union = shapes().fold(Shape::scalar(), |s, other| s.union(other));
        let widest = shapes().find(|s| s.rank() == union.rank() && shapes().all(|o| s.holds(o)));
        widest.cloned().unwrap_or(union)
    }

    /// Gives an unnamed node the name the user assigned it.
    pub fn rename_node(&mut self, id: NodeId, name: &Name, role: Role) {
        let node = &mut self.nodes[id];
        self.by_name.swap_remove(&node.name);
        node.name = Name::clone(name);
        node.role = role;
        node.is_named = true;
        self.by_name.insert(Name::clone(name), id);
    }

    /// Removes the nodes not kept, none of which may be read by one that is.
    pub fn retain(&mut self, keep: &[bool]) {
        let mut kept: Vec<Option<NodeId>> = Vec::with_capacity(keep.len());
        let mut nodes: IdVec<NodeId, Node> = IdVec::new();
        let mut shapes = Shapes::default();
        for ((_, node), keep) in self.nodes.entries().zip(keep) {
            let at = |i: &NodeId| kept[i.index()].unwrap_or(*i);
            let inputs: Vec<NodeId> = node.inputs.iter().map(at).collect();
            kept.push(keep.then(|| {
                shapes.push(node.shape.clone(), &inputs);
                nodes.push(Node { inputs, ..node.clone() })
            }));
        }
        (self.nodes, self.shapes) = (nodes, shapes);
        let at = |id: &mut NodeId| match kept.get(id.index()) {
            Some(Some(new)) => {
                *id = *new;
                true
            }
            _ => false,
        };
        self.by_name.retain(|_, id| at(id));
        self.gradients.retain_mut(|(p, g)| at(p) && at(g));
        self.next.retain_mut(|(state, value)| at(state) && at(value));
        if let Some(loss) = &mut self.loss {
            at(loss);
        }
        if !self.remat_blocks.is_empty() {
            let mut places = vec![0];
            places.extend(keep.iter().scan(0, |place, keep| {
                *place += usize::from(*keep);
                Some(*place)
            }));
            for block in &mut self.remat_blocks {
                *block = places[block.start]..places[block.end];
            }
        }
    }

    /// Removes a node that nothing reads, and those without a name of their own that only led there;
    /// does nothing where something reads it.
    pub fn forget(&mut self, id: NodeId) {
        let mut readers = vec![0_usize; self.nodes.len()];
        for input in self.nodes.iter().flat_map(|node| &node.inputs) {
            readers[input.index()] += 1;
        }
        for id in self.loss.iter().chain(self.next.iter().map(|(_, value)| value)) {
            readers[id.index()] += 1;
        }
        let mut keep = vec![true; readers.len()];
        let mut open = vec![id];
        while let Some(at) = open.pop() {
            if readers[at.index()] == 0 && (at == id || !self.nodes[at].is_named) {
                keep[at.index()] = false;
                for &input in &self.nodes[at].inputs {
                    readers[input.index()] -= 1;
                    open.push(input);
                }
            }
        }
        if keep.contains(&false) {
            self.retain(&keep);
        }
    }

    /// Sets the initial value of a source.
    pub fn set_init(&mut self, id: NodeId, init: op::Init) {
        self.nodes[id].op = Op::Source(init);
    }

    /// Who uses each node's result.
    pub fn users(&self) -> Users {
        Users::of(self)
    }
}
