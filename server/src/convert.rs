//! Engine → wire: the only place that knows both sides' types.

use crate::data::catalog::Found;
use crate::data::shipped::Shipped;
use crate::data::{Data, Target};
use meshwork_engine::cost::held;
use meshwork_engine::data::score;
use meshwork_engine::diag::{self, TextEdit, place};
use meshwork_engine::exec::host;
use meshwork_engine::exec::pool::Pool;
use meshwork_engine::index::{Idx as _, MeshAxis};
use meshwork_engine::layout::dims::{Name, Shape};
use meshwork_engine::layout::mesh::Mesh;
use meshwork_engine::pipeline::recompute::Remat;
use meshwork_engine::session::{self, Session};
use meshwork_engine::spec::edit;
use meshwork_engine::staging::outlook::{Outlook, Part};
use meshwork_engine::study::{CollectiveInfo, Study, TensorInfo};
use meshwork_engine::timeline;
use meshwork_wire::api;
use meshwork_wire::plan::{Collective, Diagnostic, Pipeline, Plan, Stage, Tensor, Totals};
use meshwork_wire::run::{Event, Held, Interval, Timeline, Traffic};

/// The most numbers that `slice_begin` of one tensor lists.
const MAX_BEGINS: u64 = 1 << 20;

/// All that a study means; with `slices`, also where each processor's slice begins.
pub fn plan(study: &Study, slices: bool) -> Plan {
    let mesh = study.mesh();
    let tensors = study.tensors();
    let totals = study.totals().map_or_else(Totals::default, |t| Totals {
        flops_per_processor: t.flops_per_processor,
        duplication: t.duplication,
        sent_bytes_per_processor: t.sent_bytes_per_processor,
        peak_bytes_per_processor: t.peak_bytes_per_processor,
    });
    Plan {
        diagnostics: diagnostics(study.text(), study.diagnostics()),
        mesh: mesh.dims().iter().map(|d| (d.name.as_ref().to_owned(), d.size)).collect(),
        processors: mesh.processors(),
        tensors: tensors.iter().map(|t| tensor(t, mesh, slices)).collect(),
        collectives: study.collectives().iter().map(|c| collective(c, mesh)).collect(),
        totals,
        pipeline: study.outlook().map(|outlook| pipeline(&outlook)),
    }
}

fn pipeline(outlook: &Outlook) -> Pipeline {
    let Outlook { stages, timeline, held: curves, .. } = outlook;
    let extent = outlook.extent();
    let remat = Remat::ALL.iter().find(|(remat, _)| *remat == outlook.remat());
    let names: Vec<&str> = outlook.layers().map(|(name, _)| name).collect();
    let figures = outlook.figures();
    let stage = |part: &Part| Stage {
        cell: part.cells.first().map_or(0, |cell| u64::from(cell.0)),
        second_cell: part.cells.get(1).map(|cell| u64::from(cell.0)),
        layers: names[part.layers.clone()].iter().map(|&name| name.to_owned()).collect(),
        cost: part.cost,
    };
    Pipeline {
        cells: u64::from(extent.ranks),
        micro_batches: u64::from(extent.micro_batches),
        chunks: u64::from(extent.chunks),
        schedule: outlook.schedule().name().to_owned(),
        remat: remat.map_or("off", |(_, word)| word).to_owned(),
        unit: outlook.unit().to_owned(),
        makespan: figures.makespan,
        bubble_of_makespan: figures.bubble_of_makespan,
        bubble_of_ideal: figures.bubble_of_ideal,
        stage_span: timeline.stage_span(),
        idle: outlook.cells().map(|cell| timeline.idle(cell)).collect(),
        peak_bytes: curves.iter().map(|curve| held::peak(curve)).collect(),
        stages: stages.iter().map(stage).collect(),
        order: outlook.order().text(),
    }
}

/// Diagnostics of a text, with lines and columns.
pub fn diagnostics(text: &str, list: &[diag::Diagnostic]) -> Vec<Diagnostic> {
    list.iter().map(|d| diagnostic(text, d)).collect()
}

fn diagnostic(text: &str, d: &diag::Diagnostic) -> Diagnostic {
    let place = place(text, d.span.start);
    Diagnostic {
        code: d.code.name().to_owned(),
        severity: d.severity.name().to_owned(),
        line: place.line,
        column: place.column,
        message: d.message.clone(),
        hints: d.hints.iter().map(|h| h.text.clone()).collect(),
    }
}

fn tensor(info: &TensorInfo, mesh: &Mesh, slices: bool) -> Tensor {
    let layout = info.layout.as_ref();
    let split = |(i, name): (usize, &Name)| {
        let axes = layout?.splits().get(i).filter(|axes| !axes.is_empty())?;
        Some((name.as_ref().to_owned(), mesh_dims(axes, mesh)))
    };
    let names: Vec<&Name> = info.shape.dims().iter().map(|d| &d.name).collect();
    let numbers = mesh.processors().saturating_mul(names.len() as u64);
    let begins = layout.filter(|_| slices && numbers <= MAX_BEGINS).map(|layout| {
        let begin = |p| info.is_on(mesh, p).then(|| layout.slice_begin(&info.shape, mesh, p));
        mesh.pnums().map(begin).collect()
    });
    Tensor {
        name: info.name.as_ref().to_owned(),
        role: info.role.name().to_owned(),
        dims: dims(&info.shape),
        layout: names.iter().copied().enumerate().filter_map(split).collect(),
        partial: mesh_dims(&info.partial, mesh),
        repeated: mesh_dims(&info.repeated, mesh),
        slice_shape: info.slice_shape.clone(),
        bytes_per_processor: info.bytes_per_processor,
        slice_begin: begins,
    }
}

