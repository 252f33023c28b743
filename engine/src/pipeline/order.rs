//! What every rank of a pipeline does, in order: what schedules make and everyone else reads.
//!
//! ```text
//! 2 ranks, 3 micro-batches (1F1B)
//! rank 0   0F0 0F1 0B0 0F2 0B1 0B2      stage 0, forward (F) and backward (B) of micro-batches 0–2
//! rank 1   1F0 1B0 1F1 1B1 1F2 1B2
//! ```

use crate::index::{IdVec, Idx as _, MicroBatch, Rank, Stage};
use crate::timeline::{Slot, Task};
use std::ops::Range;

/// How large a pipeline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// K: how many ranks it runs over.
    pub ranks: u32,
    /// M: into how many micro-batches a batch is cut.
    pub micro_batches: u32,
    /// V: how many stages a rank holds.
    pub chunks: u32,
}

impl Extent {
    /// A pipeline of one stage per rank.
    pub const fn new(ranks: u32, micro_batches: u32) -> Self {
        Self { ranks, micro_batches, chunks: 1 }
    }

    /// The same with `chunks` stages per rank.
    #[must_use]
    pub const fn chunks(self, chunks: u32) -> Self {
        Self { chunks, ..self }
    }

    /// How many stages there are: K·V.
    pub const fn stages(self) -> u32 {
        self.ranks.saturating_mul(self.chunks)
    }

    /// How many forward tasks there are: K·V·M.
    pub const fn tasks(self) -> u64 {
        (self.ranks as u64).saturating_mul(self.chunks as u64 * self.micro_batches as u64)
    }
}

/// How a micro-batch travels through the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// Round and round: 0 1 2 · 0 1 2. Stage s is on rank s mod K.
    Loop,
    /// There and back: 0 1 2 · 2 1 0. The rank of the first stage has the last one, too.
    V,
    /// The first half of the micro-batches goes 0 1 2, the second half 2 1 0: every rank holds
    /// the parameters of two stages, every stage is on two ranks.
    BothWays,
}

impl Route {
    /// How many copies of each stage's parameters there are.
    pub const fn copies(self) -> u32 {
        match self {
            Self::Loop | Self::V => 1,
            Self::BothWays => 2,
        }
    }

    /// The micro-batches that go through a copy: all, or half of them.
    pub const fn micro_batches(self, extent: Extent, copy: u32) -> Range<u32> {
        let (count, half) = (extent.micro_batches, extent.micro_batches / 2);
        match self {
            Self::Loop | Self::V => 0..count,
            Self::BothWays if copy == 0 => 0..half,
            Self::BothWays => half..count,
        }
    }

    /// The copy that a micro-batch goes through.
    pub const fn copy(self, extent: Extent, micro_batch: MicroBatch) -> u32 {
        match self {
            Self::Loop | Self::V => 0,
            Self::BothWays => (micro_batch.0 >= extent.micro_batches / 2) as u32,
        }
    }

    /// The rank that has a stage for a micro-batch.
    pub const fn rank(self, extent: Extent, stage: Stage, micro_batch: MicroBatch) -> Rank {
        let Extent { ranks, .. } = extent;
        let (round, place) = (stage.0 / ranks, stage.0 % ranks);
        let back = match self {
            Self::Loop => false,
            Self::V => round % 2 == 1,
            Self::BothWays => self.copy(extent, micro_batch) == 1,
        };
        Rank(if back { ranks - 1 - place } else { place })
    }
}

/// What every rank does, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    extent: Extent,
    route: Route,
    ranks: IdVec<Rank, Vec<Slot>>,
}

impl Order {
    /// An order from the slots of every rank. Nothing is checked here: see
    /// [`validate`](super::validate::validate).
    pub const fn new(extent: Extent, route: Route, ranks: IdVec<Rank, Vec<Slot>>) -> Self {
        Self { extent, route, ranks }
    }

    /// An order from the slots that a rule gives each rank.
    pub fn by_rank(extent: Extent, route: Route, rule: impl Fn(u32) -> Vec<Slot>) -> Self {
        Self::new(extent, route, (0..extent.ranks).map(rule).collect())
    }

    /// The same pipeline with other slots.
    #[must_use]
    pub fn with(&self, slots: impl Fn(&[Slot]) -> Vec<Slot>) -> Self {
        let ranks = self.ranks.iter().map(|of_rank| slots(of_rank)).collect();
        Self { ranks, ..*self }
    }

    /// The size of the pipeline.
    pub const fn extent(&self) -> Extent {
        self.extent
    }

    /// How micro-batches travel.
    pub const fn route(&self) -> Route {
        self.route
    }

    /// The slots of every rank.
    pub const fn ranks(&self) -> &IdVec<Rank, Vec<Slot>> {
        &self.ranks
    }

    /// The rank that has the stage of a task.
    pub const fn rank_of(&self, task: Task) -> Rank {
        self.route.rank(self.extent, task.stage, task.micro_batch)
    }

    /// The ranks that have a stage: one for each copy of its parameters.
    pub fn ranks_of(&self, stage: Stage) -> impl Iterator<Item = Rank> {
        (0..self.route.copies()).map(move |copy| {
            let first = self.route.micro_batches(self.extent, copy).start;
            self.route.rank(self.extent, stage, MicroBatch(first))
        })
    }

    /// Whether a task belongs to this pipeline at all.
    pub const fn has(&self, task: Task) -> bool {
        task.stage.0 < self.extent.stages() && task.micro_batch.0 < self.extent.micro_batches
    }

    /// Where the tables of one entry per stage and micro-batch keep that of this task.
    pub(super) fn place(&self, stage: Stage, micro_batch: MicroBatch) -> usize {
        stage.index() * self.extent.micro_batches as usize + micro_batch.index()
    }

    /// Every task with its rank, rank by rank.
    pub fn tasks(&self) -> impl Iterator<Item = (Rank, Task)> {
        let slots = self.ranks.entries();
        slots.flat_map(|(rank, slots)| {
            slots.iter().flat_map(|slot| slot.tasks()).map(move |task| (rank, task))
        })
    }

    /// A task's name: `2F0`. Where micro-batches go both ways, those of the first half are
    /// `a0 a1 …`, those of the second half `b0 b1 …`: `2Fb0`.
    pub fn name(&self, task: Task) -> String {
        let half = self.extent.micro_batches / 2;
        let MicroBatch(m) = task.micro_batch;
        match self.route {
            Route::Loop | Route::V => task.to_string(),
            Route::BothWays => {
                let way = if m < half { 'a' } else { 'b' };
                let number = if m < half { m } else { m - half };
                format!("{}{}{way}{number}", task.stage.0, task.kind.letter())
            }
        }
    }

    /// One line per rank: `0F0 0F1 (0F2;1B0) …`.
    pub fn text(&self) -> Vec<String> {
        let slot = |slot: &Slot| match *slot {
            Slot::One(task) => self.name(task),
            Slot::Pair(first, second) => format!("({};{})", self.name(first), self.name(second)),
        };
        let line = |slots: &Vec<Slot>| slots.iter().map(slot).collect::<Vec<_>>().join(" ");
        self.ranks.iter().map(line).collect()
    }
}
