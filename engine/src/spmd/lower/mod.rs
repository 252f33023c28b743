//! Graph and layouts to the Program.
//!
//! Node by node: bring the operands into the layouts the operation works under, add the step that
//! computes, settle the result where the plan of lazy sums says so. Every change of layout goes
//! through `relayout`; a tensor that was once brought into a layout is reused in it. `bodies` says
//! in which body a node's step stands.
//!
//! `reach` brings a tensor to where it is asked for, `window` receives what lies in other slices,
//! `ranked` finds the greatest along a split dimension, and `last` lowers the last micro-batch where
//! it is unlike the others. Where there are two copies of the model, the second is made of the first
//! by `copy`.

mod last;
mod ranked;
mod reach;
mod window;

use self::last::Seen;
use crate::graph::Graph;
use crate::graph::init::stream;
use crate::graph::op::{Op, Phase};
use crate::index::{BodyId, IdVec, Idx as _, NodeId, Stage, ValueId};
use crate::layout::dims::Name;
use crate::layout::mesh::Mesh;
use crate::layout::tensor::TensorLayout;
use crate::resolve::Layouts;
use crate::spmd::bodies::{Bodies, Table};
use crate::spmd::cells::Cells;
use crate::spmd::copy::copy;
use crate::spmd::flow::Outcome;
use crate::spmd::lazy::{self, Plan};
use crate::spmd::program::{BodyKind, Program, Step, Value, ValueIds, Varies, Work};
use crate::spmd::tape::{Instr, Tape};
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, BTreeSet};

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
    let mut early = BTreeSet::new();
    loop {
        let program = lower_settling(model, last, mesh, cells, &early)?;
        let unlike = if last.is_some() { unlike(&program) } else { BTreeSet::new() };
        if unlike.is_empty() {
            return Some(program);
        }
        let known = early.len();
        early.extend(unlike);
        if early.len() == known {
            return None;
        }
    }
}

/// The same without laziness, on one cell: every sum settles where it arises. Against this it is
/// measured what laziness saves.
pub fn lower_at_once(model: Model<'_>, mesh: &Mesh) -> Option<Program> {
    lower_settling(model, None, mesh, None, &model.graph.nodes().ids().collect())
}

/// What the last micro-batch adds in another layout than the others, such as a settled value where
/// theirs are partial sums. It has to settle before it is added.
fn unlike(program: &Program) -> BTreeSet<NodeId> {
    let sums = program.steps.iter().filter(|step| step.work == Work::Accumulate);
    let ends = sums.filter_map(|step| Some((step.inputs[0], step.output()?)));
    let values = ends.map(|(added, sum)| (&program.values[added], &program.values[sum]));
    values.filter(|(added, sum)| added.layout != sum.layout).map(|(added, _)| added.node).collect()
}

