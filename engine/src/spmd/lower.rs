//! Graph and layouts to the Program.
//!
//! Node by node: bring the operands into the layouts the operation works under, add the step that
//! computes, settle the result where the plan of lazy sums says so. Every change of layout goes
//! through `relayout`; a tensor that was once brought into a layout is reused in it. `bodies` says
//! in which body a node's step stands.

use super::bodies::{self, Bodies};
use super::collective::{Collective, CollectiveKind};
use super::field::Field;
use super::lazy::{self, Plan};
use super::program::{BodyKind, Frame, Program, Step, Value, Work};
use super::relayout::relayout;
use super::tape::{Instr, Tape};
use crate::graph::init::stream;
use crate::graph::op::{Edge, Op, Phase, Window};
use crate::graph::{Graph, Node};
use crate::index::{IdVec, Idx as _, MeshAxis, NodeId, TensorAxis, ValueId};
use crate::layout::dims::{Dimension, Name, Shape};
use crate::layout::mesh::Mesh;
use crate::layout::tensor::TensorLayout;
use crate::resolve::Layouts;

/// Lowers a graph all of whose layouts are legal; `None` if one is not.
pub fn lower(graph: &Graph, layouts: &Layouts, mesh: &Mesh) -> Option<Program> {
    if layouts.iter().any(Option::is_none) {
        return None;
    }
    let plan = lazy::plan(graph, layouts, mesh);
    let program = Program {
        mesh: mesh.clone(),
        dtype: graph.dtype,
        values: IdVec::new(),
        sources: Vec::new(),
        loss: None,
        micro: graph.micro.clone(),
        bodies: BodyKind::ALL.into_iter().collect(),
        steps: Vec::new(),
        order: bodies::order(graph.micro.as_ref()),
        of_node: graph.nodes().iter().map(|_| None).collect(),
    };
    let known = graph.nodes().iter().map(|_| Vec::new()).collect();
    let bodies = Bodies::of(graph);
    let made = IdVec::new();
    let mut lowering = Lowering { graph, layouts, mesh, plan, bodies, program, known, made };
    for id in graph.nodes().ids() {
        lowering.node(id)?;
    }
    if let Some(loss) = graph.loss {
        let value = match lowering.program.of_node[loss] {
            Some(value) => value,
            None => lowering.immediate(loss)?,
        };
        lowering.program.loss = Some(value);
    }
    lowering.program.steps.sort_by_key(|s| s.body);
    Some(lowering.program)
}

struct Lowering<'a> {
    graph: &'a Graph,
    layouts: &'a Layouts,
    mesh: &'a Mesh,
    plan: Plan,
    bodies: Bodies,
    program: Program,
    /// The values that hold a node's tensor, one per layout it was brought into.
    known: IdVec<NodeId, Vec<ValueId>>,
    /// The body that makes each value.
    made: IdVec<ValueId, BodyKind>,
}

/// Why a value is wanted in another layout: the node that asks, its phase, and where it does.
#[derive(Clone, Copy)]
struct Asker {
    node: NodeId,
    phase: Phase,
    body: BodyKind,
}

