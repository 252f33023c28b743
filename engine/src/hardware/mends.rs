//! The smallest changes that make a study fit its hardware.
//!
//! ```text
//! alone      re-materialization · more micro-batches · more cells · a split of the heaviest
//!            dimensions over a mesh dimension that is there, else over a new one
//! together   where none of these is enough: splits over all that is there and then over new ones,
//!            of the study as it is or of what holds the least with no more processors
//! ```
//!
//! A mend is a text that was taken through all stages and fits; nothing is estimated.

use crate::cost::tally::Tally;
use crate::graph::Graph;
use crate::layout::mesh::Mesh;
use crate::layout::rules::LayoutRules;
use crate::spec::edit;
use crate::spmd::cells::Cells;
use crate::spmd::program::Program;
use crate::staging::change::with_cells;
use crate::staging::pipe::Pipe;
use indexmap::IndexMap;
use std::cell::Cell;

/// A mesh dimension for a split is at most so large.
const WIDEST: u64 = 1024;
/// So many tensor dimensions are tried each against each other.
const MOST_DIMS: usize = 8;
/// Work spent on the whole search, in nodes of graphs taken through all stages.
const BUDGET: usize = 120_000;
/// So many studies are planned at most.
const MOST_PLANS: usize = 600;
/// So many times as many micro-batches are tried.
const MORE: [u32; 6] = [2, 4, 8, 16, 32, 64];

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
    /// The same of a processor of each cell, all cells together.
    pub of_all_cells: u64,
    /// The bytes one processor sends in a step.
    pub sent: f64,
}

impl Need {
    /// As a Tally says.
    pub fn of(tally: &Tally) -> Self {
        Self {
            peak: tally.totals.peak_bytes_per_processor,
            of_all_cells: tally.cells.iter().fold(0, |sum, c| c.peak.saturating_add(sum)),
            sent: tally.totals.sent_bytes_per_processor,
        }
    }

    /// What is to become less.
    pub(super) const fn key(self) -> (u64, u64) {
        (self.peak, self.of_all_cells)
    }
}

/// A tensor dimension that could be split.
#[derive(Debug)]
pub(super) struct Dim {
    pub(super) name: String,
    /// Whether a parameter has it: model parallelism; else data parallelism.
    pub(super) of_parameters: bool,
    /// Its place among all dimensions, in the order of the graph.
    pub(super) place: usize,
}

/// A study changed to hold less.
#[derive(Debug, Clone)]
pub(super) struct Mend {
    pub(super) text: String,
    pub(super) need: Need,
    mesh: Vec<(String, u64)>,
    /// What is changed beside splits, in words.
    changes: Vec<String>,
    /// The mesh dimensions over which each dimension is split now.
    splits: IndexMap<String, Vec<String>>,
}

impl Mend {
    /// All changes in words; `before` is the mesh as it was.
    pub(super) fn what(&self, before: &Mesh) -> String {
        let mut over: IndexMap<&[String], Vec<&str>> = IndexMap::new();
        for (dim, mesh_dims) in &self.splits {
            over.entry(mesh_dims).or_default().push(dim);
        }
        let splits = over.into_iter().map(|(mesh_dims, dims)| {
            // a new one with its size
            let size = |name: &str| self.mesh.iter().find(|(other, _)| other == name).map(|m| m.1);
            let named = |name: &String| match size(name).filter(|_| before.axis(name).is_none()) {
                Some(size) => format!("{name}:{size}"),
                None => name.clone(),
            };
            let mesh_dims: Vec<String> = mesh_dims.iter().map(named).collect();
            let mesh_dims: Vec<&str> = mesh_dims.iter().map(String::as_str).collect();
            format!("split {} over {}", listed(&dims), listed(&mesh_dims))
        });
        let all: Vec<String> = self.changes.iter().cloned().chain(splits).collect();
        let all = all.join(", ");
        let mut letters = all.chars();
        letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
    }

    fn processors(&self) -> u64 {
        self.mesh.iter().map(|(_, size)| size).product()
    }

    /// Whether a processor of the heaviest cell holds less than so much, or else those of all cells.
    fn is_below(&self, need: Need) -> bool {
        self.need.key() < need.key()
    }
}

