//! The façade: a study text taken through all stages as far as they go.
//!
//! [`Study::new`] never fails: with errors in the text it still holds the mesh, the tensors and
//! their layouts as far as these can be known, and the reasons why there is no Program.

use crate::cost::repeats::Repeats;
use crate::cost::symbolic::Formulas;
use crate::cost::tally::{Moved, Tally, Totals};
use crate::data::fits;
use crate::data::places;
use crate::data::wiring::Wiring;
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::Graph;
use crate::graph::build::Built;
use crate::graph::op::{Op, Phase, Role};
use crate::graph::train::TrainOptions;
use crate::hardware::Hardware;
use crate::hardware::fit::Misfit;
use crate::hardware::mends::{Need, Planned};
use crate::index::{MeshAxis, NodeId, Pnum, ValueId};
use crate::layout::dims::{Dimension, Name, Shape};
use crate::layout::mesh::{MAX_MESH_DIMS, MAX_PROCESSORS, Mesh, MeshDim, MeshError};
use crate::layout::rules::{LayoutRules, Rule};
use crate::layout::tensor::TensorLayout;
use crate::picture::scene::Scene;
use crate::picture::timeline::View;
use crate::pipeline::measured::costs as measured_costs;
use crate::pipeline::needs::When;
use crate::pipeline::simulate::{Costs, simulate};
use crate::resolve::{Layouts, Places, resolve};
use crate::spec::ast::{OptValue, Spec, Stmt};
use crate::spec::edit;
use crate::spec::parse::parse;
use crate::spmd::collective::CollectiveKind;
use crate::spmd::explain::why;
use crate::spmd::lower::{Model, lower, lower_at_once};
use crate::spmd::program::{Program, Work};
use crate::spmd::{combine, free, fuse, print};
use crate::staging::change::with_cells;
use crate::staging::outlook::{Figures, Outlook};
use crate::staging::pipe::Pipe;
use crate::staging::{Laid, Surroundings};
use crate::timeline::Timeline;
use std::collections::BTreeSet;

/// A study, as far as its text allows.
#[derive(Debug, Clone)]
pub struct Study {
    text: String,
    spec: Spec,
    diagnostics: Vec<Diagnostic>,
    mesh: Mesh,
    rules: LayoutRules,
    built: Built,
    layouts: Layouts,
    pipe: Option<Pipe>,
    hardware: Option<Hardware>,
    /// As lowered, before passes: every tensor has its values here.
    lowered: Option<Program>,
    /// What runs when nothing is printed.
    program: Option<Program>,
    tally: Option<Tally>,
}

/// A tensor of the study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub role: Role,
    /// Its dimensions.
    pub shape: Shape,
    /// Its settled layout; nothing where the rules make it illegal.
    pub layout: Option<TensorLayout>,
    /// Mesh dimensions over which its producer left partial values.
    pub partial: Vec<MeshAxis>,
    /// Mesh dimensions along which all processors compute it alike.
    pub repeated: Vec<MeshAxis>,
    /// Sizes of one processor's slice (of the whole, where the layout is illegal).
    pub slice_shape: Vec<u64>,
    /// Bytes one processor holds of it.
    pub bytes_per_processor: u64,
    /// In a pipeline, the mesh dimension of the cells and those that make it: one, or one for each
    /// copy of the model.
    pub cells: Option<(MeshAxis, Vec<u64>)>,
    /// Where it comes from in the text.
    pub span: Span,
    /// Whether its name is the user's (or the preset's), not derived.
    pub is_named: bool,
}

/// A collective of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectiveInfo {
    /// What it does.
    pub kind: CollectiveKind,
    /// The mesh axes its groups span.
    pub axes: Vec<MeshAxis>,
    /// The tensors it carries.
    pub tensors: Vec<Name>,
    /// The tensor dimensions that caused it.
    pub dims: Vec<Name>,
    /// The part of the step it is in.
    pub phase: Phase,
    /// Bytes of one processor's slice before it.
    pub slice_bytes: u64,
    /// How often a step executes it: once for each micro-batch, or once.
    pub times: u64,
    /// Bytes one processor sends in a step, all times together.
    pub sent_bytes_per_processor: f64,
    /// Why it is there.
    pub why: String,
    /// The place in the text that asked for it.
    pub span: Span,
}