impl Lowering<'_> {
    fn node(&mut self, id: NodeId) -> Option<()> {
        let node = self.graph.node(id);
        match &node.op {
            Op::Source(_) => {
                let layout = self.layouts[id].clone()?;
                let value = self.value(id, layout, Vec::new(), BodyKind::Begin);
                self.program.sources.push(value);
            }
            Op::Constant(_) | Op::StepNumber | Op::Training | Op::Share => {
                // Written into the code of its users; a value only where the user named it.
                if node.is_named {
                    self.immediate(id)?;
                }
            }
            Op::Index => {
                let mut tape = Tape::new();
                tape.push(Instr::Index(0));
                self.compute(id, Work::Tape(tape), Vec::new());
            }
            Op::Elementwise(element) => {
                let mut tape = Tape::new();
                let mut inputs = Vec::new();
                let mut registers = Vec::new();
                for &input in &node.inputs {
                    let instr = if let Some(instr) = written(&self.graph.node(input).op) {
                        instr
                    } else {
                        inputs.push(self.operand(id, input)?);
                        Instr::Load(inputs.len() as u16 - 1)
                    };
                    registers.push(tape.push(instr));
                }
                tape.apply(*element, &registers);
                self.compute(id, Work::Tape(tape), inputs);
            }
            Op::Einsum => self.plain(id, Work::Einsum)?,
            Op::Reduce(reduction) => self.plain(id, Work::Reduce(*reduction))?,
            Op::Rename => self.plain(id, Work::Rename)?,
            Op::Reshape => self.plain(id, Work::Reshape)?,
            Op::Window(window) => self.window(id, window, true)?,
            Op::Unwindow(window) => self.window(id, window, false)?,
            Op::Gather(dim) => {
                let axis = self.graph.shape(node.inputs[0]).axis(dim)?;
                self.plain(id, Work::Gather(axis))?;
            }
            Op::Scatter(dim) => self.plain(id, Work::Scatter(node.shape.axis(dim)?))?,
            Op::TopK { from, .. } => {
                let axis = self.graph.shape(node.inputs[0]).axis(from)?;
                self.plain(id, Work::TopK(axis))?;
            }
            Op::Cumsum(dim, running) => {
                self.plain(id, Work::Cumsum(node.shape.axis(dim)?, *running))?;
            }
            Op::Noise(noise, name) => {
                let name = name.as_ref().unwrap_or(&node.name);
                let mut tape = Tape::new();
                tape.push(Instr::Noise(stream(self.graph.seed, name), *noise));
                self.compute(id, Work::Tape(tape), Vec::new());
            }
            Op::Accumulate => self.plain(id, Work::Accumulate)?,
            Op::StopGradient => {
                let value = self.operand(id, node.inputs[0])?;
                self.known[id].push(value);
                self.program.of_node[id] = Some(value);
            }
            Op::Assign => {
                let layout = self.layouts[id].clone()?;
                let asker = self.asker(id);
                let target = self.program.of_node[node.inputs[0]]?;
                let new = self.bring(node.inputs[1], &layout, asker)?;
                self.step(node, id, Work::Assign, vec![target, new], None);
            }
        }
        Some(())
    }

    fn plain(&mut self, id: NodeId, work: Work) -> Option<()> {
        let inputs = &self.graph.node(id).inputs;
        let inputs: Option<Vec<ValueId>> = inputs.iter().map(|&i| self.operand(id, i)).collect();
        self.compute(id, work, inputs?);
        Some(())
    }

    /// A window (or its adjoint): where the dimension is split, each processor first receives what
    /// its places read of other slices.
    fn window(&mut self, id: NodeId, window: &Window, forward: bool) -> Option<()> {
        let node = self.graph.node(id);
        let (read, made) =
            if forward { (&window.from, &window.to) } else { (&window.to, &window.from) };
        let old = self.graph.shape(node.inputs[0]);
        let axis = old.axis(read)?;
        let size = |shape: &Shape, dim: &Name| Some(shape.dim(shape.axis(dim)?).size);
        let axes = self.plan.splits[id].get(read).to_vec();
        let parts = self.mesh.group_size(&axes);
        let (local, places) = (size(old, read)? / parts, size(&node.shape, made)? / parts);
        let with_window = if forward { &node.shape } else { old };
        let taps = window.taps.as_ref().map_or(Some(1), |w| size(with_window, w))?;
        let mut frame = Frame {
            axis,
            stride: window.stride,
            dilation: window.dilation,
            offset: window.offset,
            edge: window.edge,
            has_window: window.taps.is_some(),
        };
        let mut input = self.operand(id, node.inputs[0])?;
        if parts > 1 {
            let field = if forward {
                Field::of_window(window, places, taps, local)
            } else {
                Field::of_unwindow(window, places, taps, local)?
            };
            // In its field, a window begins at the first position; the adjoint's places do at
            // `field.start`.
            frame.offset =
                if forward { 0 } else { window.offset + field.start * window.stride.cast_signed() };
            frame.edge = Edge::Zero;
            if !field.is_own() {
                input = self.receive(id, input, axis, field, axes)?;
            }
        }
        let work = if forward { Work::Window(frame) } else { Work::Unwindow(frame) };
        self.compute(id, work, vec![input]);
        Some(())
    }

    /// The slices of `from` extended to their fields along an axis.
    fn receive(
        &mut self,
        id: NodeId,
        from: ValueId,
        axis: TensorAxis,
        field: Field,
        axes: Vec<MeshAxis>,
    ) -> Option<ValueId> {
        let Value { name, shape, layout, pending, .. } = self.program.values[from].clone();
        let parts = self.mesh.group_size(&axes);
        let mut dims = shape.dims().to_vec();
        dims[axis.index()] =
            Dimension::new(Name::clone(&dims[axis.index()].name), field.length * parts);
        let shape = Shape::new(dims).ok()?;
        // It is no form of the tensor, so nobody else asks for it.
        let node = self.program.values[from].node;
        let varies = self.program.values[from].varies;
        let to = self.program.values.push(Value { node, name, shape, layout, pending, varies });
        self.made.push(self.bodies.of_node(id));
        let collective = Collective { kind: CollectiveKind::Receive(axis, field), axes };
        let work = Work::Collective(collective);
        self.step(self.graph.node(id), id, work, vec![from], Some(to));
        Some(to)
    }

    /// The value in which `user` reads `input`: still partial where the plan lets it travel.
    fn operand(&mut self, user: NodeId, input: NodeId) -> Option<ValueId> {
        if let Some(value) = self.program.of_node[input]
            && !self.program.values[value].layout.is_settled()
        {
            return Some(value);
        }
        let (splits, shape) = (&self.plan.splits[user], self.graph.shape(input));
        let asker = self.asker(user);
        // Mostly it is there already, and no layout need be made to see that.
        let body = self.bodies.of_relayout(input, asker.body);
        let serves = |v: ValueId| {
            self.made[v] <= body && splits.wants(&self.program.values[v].layout, shape)
        };
        if let Some(&same) = self.known[input].iter().find(|&&v| serves(v)) {
            return Some(same);
        }
        let wanted = splits.operand(shape, self.mesh)?;
        self.bring(input, &wanted, asker)
    }

    fn asker(&self, node: NodeId) -> Asker {
        Asker { node, phase: self.graph.node(node).phase, body: self.bodies.of_node(node) }
    }

    /// The node's tensor in a settled layout; adds the collectives that lead there.
    fn bring(&mut self, id: NodeId, wanted: &TensorLayout, asker: Asker) -> Option<ValueId> {
        let asker = Asker { body: self.bodies.of_relayout(id, asker.body), ..asker };
        let values = &self.program.values;
        let serves = |v: ValueId| values[v].layout == *wanted && self.made[v] <= asker.body;
        if let Some(&same) = self.known[id].iter().find(|&&v| serves(v)) {
            return Some(same);
        }
        let mut at = match self.program.of_node[id] {
            Some(value) => value,
            None => self.immediate(id)?,
        };
        let shape = self.graph.shape(id).clone();
        let from = self.program.values[at].layout.clone();
        for collective in relayout(&from, wanted, &shape, self.mesh) {
            at = self.collective(id, at, collective, asker)?;
        }
        Some(at)
    }

    fn collective(
        &mut self,
        id: NodeId,
        from: ValueId,
        collective: Collective,
        asker: Asker,
    ) -> Option<ValueId> {
        let before = &self.program.values[from];
        let layout = collective.retype(&before.layout, &before.shape, self.mesh).ok()?;
        let pending = if layout.is_settled() { Vec::new() } else { before.pending.clone() };
        let to = self.value(id, layout, pending, asker.body);
        self.program.steps.push(Step {
            work: Work::Collective(collective),
            inputs: vec![from],
            outputs: vec![to],
            phase: asker.phase,
            body: bodies::id(asker.body),
            node: asker.node,
            span: self.graph.node(asker.node).span,
        });
        Some(to)
    }

    /// Adds the step that computes a node and, where planned, those that settle its result.
    fn compute(&mut self, id: NodeId, work: Work, inputs: Vec<ValueId>) {
        let Some(raw) = self.plan.raw[id].clone() else { return };
        let mut pending: Vec<Name> = raw.contracted;
        for &input in &inputs {
            for name in &self.program.values[input].pending {
                if !pending.contains(name) {
                    pending.push(Name::clone(name));
                }
            }
        }
        let is_partial = !raw.layout.is_settled();
        if !is_partial {
            pending.clear();
        }
        let node = self.graph.node(id);
        let value = self.value(id, raw.layout, pending, self.bodies.of_result(id));
        self.step(node, id, work, inputs, Some(value));
        self.program.of_node[id] = Some(value);
        if is_partial && !self.plan.settles[id] {
            return;
        }
        if let Some(wanted) = self.layouts[id].clone() {
            let asker = Asker { body: self.bodies.of_result(id), ..self.asker(id) };
            if let Some(settled) = self.bring(id, &wanted, asker) {
                self.program.of_node[id] = Some(settled);
            }
        }
    }

    /// A value for a constant or the step number.
    fn immediate(&mut self, id: NodeId) -> Option<ValueId> {
        if let Some(&value) = self.known[id].first() {
            return Some(value);
        }
        let node = self.graph.node(id);
        let mut tape = Tape::new();
        tape.push(written(&node.op)?);
        let layout = self.layouts[id].clone()?;
        let value = self.value(id, layout, Vec::new(), self.bodies.of_node(id));
        self.step(node, id, Work::Tape(tape), Vec::new(), Some(value));
        self.program.of_node[id] = Some(value);
        Some(value)
    }

    fn value(
        &mut self,
        id: NodeId,
        layout: TensorLayout,
        pending: Vec<Name>,
        made: BodyKind,
    ) -> ValueId {
        let node = self.graph.node(id);
        let value = self.program.values.push(Value {
            node: id,
            name: Name::clone(&node.name),
            shape: node.shape.clone(),
            layout,
            pending,
            varies: self.bodies.varies(id),
        });
        self.made.push(made);
        self.known[id].push(value);
        if self.program.of_node[id].is_none() {
            self.program.of_node[id] = Some(value);
        }
        value
    }

    fn step(
        &mut self,
        node: &Node,
        id: NodeId,
        work: Work,
        inputs: Vec<ValueId>,
        output: Option<ValueId>,
    ) {
        let Node { phase, span, .. } = *node;
        let outputs = output.into_iter().collect();
        let body = bodies::id(self.bodies.of_node(id));
        self.program.steps.push(Step { work, inputs, outputs, phase, body, node: id, span });
    }
}

/// The instruction for an operation that is written into its users' code.
const fn written(op: &Op) -> Option<Instr> {
    if let Op::Constant(c) = op {
        Some(Instr::Constant(*c))
    } else if matches!(op, Op::StepNumber) {
        Some(Instr::StepNumber)
    } else if matches!(op, Op::Training) {
        Some(Instr::Training)
    } else if matches!(op, Op::Share) {
        Some(Instr::Share)
    } else {
        None
    }
}
