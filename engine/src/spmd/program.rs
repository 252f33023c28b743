//! The Program: what every processor does in one step, in one list for all of them.
//!
//! A [`Value`] is a tensor in one layout; a tensor that settles or is laid out anew is several
//! values. A [`Step`] makes one value from others (or stores or frees one). Everything that costs,
//! explains, draws or executes reads this list.
//!
//! Steps stand in bodies, lists that are run as a whole; the order says which body is run when, for
//! which micro-batch. Without micro-batches that is every body once:
//!
//! ```text
//! forward · backward · end                                            one batch
//! begin · forward 0 · backward 0 · forward 1 · backward 1 · … · end     micro-batches 0, 1, …
//! begin · F(stage 0) 0 · F(1) 0 · F(0) 1 · B(1) 0 · F(1) 1 · … · end    a pipeline
//! ```
//!
//! A stage of a pipeline runs on the processors of one cell, those with its coordinate along the
//! pipeline's mesh dimension; its values exist only there. Where there are two copies of the model,
//! each has stages of its own ([`cells`](super::cells)).

use super::cells::Cells;
use super::collective::Collective;
use super::tape::Tape;
use crate::diag::Span;
use crate::graph::micro::MicroBatches;
use crate::graph::op::{Dtype, Edge, Phase, Reduction, Running};
use crate::index::{BodyId, IdVec, Idx as _, MeshAxis, NodeId, Pnum, Stage, TensorAxis, ValueId};
use crate::layout::dims::{Name, Shape};
use crate::layout::mesh::Mesh;
use crate::layout::tensor::TensorLayout;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;

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
    /// The stage whose processors hold it.
    pub stage: Stage,
    /// Whether it is another in each micro-batch.
    pub varies: Varies,
}

/// Of how many micro-batches a value exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Varies {
    /// There is one for all of them.
    No,
    /// One for each (but the last, if that is unlike the others).
    Each,
    /// One for the last, which has fewer rows or is computed in another way.
    Last,
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
    TopK(TensorAxis, Search),
    /// Sums along this axis up to each position.
    Cumsum(TensorAxis, Running),
    /// A change of layout.
    Collective(Collective),
    /// The second input takes the place of the first, a source, for the next step.
    Assign,
    /// The input added to what the output holds of earlier micro-batches; the first makes it.
    Accumulate,
    /// The input's slices are on their way to the processors of another stage.
    Send,
    /// The input is not needed any more.
    Free,
}

/// Among what a processor looks for the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// All elements of a line.
    All,
    /// Those of its own slice: the output holds pairs, an element and its position in the whole
    /// tensor, along this axis and a last one.
    Own,
    /// Such pairs of all processors.
    Candidates,
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
    pub inputs: ValueIds,
    /// What it makes: one value, or for a collective that carries several tensors one for each
    /// input; nothing for `Assign` and `Free`.
    pub outputs: ValueIds,
    /// The part of the training step it belongs to.
    pub phase: Phase,
    /// The body it stands in.
    pub body: BodyId,
    /// The node it was made for.
    pub node: NodeId,
    /// The place in the text it came from.
    pub span: Span,
}

/// A few values; most steps read and make no more than fit into the step itself.
pub type ValueIds = SmallVec<[ValueId; 4]>;

/// What a body of steps is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BodyKind {
    /// What follows from the parameters alone, once before the first micro-batch.
    Begin,
    /// From the inputs of a micro-batch to its loss.
    Forward,
    /// What was let go of the forward pass, computed again.
    Recompute,
    /// From its loss to its part of the gradients; where weight gradients stand apart, to those of
    /// what other stages sent.
    Backward,
    /// The gradients of the weights, for which nobody waits before the end.
    WeightGradient,
    /// What follows from all micro-batches: gradients settle, the update.
    End,
}

impl BodyKind {
    /// Those that are run for each micro-batch, in that order.
    pub const OF_MICRO_BATCH: [Self; 4] =
        [Self::Forward, Self::Recompute, Self::Backward, Self::WeightGradient];

    /// Whether it is run for each micro-batch.
    pub const fn varies(self) -> bool {
        !matches!(self, Self::Begin | Self::End)
    }
}

