//! When everything happens: an order and the costs of its tasks become a timeline.
//!
//! Every rank follows its order and waits only for what a task [`needs`]: the sender deposits and
//! goes on, the receiver waits. A hop to another rank takes time in which both may work.

use super::needs::{Made, Need, When, makes, needs};
use super::order::Order;
use crate::index::{IdVec, Rank, Stage};
use crate::timeline::{Interval, Kind, Slot, Task, Timeline};
use std::fmt;

/// How long the tasks of a stage take, each in the same unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageCosts {
    /// A forward task.
    pub forward: f64,
    /// The same once more.
    pub recompute: f64,
    /// A whole backward task.
    pub backward: f64,
    /// The gradient of the input.
    pub input_gradient: f64,
    /// The gradient of the weights.
    pub weight_gradient: f64,
}

impl StageCosts {
    /// The papers' unit: a backward task twice a forward task, its halves equal.
    pub const UNIT: Self = Self::new(1.0, 1.0, 1.0);

    /// A forward task, and a backward one by its halves.
    pub const fn new(forward: f64, input_gradient: f64, weight_gradient: f64) -> Self {
        let backward = input_gradient + weight_gradient;
        Self { forward, recompute: forward, backward, input_gradient, weight_gradient }
    }

    /// Forward and backward together.
    pub const fn whole(self) -> f64 {
        self.forward + self.backward
    }

    /// Both, one after the other.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            forward: self.forward + other.forward,
            recompute: self.recompute + other.recompute,
            backward: self.backward + other.backward,
            input_gradient: self.input_gradient + other.input_gradient,
            weight_gradient: self.weight_gradient + other.weight_gradient,
        }
    }

    /// All of them times `weight`.
    #[must_use]
    pub const fn scaled(self, weight: f64) -> Self {
        Self {
            forward: self.forward * weight,
            recompute: self.recompute * weight,
            backward: self.backward * weight,
            input_gradient: self.input_gradient * weight,
            weight_gradient: self.weight_gradient * weight,
        }
    }

    /// The time of one kind.
    pub const fn of(self, kind: Kind) -> f64 {
        match kind {
            Kind::Forward => self.forward,
            Kind::Recompute => self.recompute,
            Kind::Backward => self.backward,
            Kind::InputGradient => self.input_gradient,
            Kind::WeightGradient => self.weight_gradient,
        }
    }
}

/// What a pipeline's work costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// The tasks of every stage.
    pub stages: IdVec<Stage, StageCosts>,
    /// How long what a task makes is on its way to another rank.
    pub hop: f64,
    /// Whether gradients are made at all, and sent; without training they are not.
    pub returns: bool,
    /// The share, 0 to 1, of the shorter task of a pair that hides behind the longer one: a pair
    /// takes `longer + (1 − overlap)·shorter`.
    pub overlap: f64,
    /// When recomputation may begin.
    pub when: When,
}

impl Costs {
    /// Stages that cost `unit` times their weight, no hop, nothing hidden, early recomputation.
    pub fn weighted(unit: StageCosts, weights: impl IntoIterator<Item = f64>) -> Self {
        let stages = weights.into_iter().map(|weight| unit.scaled(weight)).collect();
        Self { stages, hop: 0.0, returns: true, overlap: 0.0, when: When::Early }
    }

    /// Stages of an order that are `unit` per rank, spread evenly over the stages of a rank.
    pub fn uniform(unit: StageCosts, order: &Order) -> Self {
        let extent = order.extent();
        let weight = 1.0 / f64::from(extent.chunks.max(1));
        Self::weighted(unit, (0..extent.stages()).map(|_| weight))
    }

    fn of(&self, slot: Slot) -> f64 {
        let one = |task: Task| self.stages.get(task.stage).map_or(0.0, |of| of.of(task.kind));
        match slot {
            Slot::One(task) => one(task),
            Slot::Pair(first, second) => {
                let (first, second) = (one(first), one(second));
                first.max(second) + (1.0 - self.overlap) * first.min(second)
            }
        }
    }
}

/// Ranks wait for each other forever: the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stuck {
    /// The rank.
    pub rank: Rank,
    /// The task it cannot begin.
    pub task: Task,
    /// What it waits for.
    pub need: Need,
}

