//! How a pipeline lies on the mesh: one dimension of it carries the cells, and each cell's processors
//! do what the schedule gives their place, in that order.

use crate::index::{Idx as _, MeshAxis, MicroBatch, Rank, Stage};
use crate::pipeline::order::Order;
use crate::pipeline::simulate::{Costs, StageCosts, simulate};
use crate::timeline::{Interval, Kind, Task};

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

    /// How many stages the model is cut into.
    pub const fn stages(&self) -> u32 {
        self.order.extent().stages()
    }

    /// The coordinate of a stage's processors.
    pub const fn rank(&self, stage: Stage) -> u64 {
        self.order.route().rank(self.order.extent(), stage, MicroBatch(0)).0 as u64
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
