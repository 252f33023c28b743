//! Whether a study fits its hardware.
//!
//! ```text
//! heaviest cell: 12.3 GB > 8 GB
//!   one layer of it alone keeps more?  then no cut between layers helps: split its dimensions
//!   else                               more micro-batches, re-materialization, more cells, or a split
//! ```
//!
//! `mends` searches for the changes.

use super::mends::{Dim, Mend, Need, Planned, Search};
use super::{Hardware, shown};
use crate::diag::{Code, Diagnostic, Hint};
use crate::graph::op::Role;
use crate::index::ValueId;
use crate::spec::edit::difference;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};

/// So many mends are offered.
const OFFERED: usize = 3;

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
        let memory = self.hardware.memory_bytes;
        let search = Search::new(self.study, memory, self.too_large.is_some(), plan);
        let dims = heaviest_dims(self.study, memory, self.too_large.as_ref());
        let mut mends = search.mends(&dims);
        mends.truncate(OFFERED);
        let hint = |mend: Mend| {
            let edit = difference(self.study.text, &mend.text)?;
            let then = format!(
                "{}: then a processor holds {}.",
                mend.what(self.study.mesh),
                shown(mend.need.peak)
            );
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

/// The tensor dimensions that no rule splits yet, those of which the cells that do not fit have the
/// most bytes first; before them, if a layer is too large by itself, those of what it keeps.
fn heaviest_dims(study: Planned<'_>, memory: u64, layer: Option<&Layer>) -> Vec<Dim> {
    let Planned { graph, program, rules, tally, .. } = study;
    let ruled: BTreeSet<&str> = rules.rules().iter().map(|r| &*r.dim).collect();
    let fits = |rank: usize| tally.cells.get(rank).is_some_and(|cell| cell.peak <= memory);
    let mut weights: IndexMap<&str, (u64, u64, bool)> = IndexMap::new();
    for (id, value) in program.values.entries().filter(|(_, v)| !fits(program.rank(v.stage))) {
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
    let mut dims: Vec<_> = weights.into_iter().enumerate().collect();
    dims.sort_by_key(|(_, (_, (of_it, of_all, _)))| std::cmp::Reverse((*of_it, *of_all)));
    let dim = |(place, (name, (_, _, of_parameters))): (usize, (&str, _))| Dim {
        name: name.to_owned(),
        of_parameters,
        place,
    };
    dims.into_iter().map(dim).collect()
}
