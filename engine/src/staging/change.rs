//! What a click may change about a pipeline, and what that does to the text.
//!
//! A change never breaks what it need not: layers counted by hand go when there is another number
//! of stages to count for, and so does a number of chunks that the new schedule cannot take.

use super::outlook::Outlook;
use crate::index::{Idx as _, Stage};
use crate::pipeline::order::Extent;
use crate::pipeline::recompute::Remat;
use crate::pipeline::schedule::Schedule;
use crate::spec::{edit, print};

/// A change of the `pipeline` statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Another schedule.
    Schedule(Schedule),
    /// Another number of micro-batches.
    MicroBatches(u64),
    /// Another number of stages per cell.
    Chunks(u64),
    /// Other activations computed again.
    Remat(Remat),
    /// The boundary after this stage moves by a layer: on to later layers, or back.
    Boundary {
        /// The stage before it.
        after: Stage,
        /// Whether that stage gets one layer more.
        on: bool,
    },
    /// The most even cut instead of one by hand.
    EvenCut,
    /// The most even cut by these costs of the layers, as [`costs_of`] writes them.
    Costs(String),
    /// The most even cut by the operations of the layers.
    NoCosts,
}

/// A schedule that may be chosen, or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub schedule: Schedule,
    /// The stages per cell it would have.
    pub chunks: u32,
    /// Why these numbers do not go with it, with the nearest that do.
    pub why_not: Option<String>,
}

impl Outlook {
    /// Every schedule, with what this pipeline's numbers mean to it.
    pub fn choices(&self) -> Vec<Choice> {
        Schedule::ALL.into_iter().map(|schedule| self.choice(schedule)).collect()
    }

    fn choice(&self, schedule: Schedule) -> Choice {
        let as_now = self.extent();
        let as_usual = as_now.chunks(schedule.default_chunks());
        let is_legal = |extent: Extent| schedule.limits(extent).is_empty();
        let extent = if self.says_chunks() && is_legal(as_now) { as_now } else { as_usual };
        let layers = self.layers().len();
        let limit = schedule.limits(extent).into_iter().next();
        let why_not = if let Some(limit) = limit {
            let near = self.numbers(schedule, extent).nearest(limit.what, limit.given.into());
            let what = if near == [1] { limit.what.of_one() } else { limit.what.name() };
            let near: Vec<String> = near.iter().map(u32::to_string).collect();
            let nearest = || format!("; nearest: {} {what}", near.join(" or "));
            let nearest = if near.is_empty() { String::new() } else { nearest() };
            Some(format!("{}{nearest}.", capital(&limit.to_string())))
        } else if extent.stages() as usize > layers {
            let stages = extent.stages();
            Some(format!("The model’s {layers} layers cannot be cut into {stages} stages."))
        } else {
            None
        };
        Choice { schedule, chunks: extent.chunks, why_not }
    }

    /// The text of the study, changed.
    pub fn changed(&self, text: &str, change: &Change) -> String {
        let set =
            |text: &str, key: &str, value: &str| edit::set_option(text, "pipeline", key, value);
        let stages = |text: String, chunks: u32| {
            if chunks == self.extent().chunks { text } else { set(&text, "balance", "") }
        };
        match change {
            Change::Schedule(schedule) => {
                let chunks = self.choice(*schedule).chunks;
                let mut text = set(text, "schedule", schedule.name());
                if chunks == schedule.default_chunks() {
                    text = set(&text, "chunks", "");
                }
                stages(text, chunks)
            }
            Change::MicroBatches(count) => set(text, "micro_batches", &count.to_string()),
            Change::Chunks(count) => {
                let is_usual = *count == u64::from(self.schedule().default_chunks());
                let value = if is_usual { String::new() } else { count.to_string() };
                stages(set(text, "chunks", &value), u32::try_from(*count).unwrap_or(u32::MAX))
            }
            Change::Remat(remat) => {
                let word = Remat::ALL.iter().find(|(r, _)| r == remat).map_or("", |(_, word)| word);
                set(text, "remat", if *remat == Remat::Never { "" } else { word })
            }
            Change::Boundary { after, on } => match self.moved(*after, *on) {
                Some(counts) => {
                    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
                    set(text, "balance", &format!("({})", counts.join(" ")))
                }
                None => text.to_owned(),
            },
            Change::EvenCut => set(text, "balance", ""),
            Change::Costs(costs) => set(&set(text, "balance", ""), "costs", costs),
            Change::NoCosts => set(text, "costs", ""),
        }
    }

    /// Layers of each stage when the boundary after one has moved; nothing where a stage would be
    /// empty.
    pub fn moved(&self, after: Stage, on: bool) -> Option<Vec<usize>> {
        let mut counts: Vec<usize> = self.stages.iter().map(|part| part.layers.len()).collect();
        let (first, second) = (after.index(), after.index() + 1);
        let (from, to) = if on { (second, first) } else { (first, second) };
        if second >= counts.len() || counts[from] < 2 {
            return None;
        }
        counts[from] -= 1;
        counts[to] += 1;
        Some(counts)
    }
}

/// Seconds of layers as the option `costs` takes them: in milliseconds, three digits each.
pub fn costs_of(seconds: &[f64]) -> String {
    let costs = seconds.iter().map(|s| s * 1e3);
    let costs = costs.map(|ms| print::number(format!("{ms:.2e}").parse().unwrap_or(ms)));
    format!("({})", costs.collect::<Vec<String>>().join(" "))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

/// Makes a pipeline of a study that is none: a mesh dimension for its cells, four micro-batches for
/// each. `name` is that of the mesh dimension.
pub fn piped(text: &str, mesh: &[(String, u64)], name: &str, cells: u64) -> String {
    let mut dims = vec![(name.to_owned(), cells)];
    dims.extend(mesh.iter().cloned());
    let text = edit::set_mesh(text, &dims);
    let text = edit::set_option(&text, "pipeline", "over", name);
    let count = u64::from(super::outlook::ENOUGH) * cells;
    edit::set_option(&text, "pipeline", "micro_batches", &count.to_string())
}

/// Gives a pipeline so many cells: the size of their mesh dimension. Layers counted by hand go.
pub fn with_cells(text: &str, mesh: &[(String, u64)], over: &str, cells: u64) -> String {
    let dims: Vec<(String, u64)> = mesh
        .iter()
        .map(|(name, size)| (name.clone(), if name == over { cells } else { *size }))
        .collect();
    let text = edit::set_mesh(text, &dims);
    let text = edit::set_option(&text, "pipeline", "cells", "");
    edit::set_option(&text, "pipeline", "balance", "")
}
