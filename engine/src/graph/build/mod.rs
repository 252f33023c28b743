//! From the parsed study to the graph: declarations and assignments (`tensors`), blocks, presets;
//! then, for a study that trains, the backward pass and the update (`finish`).

mod tensors;
mod states;
pub mod micro;
mod blocks;
mod finish;

use super::op::{Dtype, Role};
use super::options::{DTYPES, Reader};
use super::train::{self, TrainOptions};
use super::{Graph, models};
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::index::NodeId;
use crate::spec::ast::{Ident, Item, Opt, Pair, Spec, Stmt};
use crate::spec::parse;
use blocks::Scopes;
use micro::Cutting;
use std::collections::{BTreeMap, BTreeSet};

/// The most nodes a graph may have before differentiation.
const MAX_NODES: usize = 200_000;

/// The most problems that are listed.
const MAX_PROBLEMS: usize = 200;

/// A study's graph and what its statements say beside it.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// The graph as far as the text could be read.
    pub graph: Graph,
    /// What `train` says.
    pub train: TrainOptions,
    /// Whether something is made from the rows of one micro-batch, not of the whole batch.
    pub mixes_micro_batches: bool,
    /// Where each tensor dimension got its size.
    pub dim_spans: BTreeMap<String, Span>,
}

/// Builds the graph of a study: that of a micro-batch, where the batch is cut.
pub fn build(spec: &Spec, cut: Option<&Cutting>, diagnostics: &mut Vec<Diagnostic>) -> Built {
    let mut builder = Builder::new(diagnostics);
    builder.cut = cut.cloned();
    if let Some(cut) = cut {
        builder.built.graph.stage_of_layer.clone_from(&cut.stage_of_layer);
    }
    let found_train = builder.statements(spec);
    builder.report_unlisted();
    builder.built.graph.sources_follow_their_readers();
    builder.remat_stages();
    // Where lines could not be read, they may well hold the model.
    if builder.built.graph.nodes().is_empty() && count_errors(builder.diagnostics) == 0 {
        builder.diagnostics.push(
            Diagnostic::error(
                Code::MissingStatement,
                Span::new(0, 0),
                "The study has no model".to_owned(),
            )
            .hint(Hint::edit(
                "Add the paper's example.",
                Span::new(0, 0),
                "model two_layer\n",
            )),
        );
    }
    builder.default_inits();
    builder.numbers_fit();
    // What could not be read may well use what nothing else does.
    if !spec.items.iter().any(|i| matches!(i.stmt, Stmt::Unreadable(_))) {
        builder.unused();
    }
    builder.finish(found_train)
}

struct Builder<'d> {
    built: Built,
    dims: BTreeMap<String, u64>,
    names: Scopes,
    /// The end of the last size in a `dims` line.
    dims_end: Option<u32>,
    /// Parameters and inputs without `init:`.
    uninitialised: Vec<NodeId>,
    diagnostics: &'d mut Vec<Diagnostic>,
    /// How many there were before.
    before: usize,
    /// Names whose declaration or assignment was wrong: their use is no further mistake.
    broken: BTreeSet<String>,
    /// The span of the `model` statement while its text is built.
    origin: Option<Span>,
    /// Blocks met so far, with their surroundings' prefix.
    blocks: BTreeSet<String>,
    /// `layer.3.` inside the fourth repetition of a block.
    prefix: String,
    /// How many blocks are open.
    depth: usize,
    /// How the batch and the layers are cut, if they are.
    cut: Option<Cutting>,
}

impl<'d> Builder<'d> {
    fn new(diagnostics: &'d mut Vec<Diagnostic>) -> Self {
        let before = diagnostics.len();
        Self {
            built: Built::default(),
            dims: BTreeMap::new(),
            names: Scopes::default(),
            dims_end: None,
            uninitialised: Vec::new(),
            broken: BTreeSet::new(),
            diagnostics,
            before,
            origin: None,
            blocks: BTreeSet::new(),
            prefix: String::new(),
            depth: 0,
            cut: None,
        }
    }

    fn failed(&self) -> bool {
        count_errors(&self.diagnostics[self.before..]) > 0
    }

    /// Whether so much is wrong that the rest is not looked at.
    fn is_full(&self) -> bool {
        self.diagnostics.len() - self.before >= MAX_PROBLEMS
    }

    fn report_unlisted(&mut self) {
        if self.is_full() {
            let last = self.diagnostics.last().map_or(Span::default(), |d| d.span);
            self.diagnostics.push(Diagnostic::error(
                Code::TooLarge,
                last,
                format!("There are more than {MAX_PROBLEMS} problems; the rest is not listed"),
            ));
        }
    }