/// A list of steps that is run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// What it is for.
    pub kind: BodyKind,
    /// The stage it belongs to; what is run once is one body for all stages.
    pub stage: Stage,
    /// Whether it is run for the last micro-batch, in the place of that for the others.
    pub is_last: bool,
}

/// One run of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Which body.
    pub body: BodyId,
    /// For which micro-batch; 0 for what is run once.
    pub micro: u64,
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
    /// How the batch is taken in parts, if it is.
    pub micro: Option<MicroBatches>,
    /// How the stages of a pipeline lie on the mesh, if there is one.
    pub cells: Option<Cells>,
    /// All bodies.
    pub bodies: IdVec<BodyId, Body>,
    /// The steps of all bodies, one body after the other.
    pub steps: Vec<Step>,
    /// Which body is run when.
    pub order: Vec<Entry>,
    /// The value that holds each node's tensor when its own step is done (settled if it settles at
    /// all); nothing for constants.
    pub of_node: IdVec<NodeId, Option<ValueId>>,
    /// Where the last micro-batch is unlike the others: its value for theirs.
    pub last_of: BTreeMap<ValueId, ValueId>,
    /// Where there are two copies of the model: the second's value for one that varies.
    pub copy_of: BTreeMap<ValueId, ValueId>,
}

impl Program {
    /// The places of each body's steps in the list.
    pub fn steps_of_bodies(&self) -> IdVec<BodyId, Range<usize>> {
        let mut start = 0;
        let range = |body: BodyId| {
            let rest = &self.steps[start..];
            let end = start + rest.partition_point(|step| step.body <= body);
            std::mem::replace(&mut start, end)..end
        };
        self.bodies.ids().map(range).collect()
    }

    /// Whether a body is run for each of several micro-batches.
    pub fn repeats(&self, body: BodyId) -> bool {
        self.micro.is_some() && self.bodies[body].kind.varies()
    }

    /// How many micro-batches a step takes.
    pub fn micro_batches(&self) -> u64 {
        self.micro.as_ref().map_or(1, MicroBatches::count)
    }

    /// The micro-batches of which a value exists; 0 stands for all of them.
    pub fn instances(&self, value: ValueId) -> Range<u64> {
        let Value { stage, varies, .. } = self.values[value];
        match varies {
            Varies::No => 0..1,
            Varies::Each => self.alike(stage),
            Varies::Last => self.alike(stage).end..self.micro_batches_of(stage).end,
        }
    }

    /// Whether a stage is of the only copy of the model, or of the first.
    pub fn is_of_first_copy(&self, stage: Stage) -> bool {
        self.cells.as_ref().is_none_or(|cells| cells.part_of(stage).1 == 0)
    }

    /// The micro-batches that a stage has to do with.
    pub fn micro_batches_of(&self, stage: Stage) -> Range<u64> {
        self.cells.as_ref().map_or(0..self.micro_batches(), |cells| cells.micro_batches(stage))
    }

    /// Those of them that are computed alike: all but the last, if that is unlike the others.
    pub fn alike(&self, stage: Stage) -> Range<u64> {
        let Range { start, end } = self.micro_batches_of(stage);
        if !self.bodies.iter().any(|b| b.is_last) {
            return start..end;
        }
        match (&self.cells, &self.micro) {
            (Some(cells), Some(micro)) => start..cells.last(stage, micro).start,
            (Some(_) | None, _) => start..end - 1,
        }
    }

    /// Whether a value has a part of the batch's rows, so that those of all micro-batches together
    /// are the whole tensor.
    pub fn has_rows(&self, value: ValueId) -> bool {
        let v = &self.values[value];
        self.micro.as_ref().is_none_or(|m| v.varies == Varies::No || v.shape.has(&m.dim))
    }

    /// Which of a value's instances belongs to a micro-batch.
    pub fn instance(&self, value: ValueId, micro: u64) -> usize {
        let Value { stage, varies, .. } = self.values[value];
        match varies {
            Varies::No | Varies::Last => 0,
            Varies::Each => micro.saturating_sub(self.micro_batches_of(stage).start) as usize,
        }
    }