/// The search for a study.
pub(super) struct Search<'a> {
    study: Planned<'a>,
    memory: u64,
    /// Whether a layer is too large by itself, so that no change of the pipeline is enough.
    splits_only: bool,
    plan: &'a dyn Fn(&str) -> Option<Need>,
    /// Studies that may still be planned.
    left: Cell<usize>,
}

impl<'a> Search<'a> {
    /// For processors that hold so much; `plan` takes a changed text through all stages, many times.
    pub(super) const fn new(
        study: Planned<'a>,
        memory: u64,
        splits_only: bool,
        plan: &'a dyn Fn(&str) -> Option<Need>,
    ) -> Self {
        Self { study, memory, splits_only, plan, left: Cell::new(0) }
    }

    /// What makes it fit.
    pub(super) fn mends(&self, dims: &[Dim]) -> Vec<Mend> {
        let budget = (BUDGET / self.study.graph.nodes().len().max(1)).clamp(2, MOST_PLANS);
        self.left.set(budget / 2);
        let mut mends = Vec::new();
        let pipe = self.study.pipe;
        if !self.splits_only {
            mends.extend(self.of_pipeline());
        }
        if pipe.is_none() {
            let remat = || self.with_remat(&self.unchanged()).filter(|mend| self.fits(mend));
            mends.extend(if self.splits_only { None } else { remat() });
            mends.extend(self.parts());
        }
        mends.extend(self.splits(&dims[..dims.len().min(MOST_DIMS)]));
        if mends.is_empty() {
            let mut together = |from: &Mend| {
                self.left.set(budget);
                mends.extend(self.together(from, dims));
            };
            together(&self.unchanged());
            together(&self.lean());
            mends.sort_by_key(Mend::processors);
            mends.dedup_by(|a, b| a.text == b.text);
        }
        mends
    }

    fn unchanged(&self) -> Mend {
        let Planned { text, mesh, tally, .. } = self.study;
        let (text, need, mesh) = (text.to_owned(), Need::of(tally), dims(mesh));
        Mend { text, need, mesh, changes: Vec::new(), splits: IndexMap::new() }
    }

    fn fits(&self, mend: &Mend) -> bool {
        mend.need.peak <= self.memory
    }

    /// What a changed text needs; nothing where it is no legal study, or the budget is spent.
    fn need(&self, text: &str) -> Option<Need> {
        self.left.set(self.left.get().checked_sub(1)?);
        (self.plan)(text)
    }

    /// One change more.
    fn then(&self, mend: &Mend, what: String, text: String) -> Option<Mend> {
        let need = self.need(&text)?;
        let changes = mend.changes.iter().cloned().chain([what]).collect();
        Some(Mend { text, need, changes, ..mend.clone() })
    }

    /// One split more.
    fn with_split(&self, mend: &Mend, dim: &str, mesh_dim: &str) -> Option<Mend> {
        let mut splits = mend.splits.clone();
        let over = splits.entry(dim.to_owned()).or_default();
        over.push(mesh_dim.to_owned());
        let text = edit::set_rule(&mend.text, dim, over);
        let need = self.need(&text)?;
        Some(Mend { text, need, splits, ..mend.clone() })
    }

    /// The stages of a pipeline, or the blocks of a study that trains, computed again.
    fn with_remat(&self, mend: &Mend) -> Option<Mend> {
        let text = match self.study.pipe {
            Some(pipe) if pipe.remat_of_last() => return None,
            Some(_) => edit::set_option(&mend.text, "pipeline", "remat", "on"),
            None if self.study.graph.gradients.is_empty() => return None,
            None => edit::set_block_option(&mend.text, "remat", "on"),
        };
        if text == mend.text {
            return None;
        }
        self.then(mend, "compute activations again (`remat:on`)".to_owned(), text)
    }

    fn with_micro_batches(&self, mend: &Mend, count: u32) -> Option<Mend> {
        let statement = if self.study.pipe.is_some() { "pipeline" } else { "train" };
        let text = edit::set_option(&mend.text, statement, "micro_batches", &count.to_string());
        self.then(mend, format!("take {count} micro-batches"), text)
    }

