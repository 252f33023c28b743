//! Micro-batches of a study: the batch's size is that of one while the graph is built, and the loss
//! and the states are those of all together.

use super::Builder;
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::micro::{self, MicroBatches};
use crate::graph::models;
use crate::graph::op::{Op, Phase, Role};
use crate::graph::options::Reader;
use crate::graph::train::{MAX_MICRO_BATCHES, beyond, report_beyond};
use crate::graph::{Context, micro::Varying};
use crate::index::{Idx as _, NodeId, Stage};
use crate::layout::dims::Name;
use crate::spec::ast::{Ident, Opt, OptValue, Spec, Stmt};
use crate::spec::parse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The dimension that is cut where the study names none.
const BATCH: &str = "batch";

/// The mend for what micro-batches cannot do.
pub const TAKE_WHOLE: &str = "Take the batch whole.";

/// So many numbers of micro-batches are tried for one that is legal.
const MOST_TRIED: u64 = 1 << 12;

/// So many dimensions are named that may hold the rows.
const MOST_NAMED: usize = 6;

/// How the batch, and a model's layers, are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cutting {
    /// The dimension that holds a batch's rows.
    pub dim: Name,
    /// Into how many micro-batches.
    pub count: u64,
    /// Over how many processors the layout splits the rows of each.
    pub parts: u64,
    /// Where the study says so.
    pub span: Span,
    /// Where their number stands, or is added.
    pub place: Span,
    /// How the batch is taken whole instead, if it can be.
    pub whole: Option<Hint>,
    /// Whether stages are run by a schedule, even for a single micro-batch.
    pub is_pipeline: bool,
    /// The stage of each layer; none while the model is not cut.
    pub stage_of_layer: Vec<Stage>,
    /// Whether what a stage computes is let go and computed again.
    pub remat: bool,
    /// Whether the graph is that of the last micro-batch.
    pub is_last: bool,
}

impl Cutting {
    /// A batch cut along this dimension, or the one called `batch`.
    pub fn new(dim: Option<&str>, count: u64, span: Span) -> Self {
        let dim = Name::from(dim.unwrap_or(BATCH));
        let (is_pipeline, remat, is_last) = (false, false, false);
        let (stage_of_layer, whole, parts) = (Vec::new(), None, 1);
        let place = span;
        Self { dim, count, parts, span, place, whole, is_pipeline, stage_of_layer, remat, is_last }
    }

    /// What `micro_batches:` and `batch:` of `train` say; what is wrong with them is told elsewhere.
    pub fn of(spec: &Spec) -> Option<Self> {
        let options = spec.items.iter().find_map(|item| {
            let Stmt::Train(options) = &item.stmt else { return None };
            options.iter().any(|o| o.key.text == "micro_batches").then_some(options)
        })?;
        let mut quiet = Vec::new();
        let mut read = Reader::new("train", options, &[], &mut quiet);
        let count = read.whole("micro_batches", 1, MAX_MICRO_BATCHES)?;
        let span = read.get("micro_batches")?.span;
        let cutting = Self::new(read.word("batch"), count, span);
        (count > 1).then(|| Self { whole: Some(cutting.take(1, TAKE_WHOLE)), ..cutting })
    }

    /// Says that the batch has no rows for as many micro-batches as are asked for, and which numbers
    /// near to that it has rows for, of those that are legal.
    pub fn fewer(
        &self,
        micro: &MicroBatches,
        is_legal: impl Fn(u64) -> bool,
    ) -> Option<Diagnostic> {
        let (whole, size, count) = (micro.whole, micro.size, micro.count());
        if count == self.count {
            return None;
        }
        let message = format!(
            "The {} of `{}` make {} of {size}, not {}",
            counted(whole, "row"),
            self.dim,
            counted(count, "micro-batch"),
            self.count
        );
        let d = Diagnostic::warning(Code::MicroBatches, self.span, message);
        Some(self.nearest(micro, is_legal).into_iter().fold(d, Diagnostic::hint))
    }