    /// Reads all statements; dimensions first, since a study may size them below their use.
    fn statements(&mut self, spec: &Spec) -> Option<Span> {
        let mut train = None;
        let mut model_dtype = None;
        for item in &spec.items {
            match &item.stmt {
                Stmt::Train(options) => {
                    self.built.train = train::train(options, self.diagnostics);
                    self.built.graph.dtype = self.built.train.dtype;
                    self.built.graph.seed = self.built.train.seed;
                    let dtype = options.iter().any(|o| o.key.text == "dtype");
                    train = Some((item.span, dtype.then_some(self.built.train.dtype)));
                }
                Stmt::Model { options, .. } => {
                    let mut quiet = Vec::new();
                    let mut read = Reader::new("model", options, &[], &mut quiet);
                    let dtype = read.choice("dtype", DTYPES);
                    model_dtype = read.get("dtype").zip(dtype);
                }
                Stmt::Blank
                | Stmt::Mesh(_)
                | Stmt::Layout(_)
                | Stmt::Dims(_)
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
        match (model_dtype, train) {
            (Some((_, dtype)), None | Some((_, None))) => self.set_dtype(dtype),
            (Some((option, dtype)), Some((_, Some(other)))) if dtype != other => {
                let message = format!("`dtype` has no effect here: `train` says {}", other.name());
                let d = Diagnostic::warning(Code::Unused, option.span, message);
                self.diagnostics.push(d.hint(Hint::edit("Remove it.", option.span, "")));
            }
            _ => {}
        }
        for item in &spec.items {
            let Stmt::Dims(pairs) = &item.stmt else { continue };
            for pair in pairs {
                self.dims_end = Some(pair.span.end);
                let size = self.micro_size(&pair.name.text, pair.size);
                self.dimension(&pair.name.text, size, pair.span);
            }
        }
        self.items(&spec.items);
        self.report_beyond(spec);
        train.map(|t| t.0)
    }

    fn set_dtype(&mut self, dtype: Dtype) {
        self.built.graph.dtype = dtype;
        self.built.train.dtype = dtype;
    }

    fn dimension(&mut self, name: &str, size: u64, span: Span) {
        let span = self.origin.unwrap_or(span);
        if let Some(&before) = self.dims.get(name) {
            if self.built.dim_spans.get(name) != Some(&span) {
                self.diagnostics.push(
                    Diagnostic::error(
                        Code::Duplicate,
                        span,
                        format!("The dimension `{name}` already has the size {before}"),
                    )
                    .hint(Hint::edit("Remove this one.", span, "")),
                );
            }
            return;
        }
        self.dims.insert(name.to_owned(), size);
        self.built.dim_spans.insert(name.to_owned(), span);
    }

    /// A dimension of a preset; its size belongs into the `model` line, not into `dims`.
    /// One that the line does not mention gets it at the line's end, if the preset takes it there.
    fn preset_dimension(&mut self, preset: &Ident, options: &[Opt], pair: &Pair, span: Span) {
        let name = &pair.name.text;
        let takes = models::takes(&preset.text, name);
        if let Some(&elsewhere) = self.built.dim_spans.get(name) {
            let message = if takes {
                format!("`{name}` gets its size in the model line: {} {name}:8", preset.text)
            } else {
                format!("`{name}` gets its size from the model line")
            };
            self.diagnostics.push(
                Diagnostic::error(Code::Duplicate, elsewhere, message).hint(Hint::edit(
                    "Remove this one.",
                    elsewhere,
                    "",
                )),
            );
            return;
        }
        let own = options.iter().find(|o| o.key.text == *name);
        self.origin = Some(own.map_or(Span::new(span.end, span.end), |o| o.span));
        self.dimension(name, pair.size, pair.span);
        if own.is_none() && !takes {
            self.built.dim_spans.remove(name);
        }
    }

    fn items(&mut self, items: &[Item]) {
        let mut i = 0;
        while i < items.len() && !self.is_full() {
            let item = &items[i];
            i += 1;
            match &item.stmt {
                Stmt::Model { preset, options } => self.model(preset, options, item.span),
                Stmt::Input(decls) => decls.iter().for_each(|d| self.declare(d, Role::Input)),
                Stmt::Param(decls) => decls.iter().for_each(|d| self.declare(d, Role::Parameter)),
                Stmt::State(decls) => decls.iter().for_each(|d| self.declare(d, Role::Slot)),
                Stmt::Assign { name, dims, value } => {
                    self.begin_layer(&name.text);
                    self.assign(name, dims.as_deref(), value);
                }
                Stmt::Next { name, value } => self.next(name, value),
                Stmt::Block { name, options } => {
                    let length = blocks::length(&items[i..]);
                    self.block(name, options, &items[i..i + length]);
                    i += length;
                }
                Stmt::Blank
                | Stmt::Mesh(_)
                | Stmt::Layout(_)
                | Stmt::Dims(_)
                | Stmt::End
                | Stmt::Train(_)
                | Stmt::Pipeline(_)
                | Stmt::Hardware { .. }
                | Stmt::Unreadable(_) => {}
            }
        }
    }

    /// What stands outside of blocks is a layer of its own, line by line.
    fn begin_layer(&mut self, name: &str) {
        if self.depth == 0 {
            let graph = &mut self.built.graph;
            graph.layer = graph.layers.len() as u32;
            graph.layers.push(name.to_owned());
        }
    }

    fn model(&mut self, preset: &Ident, options: &[Opt], span: Span) {
        let Some(text) = models::expand(preset, options, self.diagnostics) else { return };
        let text = self.of_micro_batch(preset, options, text);
        let (spec, problems) = parse::parse(&text);
        self.diagnostics.extend(problems.into_iter().map(|d| Diagnostic { span, ..d }));
        self.origin = Some(span);
        for item in &spec.items {
            if let Stmt::Dims(pairs) = &item.stmt {
                for pair in pairs {
                    self.preset_dimension(preset, options, pair, span);
                }
            }
        }
        self.origin = Some(span);
        self.items(&spec.items);
        self.origin = None;
    }
}

fn count_errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|d| d.is_error()).count()
}
