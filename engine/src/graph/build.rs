//! From the parsed study to the graph: declarations, assignments, blocks, presets; then, for a
//! study that trains, the backward pass and the update.

use super::expr::scope::Scope;
use super::op::{Dtype, Element, Init, Op, Phase, Role};
use super::optimizer::{self, Recipe};
use super::options::{self, DTYPES, Reader};
use super::train::{self, TrainOptions};
use super::{Context, Graph, Node, autodiff, models};
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::index::{IdVec, NodeId};
use crate::layout::dims::{Name, Shape};
use crate::spec::ast::{Decl, Expr, Ident, Item, Opt, Pair, Spec, Stmt};
use crate::spec::parse;
use std::collections::{BTreeMap, BTreeSet};

/// The most nodes a graph may have before differentiation.
const MAX_NODES: usize = 200_000;

/// A study's graph and what its statements say beside it.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// The graph as far as the text could be read.
    pub graph: Graph,
    /// What `train` says.
    pub train: TrainOptions,
    /// Where each tensor dimension got its size.
    pub dim_spans: BTreeMap<String, Span>,
}

/// Builds the graph of a study.
pub fn build(spec: &Spec, diagnostics: &mut Vec<Diagnostic>) -> Built {
    let mut builder = Builder::new(diagnostics);
    let found_train = builder.statements(spec);
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
    builder.unused();
    builder.finish(found_train)
}

struct Builder<'d> {
    built: Built,
    dims: BTreeMap<String, u64>,
    names: BTreeMap<String, NodeId>,
    /// Parameters and inputs without `init:`.
    uninitialised: Vec<NodeId>,
    diagnostics: &'d mut Vec<Diagnostic>,
    errors_before: usize,
    /// Names whose declaration or assignment was wrong: their use is no further mistake.
    broken: BTreeSet<String>,
    /// The span of the `model` statement while its text is built.
    origin: Option<Span>,
    /// `layer.3.` inside the fourth repetition of a block.
    prefix: String,
}

impl<'d> Builder<'d> {
    fn new(diagnostics: &'d mut Vec<Diagnostic>) -> Self {
        let errors_before = count_errors(diagnostics);
        Self {
            built: Built::default(),
            dims: BTreeMap::new(),
            names: BTreeMap::new(),
            uninitialised: Vec::new(),
            broken: BTreeSet::new(),
            diagnostics,
            errors_before,
            origin: None,
            prefix: String::new(),
        }
    }

    fn failed(&self) -> bool {
        count_errors(self.diagnostics) > self.errors_before
    }

