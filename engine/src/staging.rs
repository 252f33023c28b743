//! The `pipeline` statement: what it says, and how the layers of a model become the stages of one.
//!
//! ```text
//! pipeline over:stages micro_batches:8 schedule:1f1b
//!   read   the mesh dimension that carries the cells, the schedule, its limits
//!   cut    flops of each layer ──partition──▶ the stage of each layer ──▶ the cells' order
//! ```

use crate::diag::{Code, Diagnostic, Hint, Span, nearest};
use crate::graph::Graph;
use crate::graph::build::micro::Cutting;
use crate::graph::build::{Built, build};
use crate::graph::options::Reader;
use crate::graph::train::MAX_MICRO_BATCHES;
use crate::index::{BodyId, IdVec, MeshAxis, NodeId, Stage, ValueId};
use crate::layout::mesh::Mesh;
use crate::layout::rules::LayoutRules;
use crate::pipeline::needs::When;
use crate::pipeline::order::Extent;
use crate::pipeline::partition::Partition;
use crate::pipeline::recompute::{Remat, recompute};
use crate::pipeline::schedule::Schedule;
use crate::pipeline::schedule::limit::Quantity;
use crate::pipeline::simulate::{Costs, StageCosts, simulate};
use crate::resolve::{Layouts, Places, resolve};
use crate::spec::ast::{Opt, OptValue, Spec, Stmt};
use crate::spmd::cells::Cells;
use crate::spmd::collective::Collective;
use crate::spmd::lower::{Model, lower};
use crate::spmd::program::{Body, BodyKind, Program, Step};
use crate::spmd::run::{MeshImpl, walk};
use crate::timeline::Timeline;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// The options of `pipeline`.
const OPTIONS: &[&str] = &[
    "over",
    "cells",
    "micro_batches",
    "chunks",
    "schedule",
    "remat",
    "batch",
    "balance",
    "costs",
    "hop",
];

/// What a `pipeline` statement says.
#[derive(Debug, Clone)]
pub struct Pipe {
    axis: MeshAxis,
    extent: Extent,
    schedule: Schedule,
    remat: Remat,
    batch: Option<String>,
    /// Layers of each stage, where the user counts them.
    balance: Option<(Vec<u64>, Span)>,
    /// What each layer costs, where the user says so.
    costs: Option<(Vec<f64>, Span)>,
    /// How long a hop takes, in forward tasks of a stage.
    hop: f64,
    span: Span,
}

impl Pipe {
    /// Reads the statement; `None` if there is none or it is wrong.
    pub fn read(
        spec: &Spec,
        mesh: &Mesh,
        rules: &LayoutRules,
        places: &Places,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let (options, span) = spec.items.iter().find_map(|item| {
            if let Stmt::Pipeline(options) = &item.stmt { Some((options, item.span)) } else { None }
        })?;
        let before = diagnostics.len();
        let mut read = Reader::new("pipeline", options, OPTIONS, diagnostics);
        let axis = over(&mut read, mesh, span);
        let schedule = schedule(&mut read);
        let micro_batches = read.whole("micro_batches", 1, MAX_MICRO_BATCHES);
        let chunks = read.whole("chunks", 1, 1 << 10);
        let remat = Remat::ALL.map(|(remat, word)| (word, remat));
        let remat = read.choice("remat", &remat).unwrap_or(Remat::Never);
        let hop = read.at_least_zero("hop").unwrap_or(0.0);
        let batch = read.word("batch").map(str::to_owned);
        let whole = |n: f64| (n.fract() == 0.0 && n >= 1.0).then_some(n as u64);
        let balance =
            numbers(&mut read, "balance", "the number of layers of each stage: (4 4)", whole);
        let any = |n: f64| (n >= 0.0 && n.is_finite()).then_some(n);
        let costs = numbers(&mut read, "costs", "the cost of each layer: (1 1 2)", any);
        let axis = axis?;
        let ranks = mesh.size(axis);
        if let Some(cells) = read.whole("cells", 1, 1 << 20)
            && cells != ranks
            && let Some(option) = read.get("cells")
        {
            let name = &mesh.dim(axis).name;
            let message =
                format!("There are {cells} cells, and `{name}` has {ranks} places for them");
            let d = Diagnostic::error(Code::Pipeline, option.span, message);
            read.report(d.hint(Hint::edit("Have as many.", option.span, format!("cells:{ranks}"))));
        }
        let mesh_dim = &mesh.dim(axis).name;
        for rule in rules.rules().iter().filter(|r| r.mesh_dims.contains(mesh_dim)) {
            let span = places.rules.get(&rule.dim).copied().unwrap_or(span);
            let message = format!(
                "`{mesh_dim}` carries the cells of the pipeline, so `{}` cannot be split over it",
                rule.dim
            );
            let d = Diagnostic::error(Code::Pipeline, span, message);
            read.report(d.hint(Hint::edit(format!("Leave `{}` whole.", rule.dim), span, "")));
        }
        let schedule = schedule?;
        let extent = Extent {
            ranks: ranks as u32,
            micro_batches: micro_batches.unwrap_or(ranks) as u32,
            chunks: chunks.map_or_else(|| schedule.default_chunks(), |c| c as u32),
        };
        limits(&mut read, schedule, extent, span);
        let is_wrong = diagnostics[before..].iter().any(Diagnostic::is_error);
        let pipe = Self { axis, extent, schedule, remat, batch, balance, costs, hop, span };
        (!is_wrong).then_some(pipe)
    }

