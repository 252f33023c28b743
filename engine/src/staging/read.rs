//! Reads the `pipeline` statement and checks it against mesh, rules and the schedule's limits.

use super::Surroundings;
use super::numbers::{MOST_CHUNKS, Said};
use super::pipe::{Pipe, Times};
use crate::diag::{Code, Diagnostic, Hint, Span, nearest};
use crate::graph::build::micro::Cutting;
use crate::graph::options::Reader;
use crate::graph::train::{MAX_MICRO_BATCHES, beyond};
use crate::index::MeshAxis;
use crate::layout::mesh::Mesh;
use crate::pipeline::order::Extent;
use crate::pipeline::recompute::Remat;
use crate::pipeline::schedule::Schedule;
use crate::spec::ast::{Opt, OptValue, Spec, Stmt};
use crate::spec::lex::written;
use crate::spec::synonyms;
use std::ops::RangeInclusive;

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
    "shares",
    "hop",
    "overlap",
];

/// A hop takes at most so many forward tasks, far more than any that is worth looking at.
const MOST_HOP: f64 = 1e6;

/// What a layer costs, if anything.
const COSTS: RangeInclusive<f64> = 1e-15..=1e15;

impl Pipe {
    /// Reads the statement, whose numbers may be wrong; `None` if there is none, or no telling what
    /// it runs over or by which schedule.
    pub fn read(around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let Surroundings { spec, mesh, rules, places } = around;
        let (options, span) = spec.items.iter().find_map(|item| {
            if let Stmt::Pipeline(options) = &item.stmt { Some((options, item.span)) } else { None }
        })?;
        let is_mesh_broken = places.is_mesh_broken;
        said_twice(spec, diagnostics);
        let mut read = Reader::new("pipeline", options, OPTIONS, diagnostics);
        let axis = over(&mut read, mesh, span, is_mesh_broken);
        let schedule = schedule(&mut read);
        let option = read.get("micro_batches");
        let beyond = option.and_then(|o| Some((beyond(o)?, o.value_span)));
        let micro_batches =
            if beyond.is_some() { None } else { read.whole("micro_batches", 1, MAX_MICRO_BATCHES) };
        let chunks = read.whole("chunks", 1, MOST_CHUNKS);
        let remat = Remat::ALL.map(|(remat, word)| (word, remat));
        let remat = read.choice("remat", &remat).unwrap_or(Remat::Never);
        let batch = read.word("batch").map(str::to_owned);
        let parts = around.parts(&Cutting::new(batch.as_deref(), 1, span).dim);
        let whole = |n: f64| (n.fract() == 0.0 && (1.0..=1e9).contains(&n)).then_some(n as u64);
        let takes = "the number of layers of each stage: (4 4)";
        let balance = numbers(&mut read, "balance", takes, whole, |_| true);
        let times = Times::read(&mut read);
        let axis = axis?;
        let ranks = mesh.size(axis);
        if let Some(cells) = read.whole("cells", 1, 1 << 20)
            && cells != ranks
            && let Some(option) = read.get("cells")
        {
            let name = &mesh.dim(axis).name;
            let message =
                format!("`cells` says {cells}, and the mesh dimension `{name}` has {ranks}");
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
        if times.overlap > 0.0
            && !schedule.has_pairs()
            && let Some(option) = read.get("overlap")
        {
            let message = format!("`{}` has no pairs of tasks that overlap", schedule.name());
            let d = Diagnostic::warning(Code::Unused, option.span, message);
            read.report(d.hint(Hint::edit("Remove it.", option.span, "")));
        }
        let extent = Extent {
            ranks: ranks as u32,
            micro_batches: micro_batches.unwrap_or(ranks) as u32,
            chunks: chunks.map_or_else(|| schedule.default_chunks(), |c| c as u32),
        };
        let place = |key: &str| read.get(key).map(|option| option.span);
        let is_said_again = ["cells", "balance"].iter().any(|key| place(key).is_some());
        let said = Said {
            cells: size_of(spec, mesh_dim).filter(|_| !is_said_again),
            micro_batches: place("micro_batches"),
            chunks: place("chunks"),
            beyond,
            end: Span::new(span.start + 8, span.start + 8),
        };
        Some(Self { axis, extent, said, schedule, remat, batch, parts, balance, times, span })
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

/// The mesh dimension that carries the cells; where the mesh is broken nobody misses it.
fn over(
    read: &mut Reader<'_, '_>,
    mesh: &Mesh,
    span: Span,
    is_mesh_broken: bool,
) -> Option<MeshAxis> {
    let Some(option) = read.get("over") else {
        if let ([_], Some(only)) = (mesh.dims(), mesh.axes().next()) {
            return Some(only);
        }
        if is_mesh_broken {
            return None;
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
    if is_mesh_broken {
        return None;
    }
    let message = format!("The mesh has no dimension `{name}` to carry the cells");
    let mut d = Diagnostic::error(Code::Pipeline, option.value_span, message);
    if let Some(near) = nearest(name, mesh.dims().iter().map(|d| &*d.name)) {
        d = d.hint(Hint::edit(format!("Write `{near}`."), option.value_span, near));
    } else {
        let start = Span::new(span.start, span.start);
        let line = format!("mesh {}:2\n", written(name));
        d = d.hint(Hint::edit(format!("Add it: `mesh {name}:2`."), start, line));
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
    if let OptValue::Word(word) = &option.value {
        let (place, known) = (option.value_span, names.as_slice());
        let theirs = synonyms::hint(synonyms::words::SCHEDULES, word, known, place, option.span);
        let in_capitals = Schedule::named(&word.to_lowercase());
        let same = in_capitals.map(|schedule| synonyms::write(schedule.name(), place));
        let near = || synonyms::near(word, names.iter().copied(), place);
        d.hints.extend(same.or(theirs).or_else(near));
    }
    read.report(d.hint(Hint::edit("Leave `schedule` out.", option.span, "")));
    None
}

/// Where the text says the size of a mesh dimension.
fn size_of(spec: &Spec, mesh_dim: &str) -> Option<Span> {
    spec.items.iter().find_map(|item| {
        let Stmt::Mesh(pairs) = &item.stmt else { return None };
        pairs.iter().find(|pair| pair.name.text == mesh_dim).map(|pair| pair.size_span)
    })
}

impl Times {
    fn read(read: &mut Reader<'_, '_>) -> Self {
        let any = |n: f64| (n == 0.0 || COSTS.contains(&n)).then_some(n);
        let is_above_zero = |list: &[f64]| list.iter().sum::<f64>() > 0.0;
        let takes = "the cost of each layer, 0 or from 1e-15 to 1e15, one of them above 0: (1 1 2)";
        let costs = numbers(read, "costs", takes, any, is_above_zero);
        let takes = "the parts of forward, input gradient and weight gradient: (1 1 1)";
        let of_three = |list: &[f64]| list.len() == 3 && is_above_zero(list);
        let shares = numbers(read, "shares", takes, any, of_three);
        let shares = shares.and_then(|(list, _)| list.try_into().ok());
        let takes = format!("a number from 0 to {MOST_HOP}");
        let hop = read.number("hop", &takes, |n| (0.0..=MOST_HOP).contains(&n)).unwrap_or(0.0);
        let takes = "a part of the shorter task of a pair, from 0 to 1";
        let overlap = read.number("overlap", takes, |n| (0.0..=1.0).contains(&n)).unwrap_or(0.0);
        Self { costs, shares, hop, overlap }
    }
}

/// A list of numbers.
fn numbers<T>(
    read: &mut Reader<'_, '_>,
    key: &str,
    takes: &str,
    one: impl Fn(f64) -> Option<T>,
    ok: impl Fn(&[T]) -> bool,
) -> Option<(Vec<T>, Span)> {
    let option = read.get(key)?;
    let list = match &option.value {
        OptValue::List(list) => list.as_slice(),
        OptValue::Number(_) => std::slice::from_ref(&option.value),
        OptValue::Word(_) | OptValue::Call { .. } => &[],
    };
    let number = |v: &OptValue| if let OptValue::Number(n) = v { one(*n) } else { None };
    let all: Option<Vec<T>> = list.iter().map(number).collect();
    match all.filter(|all| !all.is_empty() && ok(all)) {
        Some(all) => Some((all, option.span)),
        None => {
            read.bad(option, takes);
            None
        }
    }
}
