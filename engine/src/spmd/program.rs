//! The Program: what every processor does in one step, in one list for all of them.
//!
//! A [`Value`] is a tensor in one layout; a tensor that settles or is laid out anew is several
//! values. A [`Step`] makes one value from others (or stores or frees one). Everything that costs,
//! explains, draws or executes reads this list.

use super::collective::Collective;
use super::tape::Tape;
use crate::diag::Span;
use crate::graph::op::{Dtype, Edge, Phase, Reduction, Running};
use crate::index::{IdVec, NodeId, TensorAxis, ValueId};
use crate::layout::dims::{Name, Shape};
use crate::layout::mesh::Mesh;
use crate::layout::tensor::TensorLayout;

/// A tensor in one layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The node whose tensor it is.
    pub node: NodeId,
    /// The tensor's name.
    pub name: Name,
    /// The whole tensor's shape.
    pub shape: Shape,
    /// How it lies on the mesh.
    pub layout: TensorLayout,
    /// The split dimensions whose sum (maximum, minimum) is still pending, for explanations.
    pub pending: Vec<Name>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Product of two inputs, summed over the dimensions that the output lacks.
    Einsum,
    /// One input, combined over the dimensions that the output lacks.
    Reduce(Reduction),
    /// Element-wise code.
    Tape(Tape),
    /// The same numbers under other dimension names.
    Rename,
    /// The same numbers, in their order, under other dimensions.
    Reshape,
    /// Positions along an axis read at places, several at each where the output has an axis more.
    Window(Frame),
    /// The adjoint: what was read at each place, added to the positions it was read of.
    Unwindow(Frame),
    /// Elements of the first input at the positions, along this axis of it, that the second names.
    Gather(TensorAxis),
    /// The first input summed at the positions, along this axis of the output, that the second names.
    Scatter(TensorAxis),
    /// Positions of the greatest along this axis; the output's last axis ranks them.
    TopK(TensorAxis),
    /// Sums along this axis up to each position.
    Cumsum(TensorAxis, Running),
    /// A change of layout.
    Collective(Collective),
    /// The second input takes the place of the first, a source, for the next step.
    Assign,
    /// The input is not needed any more.
    Free,
}

/// How one slice is read by a window: `out[…, i, k, …] = in[…, stride·i + dilation·k + offset, …]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The axis of the input.
    pub axis: TensorAxis,
    /// Positions from place to place.
    pub stride: u64,
    /// Positions within a window.
    pub dilation: u64,
    /// The first position read, in the input's slice.
    pub offset: i64,
    /// What lies outside the slice.
    pub edge: Edge,
    /// Whether a window has a dimension of its own, after that of the places.
    pub has_window: bool,
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What it does.
    pub work: Work,
    /// What it reads.
    pub inputs: Vec<ValueId>,
    /// What it makes: one value, or for a collective that carries several tensors one for each
    /// input; nothing for `Assign` and `Free`.
    pub outputs: Vec<ValueId>,
    /// The part of the training step it belongs to.
    pub phase: Phase,
    /// The node it was made for.
    pub node: NodeId,
    /// The place in the text it came from.
    pub span: Span,
}

impl Step {
    /// What it makes, or the first of it.
    pub fn output(&self) -> Option<ValueId> {
        self.outputs.first().copied()
    }

    /// What it reads beside what it makes of that, for a collective.
    pub fn carried(&self) -> impl Iterator<Item = (ValueId, ValueId)> {
        self.inputs.iter().copied().zip(self.outputs.iter().copied())
    }
}

/// The list, with all it refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The mesh it runs on.
    pub mesh: Mesh,
    /// How numbers are stored.
    pub dtype: Dtype,
    /// All values.
    pub values: IdVec<ValueId, Value>,
    /// Values that are there before the first step and stay: inputs, parameters, slots.
    pub sources: Vec<ValueId>,
    /// The loss, settled.
    pub loss: Option<ValueId>,
    /// What every processor does, in order.
    pub steps: Vec<Step>,
    /// The value that holds each node's tensor when its own step is done (settled if it settles at
    /// all); nothing for constants.
    pub of_node: IdVec<NodeId, Option<ValueId>>,
}

impl Program {
    /// Sizes of one processor's slice of a value.
    pub fn slice_sizes(&self, value: ValueId) -> Vec<u64> {
        let v = &self.values[value];
        v.layout.slice_sizes(&v.shape, &self.mesh)
    }

    /// Elements of one processor's slice of a value.
    pub fn slice_elements(&self, value: ValueId) -> u64 {
        let v = &self.values[value];
        v.layout.slice_elements(&v.shape, &self.mesh)
    }

    /// Bytes of one processor's slice of a value.
    pub fn slice_bytes(&self, value: ValueId) -> u64 {
        self.slice_elements(value).saturating_mul(self.dtype.bytes())
    }

    /// Floating point operations one processor spends on a step: 2 per multiplication-addition of
    /// an einsum, 1 per element and function of a tape, 1 per input element of a reduction and of
    /// whatever else adds or compares.
    pub fn flops(&self, step: &Step) -> u64 {
        let Some(output) = step.output() else { return 0 };
        match &step.work {
            Work::Einsum => {
                let mut product = self.slice_elements(output);
                let out = &self.values[output].shape;
                let mut counted: Vec<&Name> = Vec::new();
                for &input in &step.inputs {
                    let dims = self.values[input].shape.dims();
                    for (d, size) in dims.iter().zip(self.slice_sizes(input)) {
                        if !out.has(&d.name) && !counted.contains(&&d.name) {
                            counted.push(&d.name);
                            product = product.saturating_mul(size);
                        }
                    }
                }
                product.saturating_mul(2)
            }
            Work::Reduce(_)
            | Work::Unwindow(_)
            | Work::Scatter(_)
            | Work::TopK(_)
            | Work::Cumsum(..) => self.slice_elements(step.inputs[0]),
            Work::Tape(tape) => tape.flops().saturating_mul(self.slice_elements(output)),
            Work::Rename
            | Work::Reshape
            | Work::Window(_)
            | Work::Gather(_)
            | Work::Collective(_)
            | Work::Assign
            | Work::Free => 0,
        }
    }
}