    /// The numbers of micro-batches nearest to what is asked for that the batch has rows for.
    pub fn nearest(&self, micro: &MicroBatches, is_legal: impl Fn(u64) -> bool) -> Vec<Hint> {
        let fits = |&n: &u64| MicroBatches::makes(micro.whole, n, self.parts) && is_legal(n);
        let below = (1..=self.count.min(micro.whole)).rev().find(fits);
        let above = (self.count..=micro.whole.min(MAX_MICRO_BATCHES)).find(fits);
        let take = |n| self.take(n, format!("Take {n}."));
        let both: Vec<Hint> = below.into_iter().chain(above).map(take).collect();
        if both.is_empty() { vec![self.other_rows(micro.whole, is_legal)] } else { both }
    }

    /// A mend that takes another number of micro-batches.
    pub fn take(&self, count: u64, text: impl Into<String>) -> Hint {
        let gap = if self.place.start == self.place.end { " " } else { "" };
        Hint::edit(text, self.place, format!("{gap}micro_batches:{count}"))
    }

    /// What to do about a model that can be built for the whole batch, not for a micro-batch.
    pub fn of_whole(&self, micro: &MicroBatches) -> Vec<Hint> {
        let MicroBatches { dim, whole, size, .. } = micro;
        let rows = format!("In a micro-batch, `{dim}` has {size} of its {whole} rows.");
        self.whole.iter().cloned().chain([Hint::new(rows)]).collect()
    }

    /// What to do where so many rows make no legal number of micro-batches: the nearest numbers of
    /// rows for as many as are asked for, or for the fewest that are legal.
    pub fn other_rows(&self, rows: u64, is_legal: impl Fn(u64) -> bool) -> Hint {
        let dim = &self.dim;
        // A single one is no gain, so that it comes last.
        let counts = [self.count].into_iter().chain(2..=MOST_TRIED).chain([1]);
        let count = counts.into_iter().find(|&n| is_legal(n));
        let Some(count) = count.filter(|&n| n > 0) else {
            return Hint::new(format!("Give `{dim}` more rows."));
        };
        let unit = count.saturating_mul(self.parts);
        let near = [rows / unit * unit, rows.next_multiple_of(unit)];
        let mut both: Vec<String> = near.iter().filter(|&&n| n > 0).map(u64::to_string).collect();
        both.dedup();
        let micro_batches = counted(count, "micro-batch");
        Hint::new(format!("Give `{dim}` {} rows, for {micro_batches}.", both.join(" or ")))
    }
}

/// `1 row`, `2 rows`, `2 micro-batches`.
pub fn counted(n: u64, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{n} {noun}{ending}")
}

