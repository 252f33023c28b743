//! How layouts pass through operations: which layout an operation wants of its operands, and which
//! its result then has. Lowering, the planning of lazy sums and the Checker all ask here.
//!
//! Splits: within one operation a mesh dimension may split only one dimension of the union of its
//! operands' dimensions. Partial sums: they pass through linear operations, if every other operand
//! is the same on all processors that hold summands.

use super::reshape;
use crate::graph::op::{Edge, Element, Op, Window};
use crate::graph::{Graph, Node};
use crate::index::{MeshAxis, NodeId};
use crate::layout::dims::{Name, Shape};
use crate::layout::mesh::Mesh;
use crate::layout::tensor::{Combine, TensorLayout};
use crate::resolve::Layouts;

/// The splits of one operation: mesh axes per dimension of the union of its operands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splits {
    dims: Vec<(Name, Vec<MeshAxis>)>,
    /// The result's splits, where they do not follow from its dimensions' names.
    result: Option<Vec<Vec<MeshAxis>>>,
}

impl Splits {
    /// The splits an operation works under: those of the settled layouts of its result and its
    /// operands, less the ones that clash; a clash is decided in favour of the result's
    /// dimensions, then of the first operand's. A rename works under its operand's alone, and some
    /// operations want a dimension whole.
    pub fn of(graph: &Graph, id: NodeId, layouts: &Layouts, mesh: &Mesh) -> Self {
        let node = graph.node(id);
        let mut out = Self { dims: Vec::with_capacity(node.shape.rank() + 1), result: None };
        match &node.op {
            Op::Reshape => return Self::of_reshape(graph, id, layouts, mesh),
            Op::Window(window) | Op::Unwindow(window) => {
                out.of_window(graph, id, layouts, window, mesh);
            }
            Op::TopK { from, to } => {
                out.of_ranks(graph, id, layouts, from, mesh);
                if let Some(to) = to {
                    out.whole(to);
                }
            }
            Op::Cumsum(dim, _) => out.whole(dim),
            Op::Rename
            | Op::Source(_)
            | Op::Constant(_)
            | Op::StepNumber
            | Op::Training
            | Op::Share
            | Op::One
            | Op::Index
            | Op::Noise(..)
            | Op::Elementwise(_)
            | Op::Einsum
            | Op::Reduce(_)
            | Op::Gather(_)
            | Op::Scatter(_)
            | Op::StopGradient
            | Op::Accumulate
            | Op::Assign => {}
        }
        if node.op != Op::Rename {
            out.claim(&node.shape, layouts[id].as_ref());
        }
        for &input in &node.inputs {
            out.claim(graph.shape(input), layouts[input].as_ref());
        }
        out
    }

    fn whole(&mut self, dim: &Name) {
        self.dims.push((Name::clone(dim), Vec::new()));
    }

    /// The dimension read and the dimension made are split alike, so that each processor needs its
    /// own slice and a little of its neighbours', or both are whole.
    fn of_window(
        &mut self,
        graph: &Graph,
        id: NodeId,
        layouts: &Layouts,
        window: &Window,
        mesh: &Mesh,
    ) {
        let node = graph.node(id);
        let axes = |of: NodeId, dim: &Name| -> Vec<MeshAxis> {
            let axis = graph.shape(of).axis(dim);
            let split = axis.zip(layouts[of].as_ref()).map(|(a, l)| l.split(a).to_vec());
            split.unwrap_or_default()
        };
        let is_window = matches!(node.op, Op::Window(_));
        let (read, made) =
            if is_window { (&window.from, &window.to) } else { (&window.to, &window.from) };
        let alike = Some(axes(node.inputs[0], read)).filter(|a| *a == axes(id, made));
        let shifts = |axes: &Vec<MeshAxis>| {
            let size = node.shape.axis(made).map_or(1, |a| node.shape.dim(a).size);
            is_window || (size / mesh.group_size(axes)).is_multiple_of(window.stride)
        };
        let alike = alike.filter(shifts).unwrap_or_default();
        window.taps.iter().for_each(|w| self.whole(w));
        self.dims.push((Name::clone(read), alike.clone()));
        if made != read {
            self.dims.push((Name::clone(made), alike));
        }
    }

