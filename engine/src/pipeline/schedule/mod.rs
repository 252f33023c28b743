//! Schedules: pure functions from the size of a pipeline to the order of every rank. One file per
//! schedule, which teaches it; its limits are typed, so that a diagnostic can name the nearest
//! numbers that work.

pub mod limit;
mod weave;
pub mod gpipe;
pub mod one_f_one_b;
pub mod interleaved;
pub mod breadth_first;
pub mod zb_h1;
pub mod zb_2p;
pub mod zb_v;
pub mod zb_v_greedy;
mod dual;
pub mod dualpipe;
pub mod dualpipe_v;

use super::order::{Extent, Order};
use limit::Limit;

/// A schedule of the study text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Schedule {
    /// All forwards, then all backwards, last in first out: [`gpipe`].
    GPipe,
    /// The same with backwards first in first out: [`gpipe`].
    GPipeFifo,
    /// One forward, one backward: [`one_f_one_b`].
    OneFOneB,
    /// 1F1B with several stages per cell: [`interleaved`].
    Interleaved,
    /// `GPipe` with several stages per rank: [`breadth_first`].
    BreadthFirst,
    /// 1F1B with split backwards: [`zb_h1`].
    ZbH1,
    /// Split backwards, twice the memory: [`zb_2p`].
    Zb2p,
    /// Split backwards on a V: [`zb_v`].
    ZbV,
    /// The same made step by step, shorter for few micro-batches: [`zb_v_greedy`].
    ZbVGreedy,
    /// Both ways at once, overlapped: [`dualpipe`].
    DualPipe,
    /// The same on a V: [`dualpipe_v`].
    DualPipeV,
}

/// What the study text and the studio say of a schedule.
struct About {
    name: &'static str,
    also: &'static [&'static str],
    /// Stages per rank where nothing is said.
    chunks: u32,
    sentence: &'static str,
    source: &'static str,
}

impl Schedule {
    /// Every schedule, from the plain to the involved.
    pub const ALL: [Self; 11] = [
        Self::GPipe,
        Self::GPipeFifo,
        Self::OneFOneB,
        Self::Interleaved,
        Self::BreadthFirst,
        Self::ZbH1,
        Self::Zb2p,
        Self::ZbV,
        Self::ZbVGreedy,
        Self::DualPipe,
        Self::DualPipeV,
    ];

