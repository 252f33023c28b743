//! Whether a study fits its hardware, and the smallest changes that make it fit.
//!
//! ```text
//! heaviest cell: 12.3 GB > 8 GB
//!   one layer of it alone keeps more?  then no cut between layers helps: split its dimensions
//!   else                               more micro-batches, re-materialization, more cells, or a split
//! ```
//!
//! A mend is a text that was taken through all stages and fits; nothing is estimated.

use super::{Hardware, shown};
use crate::cost::tally::Tally;
use crate::diag::{Code, Diagnostic, Hint};
use crate::graph::Graph;
use crate::graph::op::Role;
use crate::index::ValueId;
use crate::layout::mesh::Mesh;
use crate::layout::rules::LayoutRules;
use crate::pipeline::order::Extent;
use crate::spec::edit::{self, difference};
use crate::spmd::cells::Cells;
use crate::spmd::program::Program;
use crate::staging::change::with_cells;
use crate::staging::pipe::Pipe;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// So many mends are offered.
const OFFERED: usize = 3;
/// A mesh dimension for a split is at most so large.
const WIDEST: u64 = 1024;
/// So many tensor dimensions are tried.
const MOST_DIMS: usize = 8;
/// Work spent on the search, in nodes of graphs taken through all stages.
const BUDGET: usize = 60_000;

/// A study that is planned, as far as its fit goes.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its mesh.
    pub mesh: &'a Mesh,
    /// Its layout rules.
    pub rules: &'a LayoutRules,
    /// Its graph.
    pub graph: &'a Graph,
    /// Its pipeline, if it is one.
    pub pipe: Option<&'a Pipe>,
    /// Its Program.
    pub program: &'a Program,
    /// What the Program costs.
    pub tally: &'a Tally,
}

/// What a changed study needs: bytes held at the peak, bytes sent.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// The most bytes one processor holds at once.
    pub peak: u64,
    /// The bytes one processor sends in a step.
    pub sent: f64,
}

/// A study that needs more than its hardware has.
#[derive(Debug)]
pub struct Misfit<'a> {
    study: Planned<'a>,
    hardware: &'a Hardware,
    /// The cell whose processors hold the most, and how much.
    cell: usize,
    peak: u64,
    /// The layer that is too large by itself, if one is.
    too_large: Option<Layer>,
}

impl<'a> Misfit<'a> {
    /// That of a study; nothing if it fits.
    pub fn of(study: Planned<'a>, hardware: &'a Hardware) -> Option<Self> {
        let (cell, totals) = study.tally.cells.iter().enumerate().max_by_key(|(_, c)| c.peak)?;
        let too_large = || heaviest_layer(study).filter(|l| l.kept > hardware.memory_bytes);
        (totals.peak > hardware.memory_bytes).then(|| Self {
            study,
            hardware,
            cell,
            peak: totals.peak,
            too_large: too_large(),
        })
    }

    /// What is wrong, without mends.
    pub fn diagnostic(&self) -> Diagnostic {
        let place = if self.study.pipe.is_some() {
            format!(" of cell {}", self.cell)
        } else {
            String::new()
        };
        let of_layer = self.too_large.as_ref().map_or_else(String::new, |layer| {
            format!(
                "; parameters and optimizer state of the layer `{}` alone are {}, so that no cut \
                 between layers makes it fit",
                layer.name,
                shown(layer.kept)
            )
        });
        let message = format!(
            "A processor{place} holds {} at its peak, and {} {}{of_layer}",
            shown(self.peak),
            self.hardware.has(),
            shown(self.hardware.memory_bytes)
        );
        Diagnostic::warning(Code::Hardware, self.hardware.span, message)
    }