    /// The dimension searched stays split where each processor's candidates, pairs of an element
    /// and its position, are fewer than what its slice holds.
    fn of_ranks(&mut self, graph: &Graph, id: NodeId, layouts: &Layouts, from: &Name, mesh: &Mesh) {
        let node = graph.node(id);
        let shape = graph.shape(node.inputs[0]);
        let axis = shape.axis(from).zip(layouts[node.inputs[0]].as_ref());
        let stays = axis.filter(|(axis, layout)| {
            let parts = mesh.group_size(layout.split(*axis));
            parts > 1 && 2 * ranks(&node.op, &node.shape) < shape.dim(*axis).size / parts
        });
        let axes = stays.map_or_else(Vec::new, |(axis, layout)| layout.split(axis).to_vec());
        self.dims.push((Name::clone(from), axes));
    }

    fn of_reshape(graph: &Graph, id: NodeId, layouts: &Layouts, mesh: &Mesh) -> Self {
        let node = graph.node(id);
        let old = graph.shape(node.inputs[0]);
        let (Some(from), Some(to)) = (&layouts[node.inputs[0]], &layouts[id]) else {
            return Self::default();
        };
        let passage = reshape::passage((old, from), (&node.shape, to), mesh);
        let names = old.dims().iter().map(|d| Name::clone(&d.name));
        Self {
            dims: names.zip(passage.old.splits().iter().cloned()).collect(),
            result: Some(passage.new.splits().to_vec()),
        }
    }

    /// Takes over the splits of the dimensions not seen yet, as far as their axes are free.
    fn claim(&mut self, shape: &Shape, layout: Option<&TensorLayout>) {
        let Some(layout) = layout else { return };
        for (d, axes) in shape.dims().iter().zip(layout.splits()) {
            if self.dims.iter().all(|(n, _)| *n != d.name) {
                let axes = axes.iter().copied().filter(|&a| !self.uses(a)).collect();
                self.dims.push((Name::clone(&d.name), axes));
            }
        }
    }

    /// The mesh axes that split a dimension here.
    pub fn get(&self, name: &str) -> &[MeshAxis] {
        self.dims.iter().find(|(n, _)| **n == *name).map_or(&[], |(_, axes)| axes)
    }

    /// Whether a mesh axis splits any dimension here.
    pub fn uses(&self, axis: MeshAxis) -> bool {
        self.dims.iter().any(|(_, axes)| axes.contains(&axis))
    }

    /// The settled layout of an operand of this shape.
    pub fn operand(&self, shape: &Shape, mesh: &Mesh) -> Option<TensorLayout> {
        let split = shape.dims().iter().map(|d| self.get(&d.name).to_vec()).collect();
        TensorLayout::new(split, Vec::new(), shape, mesh).ok()
    }

    /// Mesh axes (of more than one processor) over which dimensions that the result lacks are
    /// split, and those dimensions.
    fn contracted(&self, result: &Shape, mesh: &Mesh) -> (Vec<MeshAxis>, Vec<Name>) {
        let gone = self.dims.iter().filter(|(n, _)| !result.has(n));
        let (mut axes, mut names) = (Vec::new(), Vec::new());
        for (name, split) in gone {
            let real: Vec<MeshAxis> = split.iter().copied().filter(|&a| mesh.size(a) > 1).collect();
            if !real.is_empty() {
                names.push(Name::clone(name));
                axes.extend(real);
            }
        }
        (axes, names)
    }
}

/// The layout an operation leaves its result in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Splits and partial values.
    pub layout: TensorLayout,
    /// The dimensions that this operation itself combined partially.
    pub contracted: Vec<Name>,
}