    /// The values that stand for one in some micro-batch: itself and that of the last one, in each
    /// copy of the model.
    pub fn forms(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        let with_last = |v: ValueId| [Some(v), self.last_of.get(&v).copied()];
        let copy = self.copy_of.get(&value).copied();
        [Some(value), copy].into_iter().flatten().flat_map(with_last).flatten()
    }

    /// A value for each micro-batch, in their order.
    pub fn each(&self, value: ValueId) -> impl Iterator<Item = (ValueId, u64)> {
        let of = |v: ValueId| self.instances(v).map(move |micro| (v, micro));
        self.forms(value).flat_map(of)
    }

    /// The processors of a stage.
    pub fn pnums(&self, stage: Stage) -> impl Iterator<Item = Pnum> {
        let cell = self.cells.as_ref().map(|cells| (cells.axis(), cells.rank(stage)));
        let is_of =
            move |p: &Pnum| cell.is_none_or(|(axis, rank)| self.mesh.coord(*p, axis) == rank);
        self.mesh.pnums().filter(is_of)
    }

    /// The place of a stage's processors along the pipeline.
    pub fn rank(&self, stage: Stage) -> usize {
        self.cells.as_ref().map_or(0, |cells| cells.rank(stage) as usize)
    }

    /// How many places a pipeline has; 1 without one.
    pub fn ranks(&self) -> usize {
        self.cells.as_ref().map_or(1, |cells| self.mesh.size(cells.axis()) as usize)
    }

    /// The stage whose processors do a step.
    pub fn stage(&self, step: &Step) -> Stage {
        let sends = step.work == Work::Send;
        let value =
            if sends { None } else { step.output() }.or_else(|| step.inputs.first().copied());
        value.map_or(Stage(0), |v| self.values[v].stage)
    }

    /// The shape of the tensor for all micro-batches together.
    pub fn whole_shape(&self, value: ValueId) -> Shape {
        let v = &self.values[value];
        match self.micro.as_ref().filter(|_| v.varies != Varies::No) {
            Some(micro) => micro.whole_shape(&v.shape),
            None => v.shape.clone(),
        }
    }

    /// Where a processor's slice begins in the whole tensor, for a micro-batch.
    pub fn slice_begin(&self, value: ValueId, pnum: Pnum, micro: u64) -> Vec<u64> {
        let v = &self.values[value];
        let mut begin = v.layout.slice_begin(&v.shape, &self.mesh, pnum);
        if let Some(batches) = self.micro.as_ref().filter(|_| v.varies != Varies::No)
            && let Some(axis) = v.shape.axis(&batches.dim)
        {
            begin[axis.index()] += micro * batches.size;
        }
        begin
    }

    /// Bytes of one processor's slices of all sources, for each place along the pipeline.
    pub fn source_bytes(&self) -> Vec<u64> {
        let mut bytes = vec![0_u64; self.ranks()];
        for &source in &self.sources {
            let Range { start, end } = self.instances(source);
            let held = &mut bytes[self.rank(self.values[source].stage)];
            *held = held.saturating_add(self.slice_bytes(source).saturating_mul(end - start));
        }
        bytes
    }

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

    /// The mesh dimensions along which all processors compute a step alike: neither its operands
    /// nor its result are cut or pending over them, nor do the cells of a pipeline lie there.
    pub fn repeated(&self, step: &Step) -> Vec<MeshAxis> {
        let values = || step.inputs.iter().copied().chain(step.output());
        let is_used = |axis: MeshAxis| {
            self.cells.as_ref().is_some_and(|cells| cells.axis() == axis)
                || values().any(|v| self.values[v].layout.uses(axis))
        };
        let axes = self.mesh.axes().filter(|&axis| self.mesh.dim(axis).size > 1);
        if self.flops(step) == 0 { Vec::new() } else { axes.filter(|&a| !is_used(a)).collect() }
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
            | Work::TopK(..)
            | Work::Cumsum(..) => self.slice_elements(step.inputs[0]),
            Work::Tape(tape) => tape.flops().saturating_mul(self.slice_elements(output)),
            Work::Accumulate => self.slice_elements(output),
            Work::Rename
            | Work::Reshape
            | Work::Window(_)
            | Work::Gather(_)
            | Work::Collective(_)
            | Work::Assign
            | Work::Send
            | Work::Free => 0,
        }
    }
}
