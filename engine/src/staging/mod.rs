//! From a study's text to a Program that runs in stages, if there is a `pipeline` statement.
//!
//! ```text
//! pipeline over:stages micro_batches:8 schedule:1f1b
//!   read    the mesh dimension that carries the cells, the schedule, its limits
//!   pipe    the stage of each layer and the cells' order, from the `flops` of the whole model
//!   lay     built and lowered whole, for these, then cut
//! ```

pub mod flops;
mod numbers;
pub mod pipe;
mod read;
mod limits;
pub mod outlook;
pub mod change;

use self::pipe::Pipe;
use crate::diag::{Code, Diagnostic, Hint};
use crate::graph::build::micro::{Cutting, TAKE_WHOLE};
use crate::graph::build::{Built, build};
use crate::graph::micro::MicroBatches;
use crate::layout::mesh::Mesh;
use crate::layout::rules::LayoutRules;
use crate::resolve::{Layouts, Places, resolve};
use crate::spec::ast::Spec;
use crate::spmd::lower::{Model, lower};
use crate::spmd::program::Program;

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
        let Self { spec, mesh, .. } = self;
        let has_errors = |list: &[Diagnostic]| list.iter().any(Diagnostic::is_error);
        let before = diagnostics.len();
        let read = Pipe::read(self, diagnostics);
        let is_wrong = has_errors(&diagnostics[before..]);
        let pipe = read.clone().filter(|pipe| !is_wrong && pipe.is_legal());
        let places = Places { cells: pipe.as_ref().map(Pipe::over), ..self.places.clone() };
        let around = Surroundings { places: &places, ..self };
        let of_train = || {
            let cutting = Cutting::of(spec)?;
            Some(Cutting { parts: self.parts(&cutting.dim), ..cutting })
        };
        let cutting = pipe.as_ref().map(Pipe::cutting).or_else(of_train);
        let (before, mut whole) = (diagnostics.len(), Vec::new());
        let (built, layouts) = around.build(cutting.as_ref(), diagnostics);
        let is_built = !has_errors(&diagnostics[before..]);
        let cut = cutting.as_ref().zip(built.graph.micro.as_ref());
        if let Some((cutting, micro)) = cut.filter(|(_, micro)| micro.count() > 1) {
            self.compare_with_whole((cutting, micro), &mut diagnostics[before..], &mut whole);
            diagnostics.append(&mut whole);
        }
        diagnostics.extend(read.iter().flat_map(|pipe| pipe.problems(&built.graph, is_built)));
        let micro = cutting.as_ref().zip(built.graph.micro.as_ref());
        let is_legal = |n| pipe.as_ref().is_none_or(|pipe| pipe.takes(n));
        diagnostics.extend(micro.and_then(|(cutting, micro)| cutting.fewer(micro, is_legal)));
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
                    (laid.built, laid.layouts) = around.build(Some(&cutting), &mut Vec::new());
                }
                Err(problem) => {
                    // few rows may make fewer micro-batches than the schedule takes
                    let is_small = !pipe.takes(micro.count());
                    let nearest = is_small.then(|| cutting.nearest(&micro, |n| pipe.takes(n)));
                    diagnostics.push(nearest.into_iter().flatten().fold(problem, Diagnostic::hint));
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
        let (built, layouts) = around.build(Some(&cutting), &mut problems);
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

    /// Compares what is wrong in a micro-batch with what is in the whole batch: a model is right only
    /// if it is for both. What is wrong in the whole alone goes to `more`.
    fn compare_with_whole(
        self,
        (cutting, micro): (&Cutting, &MicroBatches),
        in_micro: &mut [Diagnostic],
        more: &mut Vec<Diagnostic>,
    ) {
        let mut in_whole = Vec::new();
        build(self.spec, None, &mut in_whole);
        in_whole.retain(|d| d.is_error() && d.code != Code::TooLarge);
        let is_of_model = |d: &Diagnostic| {
            let elsewhere =
                [Code::NotDivisible, Code::MeshDimensionTwice, Code::MicroBatches, Code::TooLarge];
            d.is_error() && !elsewhere.contains(&d.code)
        };
        if in_micro.iter().any(Diagnostic::is_error) {
            if in_whole.is_empty() {
                let is_said = |d: &Diagnostic| d.hints.iter().any(|h| h.text == TAKE_WHOLE);
                for d in in_micro.iter_mut().filter(|d| is_of_model(d) && !is_said(d)) {
                    d.hints = cutting.of_whole(micro);
                }
            }
            return;
        }
        let dim = &micro.dim;
        more.extend(in_whole.into_iter().map(|d| {
            let message = format!("In the whole batch, without micro-batches: {}", d.message);
            let mend =
                format!("Compute along `{dim}` row by row, so that any number of rows fits.");
            Diagnostic { message, hints: vec![Hint::new(mend)], ..d }
        }));
    }

    /// Over how many processors the rules split a dimension.
    fn parts(&self, dim: &str) -> u64 {
        self.mesh.group_size(&self.rules.mesh_axes(dim, self.mesh)).max(1)
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