impl TensorInfo {
    /// Whether a processor holds it, as far as the cells that make it say; others may receive it.
    pub fn is_on(&self, mesh: &Mesh, pnum: Pnum) -> bool {
        match &self.cells {
            Some((axis, ranks)) => ranks.contains(&mesh.coord(pnum, *axis)),
            None => true,
        }
    }
}

impl Study {
    /// Takes a text through all stages, and says what to do where it does not fit its hardware.
    pub fn new(text: &str) -> Self {
        let mut study = Self::tried(text);
        let hints = study.hints_to_fit();
        if let Some(misfit) = study.diagnostics.iter_mut().find(|d| d.is_misfit()) {
            misfit.hints = hints;
        }
        study
    }

    /// Takes a text through all stages. That it does not fit its hardware is said, what to do about
    /// it is not: that takes as long as many studies.
    pub fn tried(text: &str) -> Self {
        let (spec, diagnostics) = parse(text);
        let mut study = Self::from_spec(text, spec, diagnostics);
        if let Some(diagnostic) = study.misfit().as_ref().map(Misfit::diagnostic) {
            study.diagnostics.push(diagnostic);
            study.diagnostics.sort_by_key(|d| d.span);
        }
        study
    }

    /// The smallest changes that make it fit its hardware; none if it does.
    pub fn hints_to_fit(&self) -> Vec<Hint> {
        // a mend that brings another warning is none
        let warnings = |study: &Self| {
            study.diagnostics.iter().filter(|d| d.code == Code::MicroBatches).count()
        };
        let now = warnings(self);
        let need = |text: &str| {
            let tried = Self::tried(text);
            Some(Need::of(tried.tally().filter(|_| warnings(&tried) <= now)?))
        };
        self.misfit().map_or_else(Vec::new, |misfit| misfit.hints(&need))
    }