/// The same; the nodes `early` settle at once, whatever that costs.
fn lower_settling(
    model: Model<'_>,
    last: Option<Model<'_>>,
    mesh: &Mesh,
    cells: Option<&Cells>,
    early: &BTreeSet<NodeId>,
) -> Option<Program> {
    let all = [Some(model), last].into_iter().flatten();
    if all.flat_map(|m| m.layouts.iter()).any(Option::is_none) {
        return None;
    }
    let Model { graph, layouts } = model;
    let count = graph.nodes().len();
    let table = Table { stages: cells.map_or(1, Cells::stages), has_last: last.is_some() };
    let program = Program {
        mesh: mesh.clone(),
        dtype: graph.dtype,
        values: IdVec::with_capacity(count),
        sources: Vec::new(),
        loss: None,
        micro: graph.micro.clone(),
        cells: cells.cloned(),
        bodies: table.list(),
        steps: Vec::with_capacity(count),
        order: table.order(graph.micro.as_ref(), cells),
        of_node: IdVec::new(),
        last_of: BTreeMap::new(),
        copy_of: BTreeMap::new(),
    };
    let bodies = Bodies::of(graph, cells);
    let mut plan = lazy::plan(graph, layouts, mesh, &bodies, None);
    if !early.is_empty() {
        for &id in early {
            plan.settles[id] = true;
        }
        plan = lazy::plan(graph, layouts, mesh, &bodies, Some(plan.settles));
    }
    let settles = plan.settles.clone();
    let none = || graph.nodes().iter().map(|_| None).collect();
    let mut first = Lowering {
        graph,
        layouts,
        mesh,
        plan,
        bodies,
        table,
        main: None,
        elsewhere: None,
        program,
        known: graph.nodes().iter().map(|_| ValueIds::new()).collect(),
        of_node: none(),
        raw: none(),
        made: IdVec::with_capacity(count),
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
    copy(&mut program, table);
    Some(program)
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
    known: IdVec<NodeId, ValueIds>,
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
            Op::Constant(_) | Op::StepNumber | Op::Training | Op::Share | Op::One => {
                // Written into the code of its users; a value only where the user named it.
                if node.is_named {
                    self.immediate(id)?;
                }
            }
            Op::Index => {
                let mut tape = Tape::new();
                tape.push(Instr::Index(0));
                self.compute(id, Work::Tape(tape), ValueIds::new());
            }
            Op::Elementwise(element) => {
                let mut tape = Tape::new();
                let mut inputs = ValueIds::new();
                let mut registers: SmallVec<[u16; 4]> = SmallVec::new();
                for (k, &input) in node.inputs.iter().enumerate() {
                    let instr = if let Some(instr) = written(&self.graph.node(input).op) {
                        instr
                    } else {
                        inputs.push(self.operand(id, k)?);
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
            Op::TopK { .. } => self.top_k(id)?,
            Op::Cumsum(dim, running) => {
                self.plain(id, Work::Cumsum(node.shape.axis(dim)?, *running))?;
            }
            Op::Noise(noise, name) => {
                let name = name.as_ref().unwrap_or(&node.name);
                let mut tape = Tape::new();
                tape.push(Instr::Noise(stream(self.graph.seed, name), *noise));
                self.compute(id, Work::Tape(tape), ValueIds::new());
            }
            Op::Accumulate => self.plain(id, Work::Accumulate)?,
            Op::StopGradient => {
                let value = self.operand(id, 0)?;
                self.known[id].push(value);
                self.of_node[id] = Some(value);
            }
            Op::Assign => {
                let layout = self.layouts[id].clone()?;
                let asker = self.asker(id);
                let target = self.of_node[node.inputs[0]]?;
                let new = self.bring(node.inputs[1], &layout, asker)?;
                self.step(id, Work::Assign, smallvec![target, new], None);
            }
        }
        Some(())
    }

    fn plain(&mut self, id: NodeId, work: Work) -> Option<()> {
        let operands = 0..self.graph.node(id).inputs.len();
        let inputs: Option<ValueIds> = operands.map(|k| self.operand(id, k)).collect();
        self.compute(id, work, inputs?);
        Some(())
    }

    fn push(&mut self, work: Work, from: ValueId, to: ValueId, body: BodyId, asker: Asker) {
        let (inputs, outputs) = (smallvec![from], smallvec![to]);
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

    /// Adds the step that computes a node and, where planned, those that settle its result.
    fn compute(&mut self, id: NodeId, work: Work, inputs: ValueIds) {
        let Some(raw) = self.plan.raw[id].clone() else { return };
        let is_partial = !raw.layout.is_settled();
        let pending = if is_partial { self.pending(&raw, &inputs) } else { Vec::new() };
        let node = self.graph.node(id);
        let result = Asker { body: self.bodies.of_result(id), ..self.asker(id) };
        // The last micro-batch adds to what the others accumulate in.
        if let (Op::Accumulate, Some(_), Some(value)) = (&node.op, &self.main, self.raw[id]) {
            self.step(id, work, inputs, Some(value));
            return;
        }
        let value = self.value_at(id, raw.layout.clone(), pending, result);
        self.step(id, work, inputs, Some(value));
        self.of_node[id] = Some(value);
        self.raw[id] = Some(value);
        if is_partial && !self.plan.settles[id] {
            return;
        }
        let layouts = self.layouts;
        if let Some(wanted) = &layouts[id]
            && let Some(settled) = self.bring(id, wanted, result)
        {
            self.of_node[id] = Some(settled);
        }
    }

    /// The dimensions whose sum is pending in a partial result.
    fn pending(&self, raw: &Outcome, inputs: &[ValueId]) -> Vec<Name> {
        let mut pending = raw.contracted.clone();
        for &input in inputs {
            for name in &self.program.values[input].pending {
                if !pending.contains(name) {
                    pending.push(Name::clone(name));
                }
            }
        }
        pending
    }

    /// A value for a constant or the step number.
    fn immediate(&mut self, id: NodeId) -> Option<ValueId> {
        let asker = self.asker(id);
        let layout = self.layouts[id].clone()?;
        if let Some(value) = self.known_as(id, &layout, asker) {
            return Some(value);
        }
        let node = self.graph.node(id);
        let mut tape = Tape::new();
        tape.push(written(&node.op)?);
        let value = self.value_at(id, layout, Vec::new(), asker);
        self.step(id, Work::Tape(tape), ValueIds::new(), Some(value));
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
        let value = self.program.values.push(Value {
            node: self.main_node(id),
            name: Name::clone(&node.name),
            shape: node.shape.clone(),
            layout,
            pending,
            stage: asker.stage,
            varies: self.varies(id),
        });
        self.made.push(asker.body);
        self.known[id].push(value);
        value
    }

    /// For which micro-batches what a node makes is another.
    fn varies(&self, id: NodeId) -> Varies {
        match (self.bodies.varies(id), &self.main) {
            (false, _) => Varies::No,
            (true, None) => Varies::Each,
            (true, Some(_)) => Varies::Last,
        }
    }

    /// A value on the way to that of a node; it is no form of the tensor it is named after, so
    /// nobody else asks for it.
    fn beside(&mut self, id: NodeId, value: Value) -> ValueId {
        let value = self.program.values.push(Value { varies: self.varies(id), ..value });
        self.made.push(self.bodies.of_node(id));
        value
    }

    /// The step of a node.
    fn step(&mut self, id: NodeId, work: Work, inputs: ValueIds, output: Option<ValueId>) {
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
    } else if matches!(op, Op::One) {
        Some(Instr::Constant(1.0))
    } else {
        None
    }
}