    /// How it has the batch cut.
    pub fn cutting(&self) -> Cutting {
        let count = u64::from(self.extent.micro_batches);
        Cutting { is_pipeline: true, ..Cutting::new(self.batch.as_deref(), count, self.span) }
    }

    /// Its schedule.
    pub const fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Whether the last micro-batch keeps what the others compute again.
    pub fn remat_of_last(&self) -> bool {
        self.remat == Remat::Always
    }

    /// Whether micro-batches compute activations again.
    pub fn remat(&self) -> bool {
        self.remat != Remat::Never
    }

    /// The stage of each layer, and the order of the cells; `plain` is the model on one cell.
    pub fn cut(&self, graph: &Graph, plain: &Program) -> Result<(Vec<Stage>, Cells), Diagnostic> {
        let layers = graph.layers.len();
        let stages = self.extent.stages() as usize;
        let fault = |message: String, span| Diagnostic::error(Code::Pipeline, span, message);
        let costs = match &self.costs {
            Some((costs, span)) if costs.len() != layers => {
                let message =
                    format!("`costs` lists {} layers, the model has {layers}", costs.len());
                return Err(fault(message, *span).hint(listed(graph)));
            }
            Some((costs, _)) => costs.clone(),
            None => layer_costs(graph, plain),
        };
        let partition = match &self.balance {
            Some((counts, span)) => {
                let total: u64 = counts.iter().sum();
                if counts.len() != stages || total != layers as u64 {
                    let message = format!(
                        "`balance` gives {} stages {total} layers; there are {stages} stages and {layers} layers",
                        counts.len()
                    );
                    return Err(fault(message, *span).hint(listed(graph)));
                }
                let ends = counts.iter().scan(0, |sum, n| {
                    *sum += *n as usize;
                    Some(*sum)
                });
                let ends: Vec<usize> = ends.collect();
                Partition::by_hand(&ends[..ends.len() - 1], layers)
            }
            None => Partition::of_costs(&costs, stages),
        };
        let partition = partition.map_err(|e| {
            let message = format!("The model cannot be cut into {stages} stages: {e}");
            fault(message, self.span).hint(listed(graph))
        })?;
        let stage = |layer| Stage(partition.cell(layer) as u32);
        // Few rows may make fewer micro-batches than asked for.
        let count = plain.micro_batches() as u32;
        let extent = Extent { micro_batches: count, ..self.extent };
        let order = self.schedule.order(extent).map_err(|limits| {
            let why = limits.first().map(ToString::to_string).unwrap_or_default();
            fault(format!("`{}`: {why}", self.schedule.name()), self.span)
        })?;
        let order = recompute(&order, self.remat);
        let cells = Cells::new(self.axis, order)
            .ok_or_else(|| fault(format!("`{}` never ends", self.schedule.name()), self.span))?;
        Ok(((0..layers).map(stage).collect(), cells))
    }