    /// Changes of the pipeline: less is held at a time, or each cell has fewer layers.
    fn of_pipeline(&self) -> Vec<Mend> {
        let Planned { text, program, mesh, .. } = self.study;
        let Some(cells) = &program.cells else { return Vec::new() };
        let now = self.unchanged();
        let fits = |mend: &Mend| self.fits(mend);
        let mut mends = Vec::new();
        mends.extend(self.with_remat(&now).filter(fits));
        mends.extend(self.parts());
        let over = &mesh.dim(cells.axis()).name;
        let mut wider = MORE.map(|factor| mesh.size(cells.axis()) * u64::from(factor)).into_iter();
        mends.extend(wider.find_map(|size| {
            let text = with_cells(text, &dims(mesh), over, size);
            self.then(&now, format!("take {size} cells"), text).filter(fits)
        }));
        mends
    }

    /// The batch in more parts, whose activations are held one after the other.
    fn parts(&self) -> Option<Mend> {
        let now = self.unchanged();
        self.more().find_map(|m| self.with_micro_batches(&now, m).filter(|mend| self.fits(mend)))
    }

    /// Numbers of micro-batches to try; none where nothing takes the batch in parts.
    fn more(&self) -> impl Iterator<Item = u32> + use<> {
        let count = u32::try_from(self.study.program.micro_batches()).unwrap_or(u32::MAX);
        let takes_parts = self.study.pipe.is_some() || !self.study.graph.gradients.is_empty();
        MORE.into_iter()
            .filter(move |_| takes_parts)
            .map(move |factor| count.saturating_mul(factor))
    }

    /// What holds the least at a time without more processors.
    fn lean(&self) -> Mend {
        let mut best = self.unchanged();
        let mut keep = |then: Option<Mend>| {
            if let Some(then) = then.filter(|then| then.is_below(best.need)) {
                best = then;
            }
            best.clone()
        };
        let now = self.unchanged();
        let remat = keep(self.with_remat(&now));
        for count in self.more() {
            keep(self.with_micro_batches(&remat, count));
        }
        best
    }

