//! Reads the `pipeline` statement and checks it against mesh, rules and the schedule's limits.

use super::Surroundings;
use super::pipe::Pipe;
use crate::diag::{Code, Diagnostic, Hint, Span, nearest};
use crate::graph::options::Reader;
use crate::graph::train::MAX_MICRO_BATCHES;
use crate::index::MeshAxis;
use crate::layout::mesh::Mesh;
use crate::pipeline::order::Extent;
use crate::pipeline::recompute::Remat;
use crate::pipeline::schedule::Schedule;
use crate::pipeline::schedule::limit::Quantity;
use crate::spec::ast::{Opt, OptValue, Spec, Stmt};

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

/// A hop takes at most so many forward tasks, far more than any that is worth looking at.
const MOST_HOP: f64 = 1e6;

/// A layer costs at most so much.
const MOST_COST: f64 = 1e15;

impl Pipe {
    /// Reads the statement; `None` if there is none or it is wrong.
    pub fn read(around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let Surroundings { spec, mesh, rules, places } = around;
        let (options, span) = spec.items.iter().find_map(|item| {
            if let Stmt::Pipeline(options) = &item.stmt { Some((options, item.span)) } else { None }
        })?;
        let before = diagnostics.len();
        said_twice(spec, diagnostics);
        let mut read = Reader::new("pipeline", options, OPTIONS, diagnostics);
        let axis = over(&mut read, mesh, span);
        let schedule = schedule(&mut read);
        let micro_batches = read.whole("micro_batches", 1, MAX_MICRO_BATCHES);
        let chunks = read.whole("chunks", 1, 1 << 10);
        let remat = Remat::ALL.map(|(remat, word)| (word, remat));
        let remat = read.choice("remat", &remat).unwrap_or(Remat::Never);
        let takes = format!("a number from 0 to {MOST_HOP}");
        let hop = read.number("hop", &takes, |n| (0.0..=MOST_HOP).contains(&n)).unwrap_or(0.0);
        let batch = read.word("batch").map(str::to_owned);
        let whole = |n: f64| (n.fract() == 0.0 && (1.0..=1e9).contains(&n)).then_some(n as u64);
        let balance =
            numbers(&mut read, "balance", "the number of layers of each stage: (4 4)", whole);
        let any = |n: f64| (0.0..=MOST_COST).contains(&n).then_some(n);
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
        let says_chunks = chunks.is_some();
        let pipe =
            Self { axis, extent, says_chunks, schedule, remat, batch, balance, costs, hop, span };
        (!is_wrong).then_some(pipe)
    }
}

/// Says that the pipeline's micro-batches count, not those of `train`.
fn said_twice(spec: &Spec, diagnostics: &mut Vec<Diagnostic>) {
    let trains = spec.items.iter().filter_map(|item| {
        if let Stmt::Train(options) = &item.stmt { Some(options) } else { None }
    });
    let of_batch = |o: &&Opt| matches!(&*o.key.text, "micro_batches" | "batch");
    diagnostics.extend(trains.flatten().filter(of_batch).map(|option| {
        let message = format!("`{}` of the pipeline counts, not this one", option.key.text);
        let d = Diagnostic::warning(Code::Unused, option.span, message);
        d.hint(Hint::edit("Remove it.", option.span, ""))
    }));
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
    } else {
        d = d.hint(Hint::new(format!("Add it: `mesh {name}:2`.")));
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
        return Some(schedule);
    }
    let names: Vec<&str> = Schedule::ALL.into_iter().map(Schedule::name).collect();
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
