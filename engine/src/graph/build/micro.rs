//! Micro-batches of a study: the batch's size is that of one while the graph is built, and the loss
//! and the states are those of all together.

use super::Builder;
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::micro::{self, MicroBatches};
use crate::graph::models;
use crate::graph::op::{Op, Phase, Role};
use crate::graph::options::Reader;
use crate::graph::train::MAX_MICRO_BATCHES;
use crate::graph::{Context, micro::Varying};
use crate::index::{Idx as _, NodeId, Stage};
use crate::layout::dims::Name;
use crate::spec::ast::{Ident, Opt, OptValue, Spec, Stmt};
use crate::spec::parse;
use std::collections::BTreeMap;
use std::ops::Range;

/// The dimension that is cut where the study names none.
const BATCH: &str = "batch";

/// How the batch, and a model's layers, are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cutting {
    /// The dimension that holds a batch's rows.
    pub dim: Name,
    /// Into how many micro-batches.
    pub count: u64,
    /// Where the study says so.
    pub span: Span,
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
        Self { dim, count, span, is_pipeline, stage_of_layer: Vec::new(), remat, is_last }
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
        (count > 1).then(|| Self::new(read.word("batch"), count, span))
    }
}

impl Builder<'_> {
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

    /// Gives loss and states for all micro-batches together; the loss of one, and whether it counts
    /// by its share of the rows.
    pub(super) fn over_micro_batches(&mut self) -> (Option<NodeId>, bool) {
        let loss = self.built.graph.loss;
        let Some(cut) = self.cut.clone() else { return (loss, false) };
        let dim = &cut.dim;
        if self.built.graph.micro.is_none() {
            if !self.built.graph.nodes().iter().any(|n| n.shape.has(dim)) {
                let message = format!("No tensor has the dimension `{dim}` that micro-batches cut");
                let hint =
                    Hint::new("Say which dimension holds the rows of a batch: `batch:NAME`.");
                self.diagnostics
                    .push(Diagnostic::error(Code::MicroBatches, cut.span, message).hint(hint));
            }
            return (loss, false);
        }
        for (state, next) in self.built.graph.next.clone() {
            let cx = later(&format!("{}/next", self.built.graph.node(state).name), cut.span);
            let next = micro::over_mini_batch(&mut self.built.graph, &cx, next);
            if let Some(place) = self.built.graph.next.iter_mut().find(|n| n.0 == state) {
                place.1 = next;
            }
        }
        let Some(loss) = loss else { return (None, false) };
        let is_mean = self.weight(loss, &cut);
        if Varying::default().of(&self.built.graph, loss) {
            let cx = later("loss", self.built.graph.node(loss).span);
            self.built.graph.layer = self.built.graph.node(loss).layer;
            let graph = &mut self.built.graph;
            graph.rename_node(loss, &Name::from("loss/micro"), Role::Activation);
            let total = micro::accumulate(graph, &cx, loss, is_mean);
            graph.rename_node(total, &Name::from("loss"), Role::Loss);
            graph.loss = Some(total);
        }
        (Some(loss), is_mean)
    }

    /// Whether a micro-batch's loss counts by its share of the rows: not if it is a sum over them.
    fn weight(&mut self, loss: NodeId, cut: &Cutting) -> bool {
        let graph = &self.built.graph;
        let combined = micro::combined(graph, loss);
        let name = |id: &NodeId| format!("`{}`", graph.node(*id).name);
        let fault = if let ([mean, ..], [sum, ..]) = (&*combined.means, &*combined.sums) {
            let message = format!(
                "The loss adds a sum over the batch, {}, to a mean, {}, which micro-batches would weigh alike",
                name(sum),
                name(mean)
            );
            let d = Diagnostic::error(Code::MicroBatches, cut.span, message);
            Some(d.hint(Hint::new("Make both means, or both sums.")))
        } else if combined.others.is_empty() {
            None
        } else {
            let (named, rest): (Vec<_>, Vec<_>) =
                combined.others.iter().partition(|&&id| graph.node(id).is_named);
            let shown: Vec<String> = named.into_iter().chain(rest).take(3).map(name).collect();
            let message = format!(
                "{} {} from the rows of one micro-batch, not of the whole batch",
                shown.join(", "),
                if shown.len() == 1 { "is made" } else { "are made" },
            );
            Some(Diagnostic::warning(Code::MicroBatches, cut.span, message))
        };
        self.diagnostics.extend(fault);
        combined.sums.is_empty()
    }
}

/// Where nodes called `base/1`, `base/2`, … of the forward pass belong.
fn later(base: &str, span: Span) -> Context {
    Context { base: Name::from(base), role: Role::Activation, phase: Phase::Forward, span }
}