    fn misfit(&self) -> Option<Misfit<'_>> {
        let planned = Planned {
            text: &self.text,
            mesh: &self.mesh,
            rules: &self.rules,
            graph: &self.built.graph,
            pipe: self.pipe.as_ref(),
            program: self.program.as_ref()?,
            tally: self.tally.as_ref()?,
        };
        Misfit::of(planned, self.hardware.as_ref()?)
    }

    fn from_spec(text: &str, spec: Spec, mut diagnostics: Vec<Diagnostic>) -> Self {
        let of_text = diagnostics.len();
        let (mesh, rules, places) = surroundings(&spec, &mut diagnostics);
        let hardware = Hardware::read(&spec, &mut diagnostics);
        let around = Surroundings { spec: &spec, mesh: &mesh, rules: &rules, places: &places };
        let Laid { built, layouts, pipe, lowered } = around.lay(&mut diagnostics);
        if built.train.data.is_some() && !diagnostics.iter().any(Diagnostic::is_error) {
            let places = data_places(&spec, &built);
            let is_teacher = built.train.data.as_deref() == Some("teacher");
            diagnostics.extend(match Wiring::new(&built.graph, &places) {
                Ok(wiring) if is_teacher => fits::no_source(&wiring, &places),
                Ok(_) => None,
                Err(unfit) => Some(unfit),
            });
        }
        edit::fit(text, &mut diagnostics[of_text..]);
        diagnostics.sort_by_key(|d| d.span);
        let ok = !diagnostics.iter().any(Diagnostic::is_error);
        let mut study = Self {
            text: text.to_owned(),
            spec,
            diagnostics,
            mesh,
            rules,
            built,
            layouts,
            pipe,
            hardware,
            lowered: lowered.filter(|_| ok),
            program: None,
            tally: None,
        };
        study.program = study.program_keeping(&[]);
        study.tally = study.program.as_ref().map(Tally::of);
        study
    }

    /// The same study on one processor, the whole batch at once; in the same micro-batches where
    /// something is made from the rows of one, such as the statistics of a batch norm.
    #[must_use]
    pub fn alone(&self) -> Self {
        let mut spec = self.spec.clone();
        let micro = self.built.graph.micro.as_ref().filter(|_| self.built.mixes_micro_batches);
        for item in &mut spec.items {
            let span = item.span;
            if let Stmt::Mesh(_) | Stmt::Layout(_) | Stmt::Pipeline(_) = item.stmt {
                item.stmt = Stmt::Blank;
            } else if let Stmt::Train(options) = &mut item.stmt {
                options.retain(|o| !matches!(&*o.key.text, "micro_batches" | "batch"));
                options.extend(micro.into_iter().flat_map(|micro| micro.options(span)));
            }
        }
        Self::from_spec(&self.text, spec, Vec::new())
    }

    /// Resolves, lowers and tallies it again, without a pipeline: what a changed layout costs beyond
    /// reading the text.
    pub fn replan(&self) -> Option<Tally> {
        let (graph, mesh) = (&self.built.graph, &self.mesh);
        let layouts = resolve(graph, &self.rules, mesh, &Places::default(), &mut Vec::new());
        let program = lower(Model { graph, layouts: &layouts }, None, mesh, None)?;
        Some(Tally::of(&passed(program, &BTreeSet::new())))
    }

    /// What it would cost, without a pipeline, if every sum settled where it arises.
    pub fn settled_at_once(&self) -> Option<Tally> {
        let model = Model { graph: &self.built.graph, layouts: &self.layouts };
        Some(Tally::of(&passed(lower_at_once(model, &self.mesh)?, &BTreeSet::new())))
    }

    /// The Program of this study in which the values of these nodes are there after a step.
    pub fn program_keeping(&self, keep: &[NodeId]) -> Option<Program> {
        let program = self.lowered.clone()?;
        let kept = keep.iter().filter_map(|&id| program.of_node[id]);
        let keep = kept.flat_map(|value| program.forms(value)).collect();
        Some(passed(program, &keep))
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its parsed form.
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// All that is wrong or odd, in text order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether there is no Program.
    pub fn has_errors(&self) -> bool {
        self.program.is_none()
    }

    /// Its mesh; one processor where none is given or it is broken.
    pub const fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Its layout rules.
    pub const fn rules(&self) -> &LayoutRules {
        &self.rules
    }

    /// Its graph, as far as it could be built.
    pub const fn graph(&self) -> &Graph {
        &self.built.graph
    }

    /// What `train` says.
    pub const fn train(&self) -> &TrainOptions {
        &self.built.train
    }

    /// The settled layouts of all nodes.
    pub const fn layouts(&self) -> &Layouts {
        &self.layouts
    }

    /// The Program, if there are no errors.
    pub const fn program(&self) -> Option<&Program> {
        self.program.as_ref()
    }

    /// The costs of one step.
    pub const fn tally(&self) -> Option<&Tally> {
        self.tally.as_ref()
    }

    /// The sums of one step's costs.
    pub fn totals(&self) -> Option<Totals> {
        Some(self.tally.as_ref()?.totals)
    }

    /// Whether it is a pipeline, whose cells differ in what they compute, send and hold.
    pub const fn is_pipeline(&self) -> bool {
        self.pipe.is_some()
    }

    /// Which cell of the pipeline does what when, if a floating point operation takes one unit of
    /// time and a hop what the study says.
    pub fn timeline(&self) -> Option<Timeline> {
        self.pipe.as_ref()?.timeline(&self.built.graph, self.program.as_ref()?)
    }

    /// The pipeline with all that follows from it: its timeline, its stages, what the cells hold.
    pub fn outlook(&self) -> Option<Outlook> {
        Outlook::new(self.pipe.as_ref()?, &self.built.graph, self.program.as_ref()?)
    }

    /// The figures of this study with one more cell, its layers cut most evenly; or why it cannot
    /// have one.
    pub fn with_one_more_cell(&self) -> Option<Result<Figures, String>> {
        let axis = self.program.as_ref()?.cells.as_ref()?.axis();
        let mesh: Vec<(String, u64)> =
            self.mesh.dims().iter().map(|d| (d.name.as_ref().to_owned(), d.size)).collect();
        let over = &self.mesh.dim(axis).name;
        let text = with_cells(&self.text, &mesh, over, self.mesh.size(axis) + 1);
        let more = Self::new(&text);
        let fault = more.diagnostics.iter().find(|d| d.is_error()).map(|d| d.message.clone());
        let figures = more.outlook().map(|outlook| outlook.figures());
        Some(figures.ok_or_else(|| fault.unwrap_or_default()))
    }

    /// The timeline as a picture.
    pub fn timeline_scene(&self) -> Option<Scene> {
        self.pipe.as_ref()?.scene(self.program.as_ref()?, &self.timeline()?, None)
    }

    /// What the cells did in a step of a session, in seconds, as a picture.
    pub fn measured_scene(&self, timeline: &Timeline) -> Option<Scene> {
        self.pipe.as_ref()?.scene(self.program.as_ref()?, timeline, Some("s"))
    }

    /// What a picture of a timeline of the cells says beside it: of a predicted one, or of one that
    /// was measured in a unit.
    pub fn timeline_view(&self, timeline: &Timeline, measured_in: Option<&str>) -> Option<View> {
        self.pipe.as_ref()?.view(self.program.as_ref()?, timeline, measured_in)
    }

    /// Which cell does what when, if tasks take as long as they did on average on a measured
    /// timeline, and what one cell makes is at the next in no time.
    pub fn timeline_at(&self, measured: &Timeline) -> Option<Timeline> {
        let order = self.program.as_ref()?.cells.as_ref()?.order();
        let (stages, hop, overlap) = (measured_costs(measured), 0.0, 0.0);
        simulate(order, &Costs { stages, hop, returns: true, overlap, when: When::Early }).ok()
    }

    /// The costs as formulas (the paper's Table 1).
    pub fn formulas(&self) -> Option<Formulas> {
        Some(Formulas::of(self.program.as_ref()?))
    }

    /// The Program as a readable listing.
    pub fn listing(&self) -> Option<String> {
        Some(print::listing(self.program.as_ref()?, &self.built.graph, &self.rules))
    }

    /// Every tensor dimension of the model, in order of first appearance; the one of the rows with
    /// those of the whole batch, as the text has it.
    pub fn dims(&self) -> Vec<Dimension> {
        let mut seen = BTreeSet::new();
        let all = self.built.graph.nodes().iter().flat_map(|n| n.shape.dims());
        let each = all.filter(|d| seen.insert(Name::clone(&d.name))).cloned();
        let Some(micro) = &self.built.graph.micro else { return each.collect() };
        let whole = |d: Dimension| if d.name == micro.dim { micro.whole } else { d.size };
        each.map(|d| Dimension::new(Name::clone(&d.name), whole(d))).collect()
    }

    /// Every tensor worth showing: not the constants, nor the temporaries of the update.
    pub fn tensors(&self) -> Vec<TensorInfo> {
        let graph = &self.built.graph;
        let first_values = self.first_values();
        let repeated = self.lowered.as_ref().map(Repeats::of).unwrap_or_default();
        let makers = self.makers();
        let cells = |id: NodeId| {
            let (axis, makers) = makers.as_ref()?;
            Some((*axis, makers[crate::index::Idx::index(id)].clone()))
        };
        let shown = graph.nodes().entries().filter(|(_, n)| match n.op {
            Op::Source(_) => true,
            Op::Constant(_) | Op::StepNumber | Op::Training | Op::Share | Op::One => n.is_named,
            Op::Assign => false,
            Op::Index
            | Op::Elementwise(_)
            | Op::Einsum
            | Op::Reduce(_)
            | Op::Rename
            | Op::Reshape
            | Op::Window(_)
            | Op::Unwindow(_)
            | Op::Gather(_)
            | Op::Scatter(_)
            | Op::TopK { .. }
            | Op::Cumsum(..)
            | Op::Noise(..)
            | Op::Accumulate
            | Op::StopGradient => n.phase != Phase::Update || n.is_named,
        });
        shown
            .map(|(id, node)| {
                let layout = self.layouts[id].clone();
                let whole = || node.shape.dims().iter().map(|d| d.size).collect();
                let slice_shape =
                    layout.as_ref().map_or_else(whole, |l| l.slice_sizes(&node.shape, &self.mesh));
                let first = first_values[crate::index::Idx::index(id)];
                let partial = first.map_or_else(Vec::new, |v| {
                    let program = self.lowered.as_ref().map(|p| p.values[v].layout.partial());
                    program.unwrap_or_default().iter().map(|p| p.0).collect()
                });
                let elements = slice_shape.iter().fold(1_u64, |n, &s| n.saturating_mul(s));
                TensorInfo {
                    name: Name::clone(&node.name),
                    role: node.role,
                    shape: node.shape.clone(),
                    layout,
                    partial,
                    repeated: first.map_or_else(Vec::new, |v| repeated.along(v)),
                    bytes_per_processor: elements.saturating_mul(graph.dtype.bytes()),
                    slice_shape,
                    cells: cells(id),
                    span: node.span,
                    is_named: node.is_named && node.phase == Phase::Forward,
                }
            })
            .collect()
    }

    /// The mesh dimension of a pipeline's cells, and for each tensor those that make it: that of its
    /// stage, and where the second copy of the model has it, too, that one's.
    fn makers(&self) -> Option<(MeshAxis, Vec<Vec<u64>>)> {
        let program = self.lowered.as_ref()?;
        let cells = program.cells.as_ref()?;
        let graph = &self.built.graph;
        let own = |id| vec![cells.rank(graph.stage(id))];
        let mut makers: Vec<Vec<u64>> = graph.nodes().ids().map(own).collect();
        for value in &program.values {
            let (part, copy) = cells.part_of(value.stage);
            let makers = &mut makers[crate::index::Idx::index(value.node)];
            if copy > 0 && part == graph.stage(value.node) && makers.len() == 1 {
                makers.push(cells.rank(value.stage));
            }
        }
        Some((cells.axis(), makers))
    }

    /// The value each node's own step makes.
    fn first_values(&self) -> Vec<Option<ValueId>> {
        let mut first = vec![None; self.built.graph.nodes().len()];
        if let Some(program) = &self.lowered {
            for (id, value) in program.values.entries().rev() {
                first[crate::index::Idx::index(value.node)] = Some(id);
            }
        }
        first
    }

    /// Every collective of one step, in order of execution.
    pub fn collectives(&self) -> Vec<CollectiveInfo> {
        let (Some(program), Some(tally)) = (&self.program, &self.tally) else { return Vec::new() };
        let info = |moved: &Moved| {
            let step = &program.steps[moved.step];
            let Work::Collective(collective) = &step.work else { return None };
            // Along a mesh dimension of one processor there is nobody to speak with.
            if program.mesh.group_size(&collective.axes) < 2 {
                return None;
            }
            let why = why(program, &self.built.graph, &self.rules, step)?;
            let name = |v: &ValueId| Name::clone(&program.values[*v].name);
            Some(CollectiveInfo {
                kind: collective.kind,
                axes: collective.axes.clone(),
                tensors: step.inputs.iter().map(name).collect(),
                dims: why.dims,
                phase: step.phase,
                slice_bytes: moved.slice_bytes,
                times: moved.times,
                sent_bytes_per_processor: moved.sent_bytes_per_processor,
                why: why.text,
                span: step.span,
            })
        };
        tally.moved.iter().filter_map(info).collect()
    }

    /// Where the study names its data, for messages; the `train` line where it does not.
    pub fn data_span(&self) -> Span {
        self.data_places().name
    }

    /// Where the study speaks of its data.
    pub fn data_places(&self) -> places::Places<'_> {
        data_places(&self.spec, &self.built)
    }

    /// A diagnostic with its mends fitted to the text.
    #[must_use]
    pub fn fitted(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        edit::fit(&self.text, std::slice::from_mut(&mut diagnostic));
        diagnostic
    }
}