fn collective(info: &CollectiveInfo, mesh: &Mesh) -> Collective {
    let names = |names: &[Name]| names.iter().map(|n| n.as_ref().to_owned()).collect();
    Collective {
        kind: info.kind.name().to_owned(),
        mesh_dims: mesh_dims(&info.axes, mesh),
        tensors: names(&info.tensors),
        dims: names(&info.dims),
        phase: info.phase.name().to_owned(),
        slice_bytes: info.slice_bytes,
        times: info.times,
        sent_bytes_per_processor: info.sent_bytes_per_processor,
        why: info.why.clone(),
    }
}

fn mesh_dims(axes: &[MeshAxis], mesh: &Mesh) -> Vec<String> {
    let known = axes.iter().filter(|a| a.index() < mesh.dims().len());
    known.map(|&a| mesh.dim(a).name.as_ref().to_owned()).collect()
}

fn dims(shape: &Shape) -> Vec<(String, u64)> {
    shape.dims().iter().map(|d| (d.name.as_ref().to_owned(), d.size)).collect()
}

/// What the held-out rows say after so many steps.
pub fn validation(step: u64, v: &score::Validation, bleu: Option<f64>) -> Event {
    let score::Validation { loss, accuracy, error, perplexity, word_perplexity } = *v;
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    Event::Validation {
        step,
        loss,
        accuracy,
        error: finite(error),
        perplexity: finite(perplexity),
        word_perplexity: finite(word_perplexity),
        bleu,
    }
}

/// A whole tensor.
pub fn value(name: &str, whole: session::Whole) -> Event {
    Event::Value { name: name.to_owned(), dims: dims(&whole.shape), values: whole.values }
}

/// Messages and bytes.
pub fn traffic(t: host::Traffic) -> Traffic {
    Traffic { messages: t.messages, bytes: t.bytes }
}

/// The most bytes that a processor of a session held; nothing before its first step.
pub fn held<P: Pool>(session: &Session<P>) -> Option<Held> {
    let (counted, predicted) = (session.peak_bytes(), session.predicted_peak_bytes());
    (session.steps_done() > 0).then_some(Held { counted, predicted })
}

/// Who did what when, and how long each layer took, in seconds.
pub fn timeline(t: &timeline::Timeline, layers: Vec<f64>) -> Timeline {
    let interval = |i: &timeline::Interval| {
        let timeline::Interval { start, end, .. } = *i;
        i.slot.tasks().map(move |task| Interval { task: task.to_string(), start, end })
    };
    Timeline {
        unit: "s".to_owned(),
        makespan: t.makespan(),
        bubble_of_makespan: t.bubble_of_makespan(),
        bubble_of_ideal: t.bubble_of_ideal(),
        lanes: t.lanes().iter().map(|lane| lane.iter().flat_map(interval).collect()).collect(),
        layers,
    }
}

/// What a table's last column holds.
pub fn target(target: &Target) -> api::Target {
    match target {
        Target::Number => api::Target::Number,
        Target::Classes(names) => api::Target::Classes { names: names.clone() },
    }
}

/// Data with all that is in it.
pub fn data(found: &Found) -> api::DataSet {
    let hash = found.hash.clone();
    match &*found.data {
        Data::Table(table) => api::DataSet::Table(api::Table {
            name: table.name.clone(),
            hash,
            columns: table.columns.clone(),
            rows: table.rows.clone(),
            target: target(&table.target),
        }),
        Data::Text(text) => api::DataSet::Text(api::Text {
            name: text.name.clone(),
            hash,
            text: text.text.as_ref().to_owned(),
        }),
    }
}

/// What is known of the data that ships: tables and texts.
pub fn shipped<'a>(all: impl IntoIterator<Item = &'a Shipped>) -> api::TableList {
    let mut list = api::TableList { tables: Vec::new(), texts: Vec::new() };
    for Shipped { data, hash, about } in all {
        let (hash, about) = (hash.clone(), (*about).to_owned());
        match data {
            Data::Table(table) => list.tables.push(api::TableInfo {
                name: table.name.clone(),
                hash,
                rows: table.len() as u64,
                columns: table.columns.clone(),
                target: target(&table.target),
                about,
                shipped: true,
            }),
            Data::Text(text) => list.texts.push(api::TextInfo {
                name: text.name.clone(),
                hash,
                bytes: text.text.len() as u64,
                lines: text.text.lines().count() as u64,
                about,
                shipped: true,
            }),
        }
    }
    list
}

/// The study with other data in its `train` line, and what that changed.
pub fn with_data(text: &str, data: &str) -> (String, Option<TextEdit>) {
    let changed = edit::set_option(text, "train", "data", data);
    let edit = edit::difference(text, &changed);
    (changed, edit)
}

/// Diagnostics of a changed text, as diagnostics of the text it was before.
pub fn diagnostics_before(
    text: &str,
    change: Option<&TextEdit>,
    list: &[diag::Diagnostic],
) -> Vec<Diagnostic> {
    let Some(TextEdit { span, replacement }) = change else { return diagnostics(text, list) };
    let end = span.start + replacement.len() as u32;
    let before = |at: u32| match at {
        at if at <= span.start => at,
        at if at < end => span.start,
        at => at - end + span.end,
    };
    let moved = list.iter().map(|d| {
        let span = diag::Span::new(before(d.span.start), before(d.span.end));
        diagnostic(text, &diag::Diagnostic { span, ..d.clone() })
    });
    moved.collect()
}
