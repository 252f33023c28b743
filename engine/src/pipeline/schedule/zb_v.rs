//! ZB-V: two stages per rank on a V, so that the rank of the first stage has the last one, too;
//! hardly a bubble at 1F1B's memory (Qi et al., arXiv 2401.10241, section 6).
//!
//! ```text
//! 2 ranks, 4 micro-batches: rank 0 holds stages 0 and 3, rank 1 stages 1 and 2
//! rank 0   0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 …
//! rank 1    ·  1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 …
//! ```
//!
//! The order is that of PyTorch's `ScheduleZBVZeroBubble`, a closed rule for F = I = W: warm-up,
//! a steady state of F I W on the two stages in turn, and a cool-down in which weight gradients
//! wait. It is made for at least 2K−1 micro-batches, and those beyond M are left out.

use super::limit::{Limit, Quantity, Rule};
use crate::pipeline::order::{Extent, Order, Route};
use crate::timeline::{Kind, Slot, Task};

/// Two stages per rank.
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    const WHY: &str = "a cell holds one stage of each arm of the V";
    Limit::check(extent, Quantity::Chunks, Rule::Exactly(2), WHY).into_iter().collect()
}

/// The order.
pub fn order(extent: Extent) -> Order {
    let Extent { ranks, micro_batches, .. } = extent;
    Order::by_rank(extent, Route::V, |rank| {
        let mut line = Line::default();
        let mut down = Arm::new(rank);
        let mut up = Arm::new(2 * ranks - 1 - rank);
        line.repeat(2 * (ranks - rank) - 1, |line| line.forward(&mut down));
        line.repeat(rank, |line| {
            line.forward(&mut up);
            line.forward(&mut down);
        });
        line.repeat(ranks - rank, |line| {
            line.forward(&mut up);
            line.input(&mut up);
            line.weight(&mut up);
        });
        let made = micro_batches.max(2 * ranks - 1);
        while up.forwards < down.forwards || down.forwards < made {
            if down.forwards < made {
                line.forward(&mut down);
            }
            line.input(&mut down);
            line.weight(&mut down);
            line.forward(&mut up);
            line.input(&mut up);
            line.weight(&mut up);
        }
        line.repeat(rank, |line| {
            line.input(&mut down);
            line.input(&mut up);
        });
        line.repeat(ranks - rank, |line| {
            line.input(&mut down);
            line.weight(&mut down);
        });
        line.repeat(up.inputs - up.weights, |line| line.weight(&mut up));
        line.repeat(down.inputs - down.weights, |line| line.weight(&mut down));
        let is_real = |slot: &Slot| slot.tasks().all(|task| task.micro_batch.0 < micro_batches);
        line.slots.into_iter().filter(is_real).collect()
    })
}

/// One of a rank's two stages, and how many of its tasks are in the order.
#[derive(Debug, Clone, Copy)]
struct Arm {
    stage: u32,
    forwards: u32,
    inputs: u32,
    weights: u32,
}

impl Arm {
    const fn new(stage: u32) -> Self {
        Self { stage, forwards: 0, inputs: 0, weights: 0 }
    }
}

/// A rank's order being made.
#[derive(Debug, Default)]
struct Line {
    slots: Vec<Slot>,
}

impl Line {
    fn repeat(&mut self, times: u32, mut part: impl FnMut(&mut Self)) {
        (0..times).for_each(|_| part(self));
    }

    fn forward(&mut self, arm: &mut Arm) {
        self.push(arm.stage, Kind::Forward, &mut arm.forwards);
    }

    fn input(&mut self, arm: &mut Arm) {
        self.push(arm.stage, Kind::InputGradient, &mut arm.inputs);
    }

    fn weight(&mut self, arm: &mut Arm) {
        self.push(arm.stage, Kind::WeightGradient, &mut arm.weights);
    }

    fn push(&mut self, stage: u32, kind: Kind, count: &mut u32) {
        self.slots.push(Slot::One(Task::new(stage, kind, *count)));
        *count += 1;
    }
}
