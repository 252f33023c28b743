//! Graph and layouts to the Program.
//!
//! Node by node: bring the operands into the layouts the operation works under, add the step that
//! computes, settle the result where the plan of lazy sums says so. Every change of layout goes
//! through `relayout`; a tensor that was once brought into a layout is reused in it. `bodies` says
//! in which body a node's step stands.

use super::bodies::{Bodies, Table};
use super::cells::Cells;
use super::collective::{Collective, CollectiveKind};
use super::field::Field;
use super::lazy::{self, Plan};
use super::program::{BodyKind, Frame, Program, Step, Value, Varies, Work};
use super::relayout::relayout;
use super::tape::{Instr, Tape};
use crate::graph::Graph;
use crate::graph::init::stream;
use crate::graph::op::{Edge, Op, Phase, Role, Window};
use crate::index::{BodyId, IdVec, Idx as _, MeshAxis, NodeId, Stage, TensorAxis, ValueId};
use crate::layout::dims::{Dimension, Name, Shape};
use crate::layout::mesh::Mesh;
use crate::layout::tensor::TensorLayout;
use crate::resolve::Layouts;
use std::collections::BTreeMap;

/// A graph with the layouts of its tensors.
#[derive(Debug, Clone, Copy)]
pub struct Model<'a> {
    /// Whole tensors.
    pub graph: &'a Graph,
    /// How they are laid out.
    pub layouts: &'a Layouts,
}

/// Lowers a graph all of whose layouts are legal; `None` if one is not. Where the last micro-batch
/// is unlike the others, `last` is the graph of it: the same tensors by name.
pub fn lower(
    model: Model<'_>,
    last: Option<Model<'_>>,
    mesh: &Mesh,
    cells: Option<&Cells>,
) -> Option<Program> {
    let all = [Some(model), last].into_iter().flatten();
    if all.flat_map(|m| m.layouts.iter()).any(Option::is_none) {
        return None;
    }
    let Model { graph, layouts } = model;
    let table = Table { stages: cells.map_or(1, Cells::stages), has_last: last.is_some() };
    let program = Program {
        mesh: mesh.clone(),
        dtype: graph.dtype,
        values: IdVec::new(),
        sources: Vec::new(),
        loss: None,
        micro: graph.micro.clone(),
        cells: cells.cloned(),
        bodies: table.list(),
        steps: Vec::new(),
        order: table.order(graph.micro.as_ref(), cells),
        of_node: IdVec::new(),
        last_of: BTreeMap::new(),
    };
    let plan = lazy::plan(graph, layouts, mesh, None);
    let settles = plan.settles.clone();
    let none = || graph.nodes().iter().map(|_| None).collect();
    let mut first = Lowering {
        graph,
        layouts,
        mesh,
        plan,
        bodies: Bodies::of(graph, cells),
        table,
        main: None,
        elsewhere: None,
        program,
        known: graph.nodes().iter().map(|_| Vec::new()).collect(),
        of_node: none(),
        raw: none(),
        made: IdVec::new(),
    };
    for id in graph.nodes().ids() {
        first.node(id)?;
    }
    if let Some(loss) = graph.loss {
        let value = match first.of_node[loss] {
            Some(value) => value,
            None => first.immediate(loss)?,
        };
        first.program.loss = Some(value);
    }
    let Lowering { mut program, known, of_node, raw, made, .. } = first;
    if let Some(last) = last {
        let seen = Seen { graph, settles, known, of_node: of_node.clone(), raw };
        program = seen.last(program, made, last, mesh, (table, cells))?;
    }
    program.of_node = of_node;
    program.steps.sort_by_key(|s| s.body);
    Some(program)
}

/// What lowering the micro-batches but the last has left.
struct Seen<'a> {
    graph: &'a Graph,
    settles: IdVec<NodeId, bool>,
    known: IdVec<NodeId, Vec<ValueId>>,
    of_node: IdVec<NodeId, Option<ValueId>>,
    raw: IdVec<NodeId, Option<ValueId>>,
}