    /// The smallest changes that make it fit; `plan` takes a changed text through all stages, many
    /// times.
    pub fn hints(&self, plan: &dyn Fn(&str) -> Option<Need>) -> Vec<Hint> {
        let left = Cell::new((BUDGET / self.study.graph.nodes().len().max(1)).clamp(6, 64));
        let plan = |text: &str| {
            left.set(left.get().checked_sub(1)?);
            plan(text)
        };
        let memory = self.hardware.memory_bytes;
        let search = Search { study: self.study, memory, peak: self.peak, plan: &plan };
        let mut mends = Vec::new();
        if let (Some(pipe), None) = (self.study.pipe, &self.too_large) {
            mends.extend(search.pipeline(pipe));
        }
        mends.extend(search.splits(&heaviest_dims(self.study, self.cell, self.too_large.as_ref())));
        mends.truncate(OFFERED);
        let hint = |Mend { what, text, costs }: Mend| {
            let edit = difference(self.study.text, &text)?;
            let then = format!("{what}: then a processor holds {}.", shown(costs.peak));
            Some(Hint { text: then, edit: Some(edit) })
        };
        let hints: Vec<Hint> = mends.into_iter().filter_map(hint).collect();
        if hints.is_empty() {
            let advice = "Split more dimensions over more processors, or make the model smaller.";
            return vec![Hint::new(advice)];
        }
        hints
    }
}

/// A layer and what it keeps from step to step.
#[derive(Debug)]
struct Layer {
    index: u32,
    name: String,
    /// Bytes of one processor's parameters and their optimizer state.
    kept: u64,
}

/// The layer that keeps the most.
fn heaviest_layer(study: Planned<'_>) -> Option<Layer> {
    let Planned { graph, program, .. } = study;
    let mut kept: BTreeMap<u32, u64> = BTreeMap::new();
    let stage = |source: ValueId| program.values[source].stage;
    for &source in program.sources.iter().filter(|s| program.is_of_first_copy(stage(**s))) {
        let bytes = kept.entry(graph.nodes()[program.values[source].node].layer).or_default();
        *bytes = bytes.saturating_add(program.slice_bytes(source));
    }
    let (index, kept) = kept.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    let name = graph.layers.get(index as usize).cloned().unwrap_or_default();
    Some(Layer { index, name, kept })
}

/// The tensor dimensions that no rule splits yet, those that the most bytes of a cell have first;
/// before them, if a layer is too large by itself, those of what it keeps.
fn heaviest_dims(study: Planned<'_>, rank: usize, layer: Option<&Layer>) -> Vec<Dim> {
    let Planned { graph, program, rules, .. } = study;
    let ruled: BTreeSet<&str> = rules.rules().iter().map(|r| &*r.dim).collect();
    let mut weights: BTreeMap<&str, (u64, u64, bool)> = BTreeMap::new();
    for (id, value) in program.values.entries().filter(|(_, v)| program.rank(v.stage) == rank) {
        let is_kept = program.sources.contains(&id);
        let of_layer = layer.is_some_and(|l| graph.nodes()[value.node].layer == l.index);
        let bytes = program.slice_bytes(id);
        let dims = value.shape.dims().iter().filter(|d| d.size > 1);
        for dim in dims.filter(|d| !ruled.contains(&*d.name)) {
            let (of_it, of_all, of_parameters) = weights.entry(&dim.name).or_default();
            if is_kept && of_layer {
                *of_it = of_it.saturating_add(bytes);
            }
            *of_all = of_all.saturating_add(bytes);
            *of_parameters |= graph.nodes()[value.node].role == Role::Parameter;
        }
    }
    let mut dims: Vec<_> = weights.into_iter().collect();
    dims.sort_by_key(|(_, (of_it, of_all, _))| std::cmp::Reverse((*of_it, *of_all)));
    let dim =
        |(name, (_, _, of_parameters)): (&str, _)| Dim { name: name.to_owned(), of_parameters };
    dims.into_iter().take(MOST_DIMS).map(dim).collect()
}

/// A tensor dimension that could be split.
#[derive(Debug)]
struct Dim {
    name: String,
    /// Whether a parameter has it: model parallelism; else data parallelism.
    of_parameters: bool,
}

/// A changed text that fits.
struct Mend {
    what: String,
    text: String,
    costs: Need,
}

struct Search<'a> {
    study: Planned<'a>,
    memory: u64,
    peak: u64,
    plan: &'a dyn Fn(&str) -> Option<Need>,
}