    #[rustfmt::skip]
    const fn about(self) -> About {
        let (name, also, chunks, sentence, source): (_, &'static [&'static str], _, _, _) = match self {
            Self::GPipe => ("gpipe", &["gpipe_lifo"], 1, "all forwards, then all backwards in reverse", "arXiv 1811.06965"),
            Self::GPipeFifo => ("gpipe_fifo", &[], 1, "all forwards, then all backwards in the same order", "PyTorch ScheduleGPipe"),
            Self::OneFOneB => ("1f1b", &[], 1, "one forward, one backward: GPipe's time at less memory", "arXiv 2006.09503"),
            Self::Interleaved => ("interleaved", &["interleaved_1f1b"], 2, "1F1B with several stages per cell: a smaller bubble, more hops", "arXiv 2104.04473"),
            Self::BreadthFirst => ("breadth_first", &["looped_bfs"], 2, "GPipe with several stages per cell", "arXiv 2211.05953"),
            Self::ZbH1 => ("zb_h1", &["zb1p"], 1, "1F1B whose weight gradients fill the bubble", "arXiv 2401.10241"),
            Self::Zb2p => ("zb_2p", &["zb_h2"], 1, "no bubble within a cell's span at twice the memory", "arXiv 2401.10241"),
            Self::ZbV => ("zb_v", &[], 2, "two stages per cell on a V: hardly a bubble at 1F1B's memory", "arXiv 2401.10241"),
            Self::ZbVGreedy => ("zb_v_greedy", &["zb_v_sail"], 2, "ZB-V made step by step: shorter for few micro-batches", "arXiv 2401.10241"),
            Self::DualPipe => ("dualpipe", &[], 1, "micro-batches from both ends, forward and backward overlapped", "arXiv 2412.19437"),
            Self::DualPipeV => ("dualpipe_v", &[], 2, "DualPipe cut in half: one copy of the parameters", "PyTorch ScheduleDualPipeV"),
        };
        About { name, also, chunks, sentence, source }
    }

    /// The name in the study text: `1f1b`.
    pub const fn name(self) -> &'static str {
        self.about().name
    }

    /// The schedule of a name, or of one of its other names.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|schedule| {
            let About { name: own, also, .. } = schedule.about();
            own == name || also.contains(&name)
        })
    }

    /// What it does, as a clause.
    pub const fn sentence(self) -> &'static str {
        self.about().sentence
    }

    /// Where it comes from.
    pub const fn source(self) -> &'static str {
        self.about().source
    }

    /// How many stages a rank holds where the study does not say.
    pub const fn default_chunks(self) -> u32 {
        self.about().chunks
    }

    /// Whether backward tasks are cut into input and weight gradients, all or some.
    pub const fn splits_backward(self) -> bool {
        match self {
            Self::GPipe
            | Self::GPipeFifo
            | Self::OneFOneB
            | Self::Interleaved
            | Self::BreadthFirst => false,
            Self::ZbH1
            | Self::Zb2p
            | Self::ZbV
            | Self::ZbVGreedy
            | Self::DualPipe
            | Self::DualPipeV => true,
        }
    }

    /// Whether forward and backward tasks go in pairs.
    pub const fn has_pairs(self) -> bool {
        matches!(self, Self::DualPipe | Self::DualPipeV)
    }

    /// How many copies of each stage's parameters there are.
    pub const fn copies(self) -> u32 {
        match self {
            Self::DualPipe => 2,
            Self::GPipe
            | Self::GPipeFifo
            | Self::OneFOneB
            | Self::Interleaved
            | Self::BreadthFirst
            | Self::ZbH1
            | Self::Zb2p
            | Self::ZbV
            | Self::ZbVGreedy
            | Self::DualPipeV => 1,
        }
    }

    /// Every number of the extent that it cannot take.
    pub fn limits(self, extent: Extent) -> Vec<Limit> {
        let common = Limit::common(extent);
        if !common.is_empty() {
            return common;
        }
        match self {
            Self::GPipe | Self::GPipeFifo => gpipe::limits(extent),
            Self::OneFOneB => one_f_one_b::limits(extent),
            Self::Interleaved => interleaved::limits(extent),
            Self::BreadthFirst => Vec::new(),
            Self::ZbH1 => zb_h1::limits(extent),
            Self::Zb2p => zb_2p::limits(extent),
            Self::ZbV => zb_v::limits(extent),
            Self::ZbVGreedy => zb_v_greedy::limits(extent),
            Self::DualPipe => dualpipe::limits(extent),
            Self::DualPipeV => dualpipe_v::limits(extent),
        }
    }

    /// The order of every rank, or all limits that the extent breaks.
    pub fn order(self, extent: Extent) -> Result<Order, Vec<Limit>> {
        let limits = self.limits(extent);
        if !limits.is_empty() {
            return Err(limits);
        }
        Ok(match self {
            Self::GPipe => gpipe::last_in_first_out(extent),
            Self::GPipeFifo => gpipe::first_in_first_out(extent),
            Self::OneFOneB => one_f_one_b::order(extent),
            Self::Interleaved => interleaved::order(extent),
            Self::BreadthFirst => breadth_first::order(extent),
            Self::ZbH1 => zb_h1::order(extent),
            Self::Zb2p => zb_2p::order(extent),
            Self::ZbV => zb_v::order(extent),
            Self::ZbVGreedy => zb_v_greedy::order(extent),
            Self::DualPipe => dualpipe::order(extent),
            Self::DualPipeV => dualpipe_v::order(extent),
        })
    }
}