impl Seen<'_> {
    /// Adds what the last micro-batch computes; what does not vary is there already.
    fn last(
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
        let shared = |id: NodeId| main[id].filter(|_| !bodies.varies(id));
        let of = |id: NodeId, table: &IdVec<NodeId, Option<ValueId>>| table[shared(id)?];
        let mut last = Lowering {
            graph,
            layouts,
            mesh,
            plan: lazy::plan(graph, layouts, mesh, Some(settles)),
            known: graph
                .nodes()
                .ids()
                .map(|id| shared(id).map_or_else(Vec::new, |id| self.known[id].clone()))
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

struct Lowering<'a> {
    graph: &'a Graph,
    layouts: &'a Layouts,
    mesh: &'a Mesh,
    plan: Plan,
    bodies: Bodies,
    table: Table,
    /// For the last micro-batch, the same nodes in the graph of the others.
    main: Option<IdVec<NodeId, Option<NodeId>>>,
    /// The stage for which a node of another stage is computed once more.
    elsewhere: Option<Stage>,
    program: Program,
    /// The values that hold a node's tensor, one per stage and layout it was brought into.
    known: IdVec<NodeId, Vec<ValueId>>,
    /// The value of each node when its own step is done.
    of_node: IdVec<NodeId, Option<ValueId>>,
    /// The value that each node's own step makes.
    raw: IdVec<NodeId, Option<ValueId>>,
    /// The body that makes each value.
    made: IdVec<ValueId, BodyKind>,
}

/// Why a value is wanted in another layout: the node that asks, its phase, and where it does.
#[derive(Clone, Copy)]
struct Asker {
    node: NodeId,
    phase: Phase,
    body: BodyKind,
    stage: Stage,
}

impl Lowering<'_> {
    fn node(&mut self, id: NodeId) -> Option<()> {
        let node = self.graph.node(id);
        match &node.op {
            Op::Source(_) => {
                self.source(id)?;
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
                self.of_node[id] = Some(value);
            }
            Op::Assign => {
                let layout = self.layouts[id].clone()?;
                let asker = self.asker(id);
                let target = self.of_node[node.inputs[0]]?;
                let new = self.bring(node.inputs[1], &layout, asker)?;
                self.step(id, Work::Assign, vec![target, new], None);
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
        let Value { node, stage, varies, .. } = self.program.values[from];
        let to = Value { node, name, shape, layout, pending, stage, varies };
        let to = self.program.values.push(to);
        self.made.push(self.bodies.of_node(id));
        let collective = Collective { kind: CollectiveKind::Receive(axis, field), axes };
        let work = Work::Collective(collective);
        self.step(id, work, vec![from], Some(to));
        Some(to)
    }

    /// The value in which `user` reads `input`: still partial where the plan lets it travel.
    fn operand(&mut self, user: NodeId, input: NodeId) -> Option<ValueId> {
        let stage = self.stage(user);
        if let Some(value) = self.of_node[input]
            && !self.program.values[value].layout.is_settled()
            && self.program.values[value].stage == stage
        {
            return Some(value);
        }
        let (splits, shape) = (&self.plan.splits[user], self.graph.shape(input));
        let asker = self.asker(user);
        // Mostly it is there already, and no layout need be made to see that.
        let here = Asker { body: self.bodies.of_relayout(input, asker.body), ..asker };
        if let Some(same) = self.known_as(input, |layout| splits.wants(layout, shape), here) {
            return Some(same);
        }
        let wanted = splits.operand(shape, self.mesh)?;
        self.bring(input, &wanted, asker)
    }

    fn stage(&self, node: NodeId) -> Stage {
        self.elsewhere.unwrap_or_else(|| self.graph.stage(node))
    }

    fn asker(&self, node: NodeId) -> Asker {
        let phase = self.graph.node(node).phase;
        Asker { node, phase, body: self.bodies.of_node(node), stage: self.stage(node) }
    }

    /// The node's tensor in a settled layout where it is asked for; adds the collectives that lead
    /// there.
    fn bring(&mut self, id: NodeId, wanted: &TensorLayout, asker: Asker) -> Option<ValueId> {
        let asker = Asker { body: self.bodies.of_relayout(id, asker.body), ..asker };
        if let Some(same) = self.known_as(id, |layout| layout == wanted, asker) {
            return Some(same);
        }
        let mut at = self.at_stage(id, asker)?;
        let shape = self.graph.shape(id).clone();
        let from = self.program.values[at].layout.clone();
        for collective in relayout(&from, wanted, &shape, self.mesh) {
            at = self.collective(id, at, collective, asker)?;
        }
        Some(at)
    }

    fn known_as(
        &self,
        id: NodeId,
        is_wanted: impl Fn(&TensorLayout) -> bool,
        asker: Asker,
    ) -> Option<ValueId> {
        let serves = |v: &ValueId| {
            let value = &self.program.values[*v];
            is_wanted(&value.layout) && value.stage == asker.stage && self.made[*v] <= asker.body
        };
        self.known[id].iter().copied().find(serves)
    }

    /// The node's tensor on the processors of the stage that asks.
    fn at_stage(&mut self, id: NodeId, asker: Asker) -> Option<ValueId> {
        if written(&self.graph.node(id).op).is_some() {
            let before = (self.elsewhere.replace(asker.stage), self.of_node[id]);
            let value = self.immediate(id);
            self.elsewhere = before.0;
            self.of_node[id] = before.1.or(value);
            return value;
        }
        let own = self.of_node[id]?;
        if self.program.values[own].stage == asker.stage {
            return Some(own);
        }
        let settled = self.layouts[id].clone()?;
        if let Some(here) = self.known_as(id, |layout| *layout == settled, asker) {
            return Some(here);
        }
        let node = self.graph.node(id);
        if node.role == Role::Input {
            // Fed where it is read.
            let before = self.elsewhere.replace(asker.stage);
            let value = self.source(id);
            (self.elsewhere, self.of_node[id]) = (before, Some(own));
            return value;
        }
        if self.bodies.is_fixed(id) {
            let before = self.elsewhere.replace(asker.stage);
            self.node(id)?;
            let here = self.of_node[id];
            (self.elsewhere, self.of_node[id]) = (before, Some(own));
            return here;
        }
        self.hop(id, own, asker)
    }

    /// Sends a settled value to the processors of another stage.
    fn hop(&mut self, id: NodeId, own: ValueId, asker: Asker) -> Option<ValueId> {
        let Value { stage: from, layout, .. } = self.program.values[own].clone();
        let sent = if self.bodies.varies(id) { self.made[own] } else { asker.body };
        let cells = self.program.cells.as_ref()?;
        let sends = cells.rank(from) != cells.rank(asker.stage);
        let axes = vec![cells.axis()];
        let at = Asker { body: sent, ..asker };
        let message = self.value_at(id, layout.clone(), Vec::new(), at);
        // On its way it is of use to nobody.
        self.known[id].pop();
        self.push(Work::Send, own, message, self.table.id(sent, from, self.main.is_some()), asker);
        let value = self.value_at(id, layout, Vec::new(), asker);
        let work = Work::Collective(Collective { kind: CollectiveKind::Hop { from, sends }, axes });
        self.push(work, message, value, self.body(asker), asker);
        Some(value)
    }

    fn push(&mut self, work: Work, from: ValueId, to: ValueId, body: BodyId, asker: Asker) {
        let (inputs, outputs) = (vec![from], vec![to]);
        let Asker { node, phase, .. } = asker;
        let (node, span) = (self.main_node(node), self.graph.node(node).span);
        self.program.steps.push(Step { work, inputs, outputs, phase, body, node, span });
    }

    fn body(&self, asker: Asker) -> BodyId {
        self.table.id(asker.body, asker.stage, self.main.is_some())
    }

    /// The node in the graph that the Program speaks of.
    fn main_node(&self, id: NodeId) -> NodeId {
        match &self.main {
            None => id,
            Some(main) => main[id].unwrap_or(NodeId::new(0)),
        }
    }

    fn source(&mut self, id: NodeId) -> Option<ValueId> {
        let asker = Asker { body: BodyKind::Begin, ..self.asker(id) };
        let value = self.value_at(id, self.layouts[id].clone()?, Vec::new(), asker);
        self.of_node[id] = Some(value);
        self.program.sources.push(value);
        Some(value)
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
        let to = self.value_at(id, layout, pending, asker);
        self.push(Work::Collective(collective), from, to, self.body(asker), asker);
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
        let result = Asker { body: self.bodies.of_result(id), ..self.asker(id) };
        // The last micro-batch adds to what the others accumulate in.
        if let (Op::Accumulate, Some(_), Some(value)) = (&node.op, &self.main, self.raw[id]) {
            self.step(id, work, inputs, Some(value));
            return;
        }
        let value = self.value_at(id, raw.layout, pending, result);
        self.step(id, work, inputs, Some(value));
        self.of_node[id] = Some(value);
        self.raw[id] = Some(value);
        if is_partial && !self.plan.settles[id] {
            return;
        }
        if let Some(wanted) = self.layouts[id].clone()
            && let Some(settled) = self.bring(id, &wanted, result)
        {
            self.of_node[id] = Some(settled);
        }
    }

    /// A value for a constant or the step number.
    fn immediate(&mut self, id: NodeId) -> Option<ValueId> {
        let asker = self.asker(id);
        let layout = self.layouts[id].clone()?;
        if let Some(value) = self.known_as(id, |known| *known == layout, asker) {
            return Some(value);
        }
        let node = self.graph.node(id);
        let mut tape = Tape::new();
        tape.push(written(&node.op)?);
        let value = self.value_at(id, layout, Vec::new(), asker);
        self.step(id, Work::Tape(tape), Vec::new(), Some(value));
        self.of_node[id] = Some(value);
        Some(value)
    }

    /// A value made where the asker says.
    fn value_at(
        &mut self,
        id: NodeId,
        layout: TensorLayout,
        pending: Vec<Name>,
        asker: Asker,
    ) -> ValueId {
        let node = self.graph.node(id);
        let varies = match (self.bodies.varies(id), &self.main) {
            (false, _) => Varies::No,
            (true, None) => Varies::Each,
            (true, Some(_)) => Varies::Last,
        };
        let value = self.program.values.push(Value {
            node: self.main_node(id),
            name: Name::clone(&node.name),
            shape: node.shape.clone(),
            layout,
            pending,
            stage: asker.stage,
            varies,
        });
        self.made.push(asker.body);
        self.known[id].push(value);
        value
    }

    /// The step of a node.
    fn step(&mut self, id: NodeId, work: Work, inputs: Vec<ValueId>, output: Option<ValueId>) {
        let asker = self.asker(id);
        let (node, span) = (self.main_node(id), self.graph.node(id).span);
        let (outputs, phase, body) = (output.into_iter().collect(), asker.phase, self.body(asker));
        self.program.steps.push(Step { work, inputs, outputs, phase, body, node, span });
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