impl Search<'_> {
    /// The mend, if its text fits.
    fn mend(&self, what: impl Into<String>, text: String) -> Option<Mend> {
        let costs = (self.plan)(&text)?;
        (costs.peak <= self.memory).then(|| Mend { what: what.into(), text, costs })
    }

    /// Changes of the pipeline: less is held at a time, or each cell has fewer layers.
    fn pipeline(&self, pipe: &Pipe) -> Vec<Mend> {
        let Planned { text, program, mesh, .. } = self.study;
        let Some(cells) = &program.cells else { return Vec::new() };
        let Extent { ranks, micro_batches, .. } = cells.order().extent();
        let mut mends = Vec::new();
        if !pipe.remat_of_last() {
            let text = edit::set_option(text, "pipeline", "remat", "on");
            mends.extend(self.mend("Compute activations again (`remat:on`)", text));
        }
        let many = [2, 4, 8].map(|factor| micro_batches * factor);
        mends.extend(many.into_iter().find_map(|m| {
            let text = edit::set_option(text, "pipeline", "micro_batches", &m.to_string());
            self.mend(format!("Take {m} micro-batches"), text)
        }));
        let over = &mesh.dim(cells.axis()).name;
        let wider = [2, 4, 8].map(|factor| u64::from(ranks) * factor);
        mends.extend(wider.into_iter().find_map(|size| {
            let text = with_cells(text, &dims(mesh), over, size);
            self.mend(format!("Take {size} cells"), text)
        }));
        mends
    }

    /// Splits of tensor dimensions: over a mesh dimension that is there, else over a new one of the
    /// smallest size that makes it fit.
    fn splits(&self, candidates: &[Dim]) -> Vec<Mend> {
        let Planned { text, mesh, program, .. } = self.study;
        let cells = program.cells.as_ref().map(Cells::axis);
        let all: Vec<&str> = candidates.iter().map(|d| &*d.name).collect();
        let of_parameters = candidates.iter().filter(|d| d.of_parameters);
        let of_parameters: Vec<&str> = of_parameters.map(|d| &*d.name).collect();
        let ways = if all == of_parameters { vec![all] } else { vec![all, of_parameters] };
        let each = |mesh_dim: &str, text: &str| {
            let mut mends: Vec<Mend> =
                ways.iter().filter_map(|dims| self.split(dims, mesh_dim, text)).collect();
            mends.dedup_by(|a, b| a.text == b.text);
            mends
        };
        let there = mesh.axes().filter(|&a| Some(a) != cells && mesh.size(a) > 1);
        let mut mends: Vec<Mend> = Vec::new();
        for axis in there {
            mends.extend(each(&mesh.dim(axis).name, text));
        }
        let least = self.peak.div_ceil(self.memory).next_power_of_two().max(2);
        let mut size = least;
        while mends.is_empty() && size <= WIDEST {
            let name = unused_name(mesh);
            let mut dims = dims(mesh);
            dims.push((name.clone(), size));
            let wider = edit::set_mesh(text, &dims);
            mends.extend(each(&name, &wider));
            size *= 2;
        }
        mends.sort_by(|a, b| a.costs.sent.total_cmp(&b.costs.sent));
        mends
    }

    /// Splits one dimension after the other over a mesh dimension, the one that helps most first,
    /// until it fits.
    fn split(&self, dims: &[&str], mesh_dim: &str, text: &str) -> Option<Mend> {
        let (mut text, mut peak) = (text.to_owned(), self.peak);
        let mut split: Vec<&str> = Vec::new();
        loop {
            let tried = dims.iter().filter(|d| !split.contains(d)).filter_map(|&dim| {
                let text = edit::set_rule(&text, dim, &[mesh_dim.to_owned()]);
                let costs = (self.plan)(&text)?;
                Some((dim, text, costs))
            });
            let (dim, then, costs) = tried.min_by_key(|(_, _, costs)| costs.peak)?;
            if costs.peak >= peak {
                return None;
            }
            split.push(dim);
            (text, peak) = (then, costs.peak);
            if peak <= self.memory {
                let names: Vec<String> = split.iter().map(|d| format!("`{d}`")).collect();
                let what = format!("Split {} over `{mesh_dim}`", names.join(" and "));
                return Some(Mend { what, text, costs });
            }
        }
    }
}

/// The mesh dimensions as they are written.
fn dims(mesh: &Mesh) -> Vec<(String, u64)> {
    mesh.dims().iter().map(|d| (d.name.to_string(), d.size)).collect()
}

/// A name for a mesh dimension that carries a split.
fn unused_name(mesh: &Mesh) -> String {
    let is_free = |name: &str| mesh.axis(name).is_none();
    let numbered = (2_u32..).map(|n| format!("model{n}"));
    let mut names = std::iter::once("model".to_owned()).chain(numbered);
    names.find(|name| is_free(name)).unwrap_or_default()
}
