//! Which cells, micro-batches and chunks a pipeline may have: those that its schedule takes, for which
//! the model has layers and the batch rows.

use crate::diag::{Hint, Span};
use crate::graph::micro::MicroBatches;
use crate::graph::train::MAX_MICRO_BATCHES;
use crate::pipeline::order::Extent;
use crate::pipeline::schedule::Schedule;
use crate::pipeline::schedule::limit::Quantity;

/// So many cells are looked through where nobody knows how many layers there are.
const MOST_CELLS: u64 = 1 << 12;
/// The most stages of a cell.
pub(super) const MOST_CHUNKS: u64 = 1 << 10;

/// The numbers of a pipeline, and what they must fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    pub(super) schedule: Schedule,
    pub(super) extent: Extent,
    /// Whether there are as many micro-batches as cells, as where nothing is said.
    pub(super) follows_cells: bool,
    /// Layers of the model, where it could be built.
    pub(super) layers: Option<u64>,
    /// Rows of the batch, where they are known.
    pub(super) rows: Option<u64>,
    /// Over how many processors the layout splits them.
    pub(super) parts: u64,
}

impl Numbers {
    /// The nearest legal numbers to one that is not: one below and one above, if there are any. Where
    /// another number is wrong, too, those that mend this one.
    pub(super) fn nearest(&self, what: Quantity, given: f64) -> Vec<u32> {
        let all = self.legal(what, given);
        if !all.is_empty() {
            return all;
        }
        // Rows are another number.
        let alone = if what == Quantity::Ranks { Self { rows: None, ..*self } } else { *self };
        around(given, self.most(what), |n| {
            let extent = self.with(what, *n);
            let mut limits = self.schedule.limits(extent).into_iter();
            alone.fits(what, extent) && limits.all(|limit| limit.what != what)
        })
    }

    /// The nearest numbers with which everything is legal.
    pub(super) fn legal(&self, what: Quantity, given: f64) -> Vec<u32> {
        let is_legal = |extent| self.schedule.limits(extent).is_empty();
        around(given, self.most(what), |n| {
            let extent = self.with(what, *n);
            self.fits(what, extent) && is_legal(extent) && is_legal(self.made(extent))
        })
    }

    /// Whether the model has layers for all stages.
    pub(super) fn has_layers(&self) -> bool {
        self.layers.is_none_or(|layers| u64::from(self.extent.stages()) <= layers)
    }

    /// With as many micro-batches as the rows make.
    pub(super) fn made(&self, extent: Extent) -> Extent {
        let asked = u64::from(extent.micro_batches);
        let made = self.rows.map(|rows| MicroBatches::made(rows, asked));
        let count = made.and_then(|made| u32::try_from(made).ok());
        Extent { micro_batches: count.unwrap_or(extent.micro_batches), ..extent }
    }

    fn with(&self, what: Quantity, n: u32) -> Extent {
        let Extent { ranks, micro_batches, chunks } = self.extent;
        match what {
            Quantity::Ranks => {
                let micro_batches = if self.follows_cells { n } else { micro_batches };
                Extent { ranks: n, micro_batches, chunks }
            }
            Quantity::MicroBatches => Extent { ranks, micro_batches: n, chunks },
            Quantity::Chunks => Extent { ranks, micro_batches, chunks: n },
        }
    }

    /// Whether what changes with a number fits the model and its batch.
    fn fits(&self, what: Quantity, extent: Extent) -> bool {
        let has_layers = || Self { extent, ..*self }.has_layers();
        let count = u64::from(extent.micro_batches);
        let has_rows = || self.rows.is_none_or(|rows| MicroBatches::makes(rows, count, self.parts));
        match what {
            Quantity::Ranks => has_layers() && (!self.follows_cells || has_rows()),
            Quantity::MicroBatches => has_rows(),
            Quantity::Chunks => has_layers(),
        }
    }

    fn most(&self, what: Quantity) -> u32 {
        let Extent { ranks, chunks, .. } = self.extent;
        let per = |n: u32| self.layers.map(|layers| layers / u64::from(n.max(1)));
        let most = match what {
            Quantity::Ranks => per(chunks).unwrap_or(MOST_CELLS),
            Quantity::MicroBatches => self.rows.unwrap_or(u64::MAX).min(MAX_MICRO_BATCHES),
            Quantity::Chunks => per(ranks).unwrap_or(MOST_CHUNKS).min(MOST_CHUNKS),
        };
        u32::try_from(most).unwrap_or(u32::MAX)
    }
}

/// The nearest numbers from 1 to `most` around one that has a property.
fn around(given: f64, most: u32, has: impl Fn(&u32) -> bool) -> Vec<u32> {
    let below = (1..=(given.floor() as u32).min(most)).rev().find(&has);
    let above = (given.ceil().max(1.0) as u32..=most).find(&has);
    let mut both: Vec<u32> = below.into_iter().chain(above).collect();
    both.dedup();
    both
}

/// Where the text says the numbers of a pipeline.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    /// The size of the mesh dimension that carries the cells, if it may change alone.
    pub(super) cells: Option<Span>,
    pub(super) micro_batches: Option<Span>,
    pub(super) chunks: Option<Span>,
    /// What `micro_batches` says and where, if it says a number beyond what is read.
    pub(super) beyond: Option<(f64, Span)>,
    /// Where options are added.
    pub(super) end: Span,
}

impl Said {
    /// Where a number stands.
    pub(super) const fn place(&self, what: Quantity) -> Option<Span> {
        match what {
            Quantity::Ranks => None,
            Quantity::MicroBatches => self.micro_batches,
            Quantity::Chunks => self.chunks,
        }
    }

    /// A mend that takes another number.
    pub(super) fn take(&self, what: Quantity, n: u32, text: String) -> Hint {
        let option = |key: &str, place: Option<Span>| match place {
            Some(place) => (place, format!("{key}:{n}")),
            None => (self.end, format!(" {key}:{n}")),
        };
        let (place, written) = match (what, self.cells) {
            (Quantity::Ranks, None) => return Hint::new(text),
            (Quantity::Ranks, Some(size)) => (size, n.to_string()),
            (Quantity::MicroBatches, _) => option("micro_batches", self.micro_batches),
            (Quantity::Chunks, _) => option("chunks", self.chunks),
        };
        Hint::edit(text, place, written)
    }
}