impl Builder<'_> {
    /// Reports a number of micro-batches of `train` that is out of range, with the nearest that the
    /// batch has rows for.
    pub(super) fn report_beyond(&mut self, spec: &Spec) {
        let trains = spec.items.iter().filter_map(|item| {
            if let Stmt::Train(options) = &item.stmt { Some(options) } else { None }
        });
        for options in trains {
            let mut quiet = Vec::new();
            let mut read = Reader::new("train", options, &[], &mut quiet);
            let dim = read.word("batch").unwrap_or(BATCH);
            let Some(option) = read.get("micro_batches") else { continue };
            let Some(given) = beyond(option) else { continue };
            let most = self.dims.get(dim).map_or(MAX_MICRO_BATCHES, |&n| n.min(MAX_MICRO_BATCHES));
            let fits = |&n: &u64| self.dims.get(dim).is_none_or(|&d| MicroBatches::makes(d, n, 1));
            let below = (1..=(given.floor() as u64).min(most)).rev().find(fits);
            let above = (given.ceil().max(1.0) as u64..=most).find(fits);
            let nearest: Vec<u64> = below.into_iter().chain(above).collect();
            let leave_out = Hint::edit("Leave `micro_batches` out.", option.span, "");
            self.diagnostics.push(report_beyond(option.value_span, &nearest).hint(leave_out));
        }
    }

    /// The size that a dimension has in one micro-batch.
    pub(super) fn micro_size(&mut self, dim: &str, size: u64) -> u64 {
        let Some(cut) = self.cut.as_ref().filter(|cut| *cut.dim == *dim) else { return size };
        let micro = MicroBatches::new(Name::clone(&cut.dim), size, cut.count);
        let size = if cut.is_last { micro.last() } else { micro.size };
        let is_cut = micro.count() > 1 || cut.is_pipeline;
        self.built.graph.micro = is_cut.then_some(micro);
        size
    }

    /// The text of a preset for one micro-batch.
    pub(super) fn of_micro_batch(
        &mut self,
        preset: &Ident,
        options: &[Opt],
        text: String,
    ) -> String {
        let Some(cut) = self.cut.clone() else { return text };
        let pairs =
            parse::parse(&text).0.items.into_iter().filter_map(|item| {
                if let Stmt::Dims(pairs) = item.stmt { Some(pairs) } else { None }
            });
        let Some(whole) = pairs.flatten().find(|p| p.name.text == *cut.dim) else { return text };
        let size = self.micro_size(&cut.dim, whole.size);
        let mut options = options.to_vec();
        options.retain(|o| o.key.text != *cut.dim);
        let (key, value) =
            (Ident { text: cut.dim.to_string(), span: cut.span }, OptValue::Number(size as f64));
        options.push(Opt { key, value, value_span: cut.span, span: cut.span });
        models::expand(preset, &options, &mut Vec::new()).unwrap_or(text)
    }

    /// Marks each stage as a block whose results are let go and computed again.
    pub(super) fn remat_stages(&mut self) {
        if !self.cut.as_ref().is_some_and(|cut| cut.remat) {
            return;
        }
        let graph = &mut self.built.graph;
        let mut blocks: BTreeMap<Stage, Range<usize>> = BTreeMap::new();
        for (id, node) in graph.nodes().entries() {
            if !matches!(node.op, Op::Source(_)) {
                let at = id.index();
                let block = blocks.entry(graph.stage(id)).or_insert(at..at);
                block.end = at + 1;
            }
        }
        graph.remat_blocks = blocks.into_values().collect();
        graph.remats_stages = true;
    }

    /// Gives loss and states for all micro-batches together.
    pub(super) fn over_micro_batches(&mut self) {
        let Some(cut) = self.cut.clone() else { return };
        let dim = &cut.dim;
        if self.built.graph.micro.is_none() {
            if !self.built.graph.nodes().iter().any(|n| n.shape.has(dim)) {
                let message = format!("No tensor has the dimension `{dim}` that micro-batches cut");
                let nodes = self.built.graph.nodes();
                let of = |role| nodes.iter().filter(move |n| n.role == role);
                // Rows are what all inputs have and no parameter.
                let holds_rows = |dim: &Name| {
                    of(Role::Input).all(|n| n.shape.has(dim))
                        && of(Role::Parameter).all(|n| !n.shape.has(dim))
                };
                let dims = of(Role::Input).flat_map(|n| n.shape.dims()).map(|d| &d.name);
                let all: BTreeSet<&Name> = dims.collect();
                let rows: Vec<&&Name> = all.iter().filter(|dim| holds_rows(dim)).collect();
                let named = if rows.is_empty() { all.iter().collect() } else { rows };
                let dims: Vec<String> =
                    named.iter().take(MOST_NAMED).map(|dim| format!("`batch:{dim}`")).collect();
                let one_of = dims.join(" or ");
                let hint = Hint::new(if one_of.is_empty() {
                    "Say which dimension holds the rows of a batch: `batch:NAME`.".to_owned()
                } else {
                    format!("Say which dimension holds the rows of a batch: {one_of}.")
                });
                self.diagnostics
                    .push(Diagnostic::error(Code::MicroBatches, cut.span, message).hint(hint));
            }
            return;
        }
        self.report_kept_rows(&cut);
        let graph = &self.built.graph;
        let of_loss = graph.loss.map(|loss| micro::combined(graph, loss));
        let mut others: BTreeSet<NodeId> =
            of_loss.iter().flat_map(|combined| &combined.others).copied().collect();
        for (state, next) in self.built.graph.next.clone() {
            let cx = later(&format!("{}/next", self.built.graph.node(state).name), cut.span);
            let combined = micro::combined(&self.built.graph, next);
            let next = micro::over_mini_batch(&mut self.built.graph, &cx, next, &combined);
            others.extend(combined.others);
            if let Some(place) = self.built.graph.next.iter_mut().find(|n| n.0 == state) {
                place.1 = next;
            }
        }
        self.warn_of(&others, &cut);
        if let (Some(loss), Some(combined)) = (self.built.graph.loss, of_loss)
            && Varying::default().of(&self.built.graph, loss)
        {
            let cx = later("loss", self.built.graph.node(loss).span);
            let graph = &mut self.built.graph;
            graph.rename_node(loss, &Name::from("loss/micro"), Role::Activation);
            let total = micro::over_mini_batch(graph, &cx, loss, &combined);
            graph.rename_node(total, &Name::from("loss"), Role::Loss);
            graph.loss = Some(total);
            graph.forget(loss);
        }
    }

    /// Says which parameters and states have rows: they are there once, for all micro-batches.
    fn report_kept_rows(&mut self, cut: &Cutting) {
        let kept = self.built.graph.nodes().iter().filter(|node| {
            let is_kept = matches!(node.role, Role::Parameter | Role::Slot);
            is_kept && matches!(node.op, Op::Source(_)) && node.shape.has(&cut.dim)
        });
        for node in kept {
            let message = format!(
                "`{}` is there for all micro-batches, so it cannot have the dimension `{}` that they cut",
                node.name, cut.dim
            );
            let mend = "Give it a dimension of its own, or cut the batch along another one.";
            let d = Diagnostic::error(Code::MicroBatches, node.span, message);
            self.diagnostics.push(d.hint(Hint::new(mend)));
        }
    }

    /// Says what is made from the rows of one micro-batch.
    fn warn_of(&mut self, others: &BTreeSet<NodeId>, cut: &Cutting) {
        if others.is_empty() {
            return;
        }
        self.built.mixes_micro_batches = true;
        let graph = &self.built.graph;
        let (named, rest): (Vec<NodeId>, Vec<NodeId>) =
            others.iter().rev().partition(|&&id| graph.node(id).is_named);
        let shown = named.iter().chain(&rest).take(3);
        let shown: Vec<String> = shown.map(|&id| format!("`{}`", graph.node(id).name)).collect();
        let message = format!(
            "{} {} from the rows of one micro-batch, not of the whole batch",
            shown.join(", "),
            if shown.len() == 1 { "is made" } else { "are made" },
        );
        self.diagnostics.push(Diagnostic::warning(Code::MicroBatches, cut.span, message));
    }

    /// Says that a loss cannot be taken in parts.
    pub(super) fn report_entangled(&mut self, parts: &[NodeId]) {
        let span = self.cut.as_ref().map_or(Span::default(), |cut| cut.span);
        let graph = &self.built.graph;
        let name = |id: &NodeId| format!("`{}`", graph.node(*id).name);
        let parts: Vec<String> = parts.iter().map(name).collect();
        let message = match &parts[..] {
            [one] => format!(
                "The loss is made of {one}, sums or means over the batch, so that its gradient \
                 depends on them: no micro-batch can know it"
            ),
            _ => format!(
                "The loss combines {}, each a sum or mean over the batch, so that the gradient of \
                 one depends on the other: no micro-batch can know it",
                parts.join(" and ")
            ),
        };
        let mend = "Add them up, each with a factor that does not depend on the batch.";
        let d = Diagnostic::error(Code::MicroBatches, span, message).hint(Hint::new(mend));
        self.diagnostics.push(d);
    }
}

/// Where nodes called `base/1`, `base/2`, … of the forward pass belong.
fn later(base: &str, span: Span) -> Context {
    Context { base: Name::from(base), role: Role::Activation, phase: Phase::Forward, span }
}