/// The result's layout when the operands are laid out as `splits` says and hold the given partial
/// values; `Err` lists the operands that must settle first.
pub fn outcome(
    graph: &Graph,
    node: &Node,
    splits: &Splits,
    partial: &[&[(MeshAxis, Combine)]],
    mesh: &Mesh,
) -> Result<Outcome, Vec<usize>> {
    let pending: Vec<usize> = (0..partial.len()).filter(|&k| !partial[k].is_empty()).collect();
    let passed: Vec<(MeshAxis, Combine)> = match pending.as_slice() {
        [] => Vec::new(),
        [first, ..] if passes(node, splits, partial, &pending) => partial[*first].to_vec(),
        _ => return Err(pending),
    };
    let build = |axes: Vec<MeshAxis>, combine: Combine, contracted: Vec<Name>| {
        let by_name = || node.shape.dims().iter().map(|d| splits.get(&d.name).to_vec()).collect();
        let split = splits.result.clone().unwrap_or_else(by_name);
        let all = passed.iter().copied().chain(axes.iter().map(|&a| (a, combine))).collect();
        match TensorLayout::new(split, all, &node.shape, mesh) {
            Ok(layout) => Ok(Outcome { layout, contracted }),
            Err(_) => Err(pending.clone()),
        }
    };
    match &node.op {
        Op::Einsum | Op::Gather(_) | Op::Scatter(_) => {
            let (axes, names) = splits.contracted(&node.shape, mesh);
            build(axes, Combine::Sum, names)
        }
        Op::Reduce(reduction) => {
            let (axes, names) = splits.contracted(&node.shape, mesh);
            build(axes, reduction.combine(), names)
        }
        Op::Rename => {
            let from = graph.shape(node.inputs[0]);
            let split = from.dims().iter().map(|d| splits.get(&d.name).to_vec()).collect();
            match TensorLayout::new(split, passed, &node.shape, mesh) {
                Ok(layout) => Ok(Outcome { layout, contracted: Vec::new() }),
                Err(_) => Err(pending),
            }
        }
        Op::Elementwise(_)
        | Op::Reshape
        | Op::Window(_)
        | Op::Unwindow(_)
        | Op::TopK { .. }
        | Op::Cumsum(..)
        | Op::Noise(..)
        | Op::StopGradient
        | Op::Accumulate
        | Op::Assign
        | Op::Source(_)
        | Op::Constant(_)
        | Op::StepNumber
        | Op::Training
        | Op::Share
        | Op::One
        | Op::Index => build(Vec::new(), Combine::Sum, Vec::new()),
    }
}

/// Whether the pending operands' partial values may pass through the operation.
#[expect(clippy::wildcard_enum_match_arm, reason = "a function is not linear unless listed")]
fn passes(
    node: &Node,
    splits: &Splits,
    partial: &[&[(MeshAxis, Combine)]],
    pending: &[usize],
) -> bool {
    let first = partial[pending[0]];
    let is_sum = first.iter().all(|p| p.1 == Combine::Sum);
    let single = pending.len() == 1;
    // Other operands must be the same wherever summands lie, so no split by those axes.
    let clear = first.iter().all(|p| !splits.uses(p.0));
    match &node.op {
        Op::Elementwise(Element::Identity) => clear,
        Op::Elementwise(element) => {
            let alike = pending.len() == 2 && partial[0] == partial[1];
            let linear = match element {
                Element::Neg => true,
                Element::Add | Element::Sub => alike,
                Element::Mul => single,
                Element::Div => pending == [0],
                _ => false,
            };
            is_sum && clear && linear
        }
        Op::Einsum => is_sum && clear && single && node.inputs[0] != node.inputs[1],
        Op::Reduce(reduction) => first.iter().all(|p| p.1 == reduction.combine()),
        Op::Gather(_) | Op::Scatter(_) => is_sum && clear && pending == [0],
        Op::Rename | Op::Reshape | Op::StopGradient => true,
        // The sum over micro-batches of summands is a summand of the sum.
        Op::Accumulate => is_sum,
        Op::Window(window) => is_sum && clear && window.edge != Edge::Lowest,
        Op::Unwindow(_) | Op::Cumsum(..) => is_sum && clear,
        Op::Assign
        | Op::Source(_)
        | Op::Constant(_)
        | Op::StepNumber
        | Op::Training
        | Op::Share
        | Op::One
        | Op::TopK { .. }
        | Op::Noise(..)
        | Op::Index => false,
    }
}

/// How many of the greatest are asked for along each line.
pub fn ranks(op: &Op, result: &Shape) -> u64 {
    let Op::TopK { to: Some(to), .. } = op else { return 1 };
    result.axis(to).map_or(1, |axis| result.dim(axis).size)
}

/// Whether a node's tensor is a number written into the code rather than a value.
pub fn is_immediate(graph: &Graph, id: NodeId) -> bool {
    matches!(
        graph.node(id).op,
        Op::Constant(_) | Op::StepNumber | Op::Training | Op::Share | Op::One
    )
}