    /// Who does what when, if a floating point operation takes one unit of time.
    pub fn timeline(&self, program: &Program) -> Option<Timeline> {
        let cells = program.cells.as_ref()?;
        let mut flops = Flops { program, of: BTreeMap::new() };
        let Ok(()) = walk(program, &mut flops);
        let of = |stage, kind| flops.of_body(|body| (body.stage, body.kind) == (stage, kind));
        let costs = |stage: Stage| {
            let input_gradient = of(stage, BodyKind::Backward);
            let weight_gradient = of(stage, BodyKind::WeightGradient);
            StageCosts {
                forward: of(stage, BodyKind::Forward),
                recompute: of(stage, BodyKind::Recompute),
                backward: input_gradient + weight_gradient,
                input_gradient,
                weight_gradient,
            }
        };
        let stages: IdVec<Stage, StageCosts> = (0..cells.stages()).map(Stage).map(costs).collect();
        let mean = stages.iter().map(|s| s.forward).sum::<f64>() / f64::from(cells.stages());
        let costs = Costs { stages, hop: self.hop * mean, overlap: 0.0, when: When::Early };
        simulate(cells.order(), &costs).ok()
    }
}

/// The mesh dimension that carries the cells.
fn over(read: &mut Reader<'_, '_>, mesh: &Mesh, span: Span) -> Option<MeshAxis> {
    let Some(option) = read.get("over") else {
        if let ([_], Some(only)) = (mesh.dims(), mesh.axes().next()) {
            return Some(only);
        }
        let message = "The pipeline does not say which mesh dimension carries its cells";
        let mut d = Diagnostic::error(Code::Pipeline, span, message);
        for dim in mesh.dims() {
            let end = Span::new(span.start + 8, span.start + 8);
            let text = format!("Run it over `{}`.", dim.name);
            d = d.hint(Hint::edit(text, end, format!(" over:{}", dim.name)));
        }
        if mesh.dims().is_empty() {
            d = d.hint(Hint::edit(
                "Add a mesh.",
                Span::new(span.start, span.start),
                "mesh stages:2\n",
            ));
        }
        read.report(d);
        return None;
    };
    let name = read.word("over")?;
    if let Some(axis) = mesh.axis(name) {
        return Some(axis);
    }
    let message = format!("The mesh has no dimension `{name}` to carry the cells");
    let mut d = Diagnostic::error(Code::Pipeline, option.value_span, message);
    if let Some(near) = nearest(name, mesh.dims().iter().map(|d| &*d.name)) {
        d = d.hint(Hint::edit(format!("Write `{near}`."), option.value_span, near));
    }
    read.report(d);
    None
}

fn schedule(read: &mut Reader<'_, '_>) -> Option<Schedule> {
    let Some(option) = read.get("schedule") else { return Some(Schedule::GPipe) };
    // `1f1b` reads as a word, 1 as a number: either is no name if it is not in the list.
    let found = match &option.value {
        OptValue::Word(word) => Schedule::named(word),
        OptValue::Number(_) | OptValue::List(_) | OptValue::Call { .. } => None,
    };
    if let Some(schedule) = found {
        if schedule.copies() == 1 {
            return Some(schedule);
        }
        let message = format!(
            "`{}` keeps {} copies of the parameters, on two ranks each; a study keeps one",
            schedule.name(),
            schedule.copies()
        );
        let d = Diagnostic::error(Code::Pipeline, option.value_span, message);
        let name = Schedule::DualPipeV.name();
        let text = format!("Take `{name}`, the same with one copy.");
        read.report(d.hint(Hint::edit(text, option.value_span, name)));
        return None;
    }
    let names: Vec<&str> =
        Schedule::ALL.into_iter().filter(|s| s.copies() == 1).map(Schedule::name).collect();
    let message = format!("`schedule` is one of {}", names.join(", "));
    let mut d = Diagnostic::error(Code::BadOption, option.value_span, message);
    if let OptValue::Word(word) = &option.value
        && let Some(near) = nearest(word, names.iter().copied())
    {
        d = d.hint(Hint::edit(format!("Write `{near}`."), option.value_span, near));
    }
    read.report(d.hint(Hint::edit("Leave `schedule` out.", option.span, "")));
    None
}