/// What was lowered, after the passes; the values in `keep` stay.
fn passed(mut program: Program, keep: &BTreeSet<ValueId>) -> Program {
    combine::combine(&mut program);
    fuse::fuse(&mut program, keep);
    free::free(&mut program, keep);
    program
}

fn data_places<'a>(spec: &Spec, built: &'a Built) -> places::Places<'a> {
    let mut places =
        places::Places { name: Span::default(), option: None, sizes: &built.dim_spans };
    for item in &spec.items {
        let Stmt::Train(options) = &item.stmt else { continue };
        places.name = item.span;
        if let Some(option) = options.iter().find(|o| o.key.text == "data") {
            places.option = Some(option.span);
            places.name = match option.value {
                OptValue::Word(_) => option.value_span,
                OptValue::Number(_) | OptValue::List(_) | OptValue::Call { .. } => option.span,
            };
        }
        break;
    }
    places
}

/// Mesh and layout rules of a spec, and where each rule stands.
fn surroundings(spec: &Spec, diagnostics: &mut Vec<Diagnostic>) -> (Mesh, LayoutRules, Places) {
    let mut dims: Vec<MeshDim> = Vec::new();
    let mut rules: Vec<Rule> = Vec::new();
    let mut places = Places::default();
    let mut mesh_span: Option<Span> = None;
    for item in &spec.items {
        match &item.stmt {
            Stmt::Mesh(pairs) => {
                mesh_span = Some(mesh_span.map_or(item.span, |s| s.join(item.span)));
                for pair in pairs {
                    // The parser has reported names that stand twice.
                    if dims.iter().all(|d| *d.name != *pair.name.text) {
                        let name = Name::from(pair.name.text.as_str());
                        dims.push(MeshDim { name, size: pair.size });
                    }
                }
            }
            Stmt::Layout(pairs) => {
                for pair in pairs {
                    let dim = Name::from(pair.dim.text.as_str());
                    if !places.rules.contains_key(&dim) {
                        places.rules.insert(Name::clone(&dim), pair.span);
                        let mesh_dims =
                            pair.mesh_dims.iter().map(|m| Name::from(m.text.as_str())).collect();
                        rules.push(Rule { dim, mesh_dims });
                    }
                }
            }
            Stmt::Blank
            | Stmt::Model { .. }
            | Stmt::Dims(_)
            | Stmt::Train(_)
            | Stmt::Input(_)
            | Stmt::Param(_)
            | Stmt::State(_)
            | Stmt::Assign { .. }
            | Stmt::Next { .. }
            | Stmt::Block { .. }
            | Stmt::End
            | Stmt::Pipeline(_)
            | Stmt::Hardware { .. }
            | Stmt::Unreadable(_) => {}
        }
    }
    let mesh = Mesh::new(dims).unwrap_or_else(|error| {
        let message = match error {
            MeshError::TooLarge => format!(
                "A mesh has at most {MAX_MESH_DIMS} dimensions and {MAX_PROCESSORS} processors"
            ),
            MeshError::Duplicate(name) => format!("The mesh has two dimensions `{name}`"),
            MeshError::Empty(name) => format!("The mesh dimension `{name}` has no processor"),
        };
        let span = mesh_span.unwrap_or_default();
        diagnostics.push(
            Diagnostic::error(Code::TooLarge, span, message)
                .hint(Hint::new("Make a mesh dimension smaller, or leave one out.")),
        );
        Mesh::default()
    });
    let rules = LayoutRules::new(rules).unwrap_or_default();
    places.is_mesh_broken = is_mesh_broken(spec, diagnostics);
    (mesh, rules, places)
}

/// Whether a line of the mesh is wrong.
fn is_mesh_broken(spec: &Spec, diagnostics: &[Diagnostic]) -> bool {
    let is_of_mesh = |stmt: &Stmt| {
        matches!(stmt, Stmt::Mesh(_))
            || matches!(stmt, Stmt::Unreadable(code) if code.starts_with("mesh"))
    };
    let mut lines = spec.items.iter().filter(|item| is_of_mesh(&item.stmt)).map(|item| item.span);
    lines.any(|line| {
        let mut errors = diagnostics.iter().filter(|d| d.is_error());
        errors.any(|d| line.start <= d.span.start && d.span.start <= line.end)
    })
}
