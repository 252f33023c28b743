//! How a pipeline lies on the mesh: one dimension of it carries the cells, and each cell's processors
//! do what the schedule gives their place, in that order.
//!
//! Where micro-batches go both ways, there are two copies of the model's K stages, which the Program
//! keeps apart as stages of its own:
//!
//! ```text
//! cell        0   1   2   3
//! first copy  0   1   2   3     micro-batches of the first half, 0 → 3
//! second      7   6   5   4     those of the second half, 3 → 0: stage 4 is the model's stage 0
//! ```

use crate::graph::micro::MicroBatches;
use crate::index::{Idx as _, MeshAxis, MicroBatch, Rank, Stage};
use crate::pipeline::order::Order;
use crate::pipeline::simulate::{Costs, StageCosts, simulate};
use crate::timeline::{Interval, Kind, Task};
use std::ops::Range;

/// The cells of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    axis: MeshAxis,
    order: Order,
    sequence: Vec<Task>,
}

impl Cells {
    /// Cells along a mesh dimension of as many places as the order has; `None` if the order never
    /// ends, because places wait for each other.
    pub fn new(axis: MeshAxis, order: Order) -> Option<Self> {
        let timeline = simulate(&order, &Costs::uniform(StageCosts::UNIT, &order)).ok()?;
        let mut all: Vec<(Rank, &Interval)> = timeline.intervals().collect();
        all.sort_by(|a, b| a.1.start.total_cmp(&b.1.start).then(a.0.cmp(&b.0)));
        let sequence = all.into_iter().flat_map(|(_, interval)| interval.slot.tasks()).collect();
        Some(Self { axis, order, sequence })
    }

    /// The mesh dimension that carries them.
    pub const fn axis(&self) -> MeshAxis {
        self.axis
    }

    /// What each does, in order.
    pub const fn order(&self) -> &Order {
        &self.order
    }

    /// How many copies of the model there are.
    pub const fn copies(&self) -> u32 {
        self.order.route().copies()
    }

    /// How many stages the Program has: those of all copies.
    pub const fn stages(&self) -> u32 {
        self.copies().saturating_mul(self.order.extent().stages())
    }

    /// The stage of the Program that does a task.
    pub const fn stage_of(&self, task: Task) -> Stage {
        let copy = self.order.route().copy(self.order.extent(), task.micro_batch);
        self.in_copy(task.stage, copy)
    }

    /// A stage of the model in one of its copies.
    pub const fn in_copy(&self, stage: Stage, copy: u32) -> Stage {
        Stage(copy.saturating_mul(self.order.extent().stages()).saturating_add(stage.0))
    }

    /// The stage of the model that a stage of the Program is, and the copy it belongs to.
    pub const fn part_of(&self, stage: Stage) -> (Stage, u32) {
        let stages = self.order.extent().stages();
        (Stage(stage.0 % stages), stage.0 / stages)
    }

    /// The micro-batches that a stage of the Program has to do with.
    pub const fn micro_batches(&self, stage: Stage) -> Range<u64> {
        let of = self.order.route().micro_batches(self.order.extent(), self.part_of(stage).1);
        of.start as u64..of.end as u64
    }

    /// The micro-batch of a stage that may be computed in another way than the others: its last.
    /// Where the last of all has fewer rows, that alone is.
    pub const fn last(&self, stage: Stage, micro: &MicroBatches) -> Range<u64> {
        let of = self.micro_batches(stage);
        let is_unlike = of.end == micro.count() || !micro.is_ragged();
        of.end - is_unlike as u64..of.end
    }

    /// The coordinate of a stage's processors.
    pub const fn rank(&self, stage: Stage) -> u64 {
        let (part, _) = self.part_of(stage);
        let first = MicroBatch(self.micro_batches(stage).start as u32);
        self.order.route().rank(self.order.extent(), part, first).0 as u64
    }

    /// `stage 2`; where there are two copies, which of them: `stage 2 of the second copy`.
    pub fn name(&self, stage: Stage) -> String {
        let (Stage(part), copy) = self.part_of(stage);
        let ordinal = if copy == 0 { "first" } else { "second" };
        let copy =
            if self.copies() == 1 { String::new() } else { format!(" of the {ordinal} copy") };
        format!("stage {part}{copy}")
    }

    /// Everything that is done, so ordered that nothing comes before what it needs.
    pub fn sequence(&self) -> &[Task] {
        &self.sequence
    }

    /// Whether gradients of the weights are computed apart from those of the activations.
    pub fn splits_backward(&self) -> bool {
        self.sequence.iter().any(|task| task.kind == Kind::WeightGradient)
    }

    /// The first stage on the processors of a place.
    pub fn first_stage(&self, rank: usize) -> Stage {
        let stages = (0..self.stages()).map(Stage);
        stages.into_iter().find(|&s| self.rank(s) as usize == rank).unwrap_or(Stage::new(0))
    }
}