/// Reports every number that the schedule cannot take, with the nearest that it can.
fn limits(read: &mut Reader<'_, '_>, schedule: Schedule, extent: Extent, span: Span) {
    for limit in schedule.limits(extent) {
        let key = match limit.what {
            Quantity::MicroBatches => "micro_batches",
            Quantity::Chunks => "chunks",
            Quantity::Ranks => "cells",
        };
        let option: Option<&Opt> = read.get(key);
        let place = option.map_or(span, |o| o.span);
        let message = format!("`{}`: {limit}", schedule.name());
        let mut d = Diagnostic::error(Code::Pipeline, place, message);
        for near in &limit.nearest {
            let text = format!("Take {near}.");
            d = match (limit.what, option) {
                // The mesh says how many ranks there are.
                (Quantity::Ranks, _) => d.hint(Hint::new(format!("Take {near} cells."))),
                (_, Some(option)) => d.hint(Hint::edit(text, option.span, format!("{key}:{near}"))),
                (_, None) => {
                    let end = Span::new(span.start + 8, span.start + 8);
                    d.hint(Hint::edit(text, end, format!(" {key}:{near}")))
                }
            };
        }
        read.report(d);
    }
}

/// A list of numbers.
fn numbers<T>(
    read: &mut Reader<'_, '_>,
    key: &str,
    takes: &str,
    one: impl Fn(f64) -> Option<T>,
) -> Option<(Vec<T>, Span)> {
    let option = read.get(key)?;
    let list = match &option.value {
        OptValue::List(list) => list.as_slice(),
        OptValue::Number(_) => std::slice::from_ref(&option.value),
        OptValue::Word(_) | OptValue::Call { .. } => &[],
    };
    let number = |v: &OptValue| if let OptValue::Number(n) = v { one(*n) } else { None };
    let all: Option<Vec<T>> = list.iter().map(number).collect();
    match all.filter(|all| !all.is_empty()) {
        Some(all) => Some((all, option.span)),
        None => {
            read.bad(option, takes);
            None
        }
    }
}

/// Flops that one micro-batch takes in each layer, forward and backward.
fn layer_costs(graph: &Graph, program: &Program) -> Vec<f64> {
    let mut flops = Flops { program, of: BTreeMap::new() };
    let Ok(()) = walk(program, &mut flops);
    let mut costs = vec![0.0; graph.layers.len()];
    for (&(body, node), flops) in &flops.of {
        if program.bodies[body].kind.varies() {
            costs[graph.node(node).layer as usize] += flops;
        }
    }
    costs
}

/// Collects the flops of each body and node.
struct Flops<'p> {
    program: &'p Program,
    of: BTreeMap<(BodyId, NodeId), f64>,
}

impl Flops<'_> {
    /// Those of the bodies of all micro-batches but an unlike last one.
    fn of_body(&self, is: impl Fn(&Body) -> bool) -> f64 {
        let bodies = &self.program.bodies;
        let counts = |body: BodyId| !bodies[body].is_last && is(&bodies[body]);
        self.of.iter().filter(|((body, _), _)| counts(*body)).map(|(_, flops)| flops).sum()
    }
}

impl MeshImpl for Flops<'_> {
    type Error = Infallible;

    fn compute(&mut self, _index: usize, step: &Step) -> Result<(), Infallible> {
        *self.of.entry((step.body, step.node)).or_default() += self.program.flops(step) as f64;
        Ok(())
    }

    fn collective(
        &mut self,
        _index: usize,
        _step: &Step,
        _collective: &Collective,
    ) -> Result<(), Infallible> {
        Ok(())
    }

    fn assign(&mut self, _target: ValueId, _new: ValueId) -> Result<(), Infallible> {
        Ok(())
    }

    fn free(&mut self, _value: ValueId) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The layers by name.