impl fmt::Display for Stuck {
    /// `rank 0 waits forever with 0B0 for the gradient of stage 1, micro-batch 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, task, need: Need { made, stage, micro_batch } } = self;
        let made = match made {
            Made::Activation => "activation",
            Made::Gradient => "gradient",
        };
        let (rank, stage, m) = (rank.0, stage.0, micro_batch.0);
        write!(
            f,
            "cell {rank} waits forever with {task} for the {made} of stage {stage}, micro-batch {m}"
        )
    }
}

/// Why there is no timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTimeline {
    /// The costs are of another number of stages.
    Stages {
        /// How many have costs.
        given: usize,
        /// How many there are.
        needed: usize,
    },
    /// The order is a deadlock.
    Stuck(Stuck),
}

/// The timeline of an order at these costs.
pub fn simulate(order: &Order, costs: &Costs) -> Result<Timeline, NoTimeline> {
    let (given, needed) = (costs.stages.len(), order.extent().stages() as usize);
    if given != needed {
        return Err(NoTimeline::Stages { given, needed });
    }
    let hops = [costs.hop, if costs.returns { costs.hop } else { 0.0 }];
    play(order, costs.when, hops, |slot| costs.of(slot)).map_err(NoTimeline::Stuck)
}

/// The timeline where a slot takes as long as `length` says; `hops` are those of activations and of
/// gradients.
pub(super) fn play(
    order: &Order,
    when: When,
    hops: [f64; 2],
    length: impl Fn(Slot) -> f64,
) -> Result<Timeline, Stuck> {
    let mut ledger = Ledger::new(order, when, hops);
    let mut lanes: IdVec<Rank, Vec<Interval>> = order.ranks().iter().map(|_| Vec::new()).collect();
    loop {
        let mut has_moved = false;
        for (rank, slots) in order.ranks().entries() {
            let lane = &mut lanes[rank];
            for slot in &slots[lane.len()..] {
                let Ok(ready) = ledger.ready(rank, *slot) else { break };
                let start = lane.last().map_or(0.0, |last| last.end).max(ready);
                let end = start + length(*slot);
                lane.push(Interval { start, end, slot: *slot });
                slot.tasks().for_each(|task| ledger.note(task, end));
                has_moved = true;
            }
        }
        if !has_moved {
            break;
        }
    }
    for (rank, slots) in order.ranks().entries() {
        let stuck = slots.get(lanes[rank].len()).map(|slot| ledger.ready(rank, *slot));
        if let Some(Err((task, need))) = stuck {
            return Err(Stuck { rank, task, need });
        }
    }
    Ok(Timeline::new(lanes))
}

/// When what tasks make is there.
struct Ledger<'o> {
    order: &'o Order,
    when: When,
    hops: [f64; 2],
    activations: Vec<Option<f64>>,
    gradients: Vec<Option<f64>>,
}

impl<'o> Ledger<'o> {
    fn new(order: &'o Order, when: When, hops: [f64; 2]) -> Self {
        let size = order.extent().tasks() as usize;
        Self { order, when, hops, activations: vec![None; size], gradients: vec![None; size] }
    }

    /// When all that a slot needs is at its rank, or the task and need that is not made yet.
    fn ready(&self, rank: Rank, slot: Slot) -> Result<f64, (Task, Need)> {
        let stages = self.order.extent().stages();
        let mut ready: f64 = 0.0;
        for task in slot.tasks() {
            for need in needs(task, stages, self.when) {
                let Need { made, stage, micro_batch } = need;
                let place = self.order.place(stage, micro_batch);
                let [hop, hop_back] = self.hops;
                let (times, hop) = match made {
                    Made::Activation => (&self.activations, hop),
                    Made::Gradient => (&self.gradients, hop_back),
                };
                let made = times.get(place).copied().flatten().ok_or((task, need))?;
                let from = self.order.route().rank(self.order.extent(), stage, micro_batch);
                ready = ready.max(if from == rank { made } else { made + hop });
            }
        }
        Ok(ready)
    }

    fn note(&mut self, task: Task, end: f64) {
        let Some(Need { made, stage, micro_batch }) = makes(task) else { return };
        let place = self.order.place(stage, micro_batch);
        let times = match made {
            Made::Activation => &mut self.activations,
            Made::Gradient => &mut self.gradients,
        };
        if let Some(time) = times.get_mut(place) {
            *time = Some(end);
        }
    }
}