    /// Reads all statements; dimensions first, since a study may size them below their use.
    fn statements(&mut self, spec: &Spec) -> Option<Span> {
        let mut train = None;
        let mut model_dtype = None;
        for item in &spec.items {
            match &item.stmt {
                Stmt::Dims(pairs) => {
                    for pair in pairs {
                        self.dimension(&pair.name.text, pair.size, pair.span);
                    }
                }
                Stmt::Train(options) => {
                    self.built.train = train::train(options, self.diagnostics);
                    self.built.graph.dtype = self.built.train.dtype;
                    self.built.graph.seed = self.built.train.seed;
                    train = Some((item.span, options.iter().any(|o| o.key.text == "dtype")));
                }
                Stmt::Model { options, .. } => {
                    let mut quiet = Vec::new();
                    model_dtype =
                        Reader::new("model", options, &[], &mut quiet).choice("dtype", DTYPES);
                }
                Stmt::Blank
                | Stmt::Mesh(_)
                | Stmt::Layout(_)
                | Stmt::Input(_)
                | Stmt::Param(_)
                | Stmt::Assign { .. }
                | Stmt::Block { .. }
                | Stmt::End
                | Stmt::Pipeline(_)
                | Stmt::Hardware { .. }
                | Stmt::Unreadable(_) => {}
            }
        }
        if let (Some(dtype), None | Some((_, false))) = (model_dtype, train) {
            self.set_dtype(dtype);
        }
        self.items(&spec.items);
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
    fn preset_dimension(&mut self, preset: &Ident, pair: &Pair, span: Span) {
        let name = &pair.name.text;
        if let Some(&elsewhere) = self.built.dim_spans.get(name) {
            let message =
                format!("`{name}` gets its size in the model line: {} {name}:8", preset.text);
            self.diagnostics.push(
                Diagnostic::error(Code::Duplicate, elsewhere, message).hint(Hint::edit(
                    "Remove this one.",
                    elsewhere,
                    "",
                )),
            );
            return;
        }
        self.origin = Some(span);
        self.dimension(name, pair.size, pair.span);
    }

    fn items(&mut self, items: &[Item]) {
        let mut i = 0;
        while i < items.len() {
            let item = &items[i];
            i += 1;
            match &item.stmt {
                Stmt::Model { preset, options } => self.model(preset, options, item.span),
                Stmt::Input(decls) => decls.iter().for_each(|d| self.declare(d, Role::Input)),
                Stmt::Param(decls) => decls.iter().for_each(|d| self.declare(d, Role::Parameter)),
                Stmt::Assign { name, dims, value } => self.assign(name, dims.as_deref(), value),
                Stmt::Block { name, options } => {
                    let length = block_length(&items[i..]);
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

    fn model(&mut self, preset: &Ident, options: &[Opt], span: Span) {
        let Some(text) = models::expand(preset, options, self.diagnostics) else { return };
        let (spec, problems) = parse::parse(&text);
        self.diagnostics.extend(problems.into_iter().map(|d| Diagnostic { span, ..d }));
        self.origin = Some(span);
        for item in &spec.items {
            if let Stmt::Dims(pairs) = &item.stmt {
                for pair in pairs {
                    let own = options.iter().find(|o| o.key.text == pair.name.text);
                    self.preset_dimension(preset, pair, own.map_or(span, |o| o.span));
                }
            }
        }
        self.origin = Some(span);
        self.items(&spec.items);
        self.origin = None;
    }

    fn full_name(&self, name: &str) -> Name {
        Name::from(format!("{}{name}", self.prefix))
    }

    /// Reports a name that is taken; a block may assign a name of its surroundings anew.
    fn is_free(&mut self, name: &Ident, span: Span) -> bool {
        let full = self.full_name(&name.text);
        if self.built.graph.find(&full).is_none() {
            return true;
        }
        self.diagnostics.push(Diagnostic::error(
            Code::Duplicate,
            span,
            format!("There is already a tensor `{full}`; give this one another name"),
        ));
        false
    }

    fn scope(&mut self) -> Scope<'_> {
        Scope {
            graph: &mut self.built.graph,
            dims: &self.dims,
            names: &self.names,
            broken: &self.broken,
            dim_spans: &self.built.dim_spans,
            diagnostics: self.diagnostics,
            origin: self.origin,
        }
    }

    fn declare(&mut self, decl: &Decl, role: Role) {
        let span = self.origin.unwrap_or(decl.span);
        let Some(shape) = self.scope().shape(&decl.dims) else {
            self.broken.insert(decl.name.text.clone());
            return;
        };
        if !self.is_free(&decl.name, span) {
            return;
        }
        let elements = shape.elements();
        let what = if role == Role::Input { "input" } else { "param" };
        let given = Reader::new(what, &decl.options, &["init"], self.diagnostics).get("init");
        let init = given.and_then(|o| options::init(o, elements, self.diagnostics));
        let uninitialised = init.is_none();
        let name = self.full_name(&decl.name.text);
        let id = self.built.graph.push(Node {
            op: Op::Source(init.unwrap_or(Init::Constant(0.0))),
            inputs: Vec::new(),
            shape,
            name,
            role,
            phase: Phase::Forward,
            span,
            is_named: true,
        });
        if uninitialised {
            self.uninitialised.push(id);
        }
        self.names.insert(decl.name.text.clone(), id);
    }

    fn assign(&mut self, name: &Ident, dims: Option<&[Ident]>, value: &Expr) {
        if self.built.graph.nodes().len() > MAX_NODES {
            return;
        }
        let span = self.origin.unwrap_or(name.span);
        if !self.is_free(name, span) {
            return;
        }
        let full = self.full_name(&name.text);
        let first_new = self.built.graph.nodes().len();
        let cx = Context {
            base: Name::clone(&full),
            role: Role::Activation,
            phase: Phase::Forward,
            span,
        };
        let Some(mut id) = self.scope().expr(&cx, value) else {
            self.broken.insert(name.text.clone());
            return;
        };
        if let Some(dims) = dims {
            let Some(shape) = self.scope().shape(dims) else { return };
            if let Some(message) = misfit(self.built.graph.shape(id), &shape) {
                self.diagnostics.push(Diagnostic::error(Code::ShapeMismatch, span, message));
                return;
            }
            if *self.built.graph.shape(id) != shape {
                let op = Op::Elementwise(Element::Identity);
                id = self.built.graph.add(&cx, op, vec![id], shape);
            }
        }
        let is_new = crate::index::Idx::index(id) >= first_new;
        if !is_new {
            let shape = self.built.graph.shape(id).clone();
            id = self.built.graph.add(&cx, Op::Elementwise(Element::Identity), vec![id], shape);
        }
        let role = if *full == *"loss" { Role::Loss } else { Role::Activation };
        self.built.graph.rename_node(id, &full, role);
        self.names.insert(name.text.clone(), id);
        if role == Role::Loss {
            let shape = self.built.graph.shape(id);
            if shape.rank() > 0 {
                let message = format!("The loss is a single number, this one is {shape}");
                let d = Diagnostic::error(Code::ShapeMismatch, span, message);
                self.diagnostics.push(d.hint(Hint::edit(
                    "Take its mean.",
                    value.span,
                    format!("mean({})", crate::spec::print::expression(value)),
                )));
                return;
            }
            self.built.graph.loss = Some(id);
        }
    }

    fn block(&mut self, name: &Ident, options: &[Opt], body: &[Item]) {
        let mut read = Reader::new("block", options, &["times"], self.diagnostics);
        // Without `times` a block is a room for names, not a list of one.
        let read_times = read.get("times");
        let times = read.whole("times", 1, 10_000).unwrap_or(1);
        let outer = self.names.clone();
        let prefix = self.prefix.clone();
        for i in 0..times {
            self.prefix = match read_times {
                Some(_) => format!("{prefix}{}.{i}.", name.text),
                None => format!("{prefix}{}.", name.text),
            };
            let before = count_errors(self.diagnostics);
            self.items(body);
            // Of the names made inside, those of the surroundings are carried on.
            let carried = std::mem::take(&mut self.names);
            self.names = outer.keys().filter_map(|k| Some((k.clone(), *carried.get(k)?))).collect();
            if self.built.graph.nodes().len() > MAX_NODES {
                self.diagnostics.push(Diagnostic::error(
                    Code::TooLarge,
                    name.span,
                    format!("The model has more than {MAX_NODES} operations"),
                ));
                break;
            }
            if count_errors(self.diagnostics) > before {
                break;
            }
        }
        self.prefix = prefix;
    }

    /// Parameters of two dimensions and more start normally distributed with deviation
    /// 1/√fan-in (the size of what is summed over in their first einsum, else all dimensions but
    /// the last), others at zero; inputs are standard normal.
    fn default_inits(&mut self) {
        let users = self.built.graph.users();
        for &id in &self.uninitialised {
            let node = self.built.graph.node(id);
            let init = if node.role == Role::Input {
                Init::Normal { mean: 0.0, deviation: 1.0 }
            } else if node.shape.rank() < 2 {
                Init::Constant(0.0)
            } else {
                let fan_in = fan_in(&self.built.graph, &users, id);
                Init::Normal { mean: 0.0, deviation: 1.0 / (fan_in as f64).sqrt() }
            };
            self.built.graph.set_init(id, init);
        }
    }

    fn unused(&mut self) {
        if self.failed() {
            return;
        }
        let graph = &self.built.graph;
        let users = graph.users();
        for (id, node) in graph.nodes().entries() {
            let declared = matches!(node.role, Role::Input | Role::Parameter);
            if declared && users[id].is_empty() {
                let message = format!("`{}` is declared and never used", node.name);
                self.diagnostics.push(Diagnostic::warning(Code::Unused, node.span, message));
            }
        }
        for (name, span) in &self.built.dim_spans {
            if !graph.nodes().iter().any(|n| n.shape.has(name)) {
                let message = format!("No tensor has the dimension `{name}`");
                self.diagnostics.push(
                    Diagnostic::warning(Code::Unused, *span, message).hint(Hint::edit(
                        "Remove it.",
                        *span,
                        "",
                    )),
                );
            }
        }
    }

    fn finish(mut self, train: Option<Span>) -> Built {
        let Some(span) = train else { return self.built };
        if self.failed() {
            return self.built;
        }
        let Some(loss) = self.built.graph.loss else {
            self.diagnostics.push(
                Diagnostic::error(
                    Code::NoLoss,
                    span,
                    "There is nothing to train: no tensor is called `loss`",
                )
                .hint(Hint::new("Assign a single number to it: loss = mean(square(y - target)).")),
            );
            return self.built;
        };
        autodiff::differentiate(&mut self.built.graph, loss);
        if self.built.graph.gradients.is_empty() {
            self.diagnostics.push(Diagnostic::warning(
                Code::NoLoss,
                span,
                "The loss depends on no parameter: training changes nothing",
            ));
        }
        let TrainOptions { optimizer, rate, schedule, clip, .. } = self.built.train;
        let recipe = Recipe { optimizer, rate, schedule, clip, span };
        optimizer::update(&mut self.built.graph, &recipe);
        self.built
    }
}

fn count_errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|d| d.is_error()).count()
}

/// Why a result of shape `has` cannot be stored as `wants`.
fn misfit(has: &Shape, wants: &Shape) -> Option<String> {
    let lost = has.dims().iter().find(|d| !wants.has(&d.name))?;
    Some(format!(
        "The expression is {has}, which has the dimension `{}` that {wants} lacks",
        lost.name
    ))
}

/// Items up to and with the `end` that closes the block.
fn block_length(items: &[Item]) -> usize {
    let mut depth = 1;
    for (i, item) in items.iter().enumerate() {
        if let Stmt::Block { .. } = item.stmt {
            depth += 1;
        } else if item.stmt == Stmt::End {
            depth -= 1;
        }
        if depth == 0 {
            return i + 1;
        }
    }
    items.len()
}

fn fan_in(graph: &Graph, users: &IdVec<NodeId, Vec<NodeId>>, id: NodeId) -> u64 {
    let shape = graph.shape(id);
    let einsum = users[id].iter().map(|&u| graph.node(u)).find(|n| n.op == Op::Einsum);
    match einsum {
        Some(user) => shape.filter(|d| !user.shape.has(&d.name)).elements().max(1),
        None => shape.dims()[..shape.rank() - 1].iter().map(|d| d.size).product::<u64>().max(1),
    }
}