fn listed(graph: &Graph) -> Hint {
    let layers = &graph.layers;
    let mut shown: Vec<&str> = layers.iter().take(8).map(String::as_str).collect();
    if layers.len() > shown.len() {
        shown.push("…");
    }
    Hint::new(format!("The {} layers are {}.", layers.len(), shown.join(", ")))
}

/// A model on its mesh, as far as it goes.
#[derive(Debug, Clone)]
pub struct Laid {
    /// The graph, and what stands beside the model.
    pub built: Built,
    /// The layouts of its tensors.
    pub layouts: Layouts,
    /// The pipeline, if there is one.
    pub pipe: Option<Pipe>,
    /// As lowered, before passes; nothing with errors.
    pub lowered: Option<Program>,
}

/// What a study says around its model.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The parsed text.
    pub spec: &'a Spec,
    /// The mesh.
    pub mesh: &'a Mesh,
    /// The layout rules.
    pub rules: &'a LayoutRules,
    /// Where the rules stand.
    pub places: &'a Places,
}

impl Surroundings<'_> {
    /// Builds the model, lays it out and lowers it: whole first, for the costs of its layers, then
    /// cut into stages if it is a pipeline.
    pub fn lay(self, diagnostics: &mut Vec<Diagnostic>) -> Laid {
        let Self { spec, mesh, rules, places } = self;
        let pipe = Pipe::read(spec, mesh, rules, places, diagnostics);
        let cutting = pipe.as_ref().map(Pipe::cutting).or_else(|| Cutting::of(spec));
        let (built, layouts) = self.build(cutting.as_ref(), diagnostics);
        let mut laid = Laid { built, layouts, pipe, lowered: None };
        if diagnostics.iter().any(Diagnostic::is_error) {
            return laid;
        }
        let plain = lower(laid.model(), None, mesh, None);
        let (Some(mut cutting), Some(micro)) = (cutting, laid.built.graph.micro.clone()) else {
            laid.lowered = plain;
            return laid;
        };
        let mut cells = None;
        if let (Some(pipe), Some(plain)) = (&laid.pipe, &plain) {
            match pipe.cut(&laid.built.graph, plain) {
                Ok((stages, order)) => {
                    (cutting.stage_of_layer, cutting.remat) = (stages, pipe.remat());
                    cells = Some(order);
                    (laid.built, laid.layouts) = self.build(Some(&cutting), &mut Vec::new());
                }
                Err(problem) => {
                    diagnostics.push(problem);
                    return laid;
                }
            }
        }
        let remat_of_last = laid.pipe.as_ref().is_some_and(Pipe::remat_of_last);
        if micro.last() == micro.size && cutting.remat == remat_of_last {
            laid.lowered = lower(laid.model(), None, mesh, cells.as_ref());
            return laid;
        }
        cutting = Cutting { is_last: true, remat: remat_of_last, ..cutting };
        let mut problems = Vec::new();
        let (built, layouts) = self.build(Some(&cutting), &mut problems);
        let errors = problems.into_iter().filter(Diagnostic::is_error);
        let rows = micro.last();
        diagnostics.extend(errors.map(|d| Diagnostic {
            message: format!("In the last micro-batch, which has {rows} rows: {}", d.message),
            ..d
        }));
        if diagnostics.iter().all(|d| !d.is_error()) {
            let last = Model { graph: &built.graph, layouts: &layouts };
            laid.lowered = lower(laid.model(), Some(last), mesh, cells.as_ref());
        }
        laid
    }

    fn build(
        self,
        cutting: Option<&Cutting>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> (Built, Layouts) {
        let Self { spec, mesh, rules, places } = self;
        let built = build(spec, cutting, diagnostics);
        let places = Places { dims: built.dim_spans.clone(), ..places.clone() };
        let layouts = resolve(&built.graph, rules, mesh, &places, diagnostics);
        (built, layouts)
    }
}

impl Laid {
    fn model(&self) -> Model<'_> {
        Model { graph: &self.built.graph, layouts: &self.layouts }
    }
}