    /// Mesh dimensions that are there for a split.
    fn there(&self) -> impl Iterator<Item = &'a str> {
        let Planned { mesh, program, .. } = self.study;
        let cells = program.cells.as_ref().map(Cells::axis);
        let free = mesh.axes().filter(move |&a| Some(a) != cells && mesh.size(a) > 1);
        free.map(|axis| &*mesh.dim(axis).name)
    }

    /// How many times as many processors are tried, twice as many each time; with fewer than the
    /// first it cannot fit.
    fn sizes(&self, need: Need) -> impl Iterator<Item = u64> + use<> {
        let least = need.peak.div_ceil(self.memory.max(1)).max(2);
        powers_of_two(least.next_power_of_two()).take_while(|&size| size <= WIDEST)
    }

    /// Splits of tensor dimensions: over a mesh dimension that is there, else over a new one of the
    /// smallest size that makes it fit.
    fn splits(&self, candidates: &[Dim]) -> Vec<Mend> {
        let ways = orders(candidates);
        let each = |mesh_dim: &str, from: &Mend| {
            let mut mends: Vec<Mend> =
                ways.iter().filter_map(|dims| self.split(dims, mesh_dim, from)).collect();
            mends.dedup_by(|a, b| a.text == b.text);
            mends
        };
        let now = self.unchanged();
        let mut mends: Vec<Mend> = self.there().flat_map(|name| each(name, &now)).collect();
        if mends.is_empty() {
            let found = self.sizes(now.need).map(|size| {
                let (wider, name) = wider(&now, size);
                each(&name, &wider)
            });
            mends = found.into_iter().find(|mends| !mends.is_empty()).unwrap_or_default();
        }
        mends.sort_by(|a, b| a.need.sent.total_cmp(&b.need.sent));
        mends
    }

    /// Splits one dimension after the other over a mesh dimension, the one that helps most first,
    /// until it fits.
    fn split(&self, dims: &[&Dim], mesh_dim: &str, from: &Mend) -> Option<Mend> {
        let mut now = from.clone();
        while !self.fits(&now) {
            let others = dims.iter().filter(|dim| !now.splits.contains_key(&dim.name));
            let tried = others.filter_map(|dim| self.with_split(&now, &dim.name, mesh_dim));
            let best = tried.min_by_key(|then| then.need.key());
            now = best.filter(|then| then.is_below(now.need))?;
        }
        Some(now)
    }

    /// Splits dimension after dimension over a mesh dimension, those that help, until it fits or
    /// there is no other: the heaviest first, or in the order of the model, where neighbours cannot
    /// share a mesh dimension and every second one is best.
    fn sweep(&self, dims: &[Dim], mesh_dim: &str, from: &Mend) -> Mend {
        let mut by_place: Vec<&Dim> = dims.iter().filter(|dim| dim.of_parameters).collect();
        by_place.sort_by_key(|dim| dim.place);
        let orders = orders(dims).into_iter().chain([by_place]);
        let swept = orders.map(|order| {
            order.into_iter().fold(from.clone(), |now, dim| {
                let fits = self.fits(&now);
                let then = if fits { None } else { self.with_split(&now, &dim.name, mesh_dim) };
                then.filter(|then| then.is_below(now.need)).unwrap_or(now)
            })
        });
        swept.min_by_key(|mend| mend.need.key()).unwrap_or_else(|| from.clone())
    }

    /// Splits over all mesh dimensions that are there, then over as few new processors as make it
    /// fit, along one new mesh dimension or two.
    fn together(&self, from: &Mend, dims: &[Dim]) -> Option<Mend> {
        let there = self.there().fold(from.clone(), |mend, name| self.sweep(dims, name, &mend));
        if self.fits(&there) {
            return Some(there);
        }
        self.sizes(there.need).find_map(|size| {
            let pairs = powers_of_two(2).take_while(|first| first * 2 <= size);
            let pairs = pairs.map(|first| vec![first, size / first]);
            std::iter::once(vec![size]).chain(pairs).find_map(|shape| {
                let all = shape.into_iter().fold(there.clone(), |mend, size| {
                    let (wider, name) = wider(&mend, size);
                    self.sweep(dims, &name, &wider)
                });
                self.fits(&all).then_some(all)
            })
        })
    }
}

/// Dimensions, the heaviest first, of which some are split: all of them, those of parameters, and
/// these without the heaviest, which keeps those apart that stand beside it in every matrix.
fn orders(dims: &[Dim]) -> Vec<Vec<&Dim>> {
    let of_parameters: Vec<&Dim> = dims.iter().filter(|dim| dim.of_parameters).collect();
    let beside = of_parameters.get(1..).unwrap_or_default().to_vec();
    let mut orders = vec![dims.iter().collect(), of_parameters, beside];
    orders.dedup_by_key(|order: &mut Vec<&Dim>| order.len());
    orders
}

/// `a`, `b` and `c`.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 12;
    let quoted = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    match names {
        [one] => quoted(&[one]),
        [first @ .., last] if names.len() <= MOST => format!("{} and `{last}`", quoted(first)),
        _ => format!("{} and {} more", quoted(&names[..MOST - 1]), names.len() + 1 - MOST),
    }
}

fn powers_of_two(first: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(first), |size| size.checked_mul(2))
}

/// With a new mesh dimension, whose name is the second.
fn wider(mend: &Mend, size: u64) -> (Mend, String) {
    let name = unused_name(&mend.mesh);
    let mut mesh = mend.mesh.clone();
    mesh.push((name.clone(), size));
    let text = edit::set_mesh(&mend.text, &mesh);
    (Mend { text, mesh, ..mend.clone() }, name)
}

/// The mesh dimensions as they are written.
fn dims(mesh: &Mesh) -> Vec<(String, u64)> {
    mesh.dims().iter().map(|d| (d.name.to_string(), d.size)).collect()
}

/// A name for a mesh dimension that carries a split.
fn unused_name(mesh: &[(String, u64)]) -> String {
    let is_free = |name: &str| mesh.iter().all(|(other, _)| other != name);
    let numbered = (2_u32..).map(|n| format!("model{n}"));
    let mut names = std::iter::once("model".to_owned()).chain(numbered);
    names.find(|name| is_free(name)).unwrap_or_default()
}
