//! The eight steps that `DualPipe` and `DualPipeV` share (`DeepSeek`-V3, arXiv 2412.19437, section
//! 3.2.1, and the code published with it).
//!
//! A rank serves two lanes: lane 0 it enters early, lane 1 late. In `DualPipe` these are the two
//! directions, in `DualPipeV` the two arms of the V. Of n ranks per lane, the one at depth d does:
//!
//! ```text
//! 1   2(n−d−1) ×        F₀                     fill lane 0
//! 2   d+1 ×             F₀ F₁
//! 3   n−d−1 ×           I₁ W₁ F₁               the first gradients are back
//! 4   M−2n+d+1 ×        (F₀;B₁) (F₁;B₀)        the steady state, all pairs
//! 5   n−d−1 ×           B₁ (F₁;B₀)
//! 6   d+1 ×             B₁ B₀                  the second half as I: weights wait
//! 7   n−d−1 ×           W I₀
//! 8   d+1 ×             W
//! ```
//!
//! The innermost rank does not overlap its very first pair.

use crate::timeline::{Kind, Slot, Task};
use std::collections::VecDeque;

/// Where a rank stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Depth {
    /// n: how many ranks a lane passes before it turns or ends.
    pub(super) of: u32,
    /// d: how many of them it passes before this one.
    pub(super) at: u32,
}

/// A lane at a rank: its stage, and the number of its first micro-batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    /// The stage.
    pub(super) stage: u32,
    /// The first micro-batch that runs through it.
    pub(super) first: u32,
}

/// A rank's order for `count` ≥ 2n micro-batches per lane.
pub(super) fn slots(depth: Depth, count: u32, lanes: [Lane; 2]) -> Vec<Slot> {
    let Depth { of, at } = depth;
    let outer = of - at - 1;
    let mut line = Line {
        slots: Vec::new(),
        lanes,
        forwards: [0; 2],
        backwards: [0; 2],
        weights: VecDeque::new(),
    };
    for _ in 0..2 * outer {
        line.forward(0);
    }
    for _ in 0..=at {
        line.forward(0);
        line.forward(1);
    }
    for _ in 0..outer {
        line.input(1);
        line.weight();
        line.forward(1);
    }
    for i in 0..=(count - 2 * of + at) {
        if i == 0 && outer == 0 {
            line.forward(0);
            line.backward(1);
        } else {
            line.pair(0, 1);
        }
        line.pair(1, 0);
    }
    for _ in 0..outer {
        line.backward(1);
        line.pair(1, 0);
    }
    // of 2(d+1) backward tasks, the first d+1 are whole
    for i in 0..2 * (at + 1) {
        let lane = usize::from(i % 2 == 0);
        if i <= at { line.backward(lane) } else { line.input(lane) }
    }
    for _ in 0..outer {
        line.weight();
        line.input(0);
    }
    for _ in 0..=at {
        line.weight();
    }
    line.slots
}

/// A rank's order being made.
#[derive(Debug)]
struct Line {
    slots: Vec<Slot>,
    lanes: [Lane; 2],
    /// Forward tasks of each lane so far.
    forwards: [u32; 2],
    /// Backward and input-gradient tasks of each lane so far.
    backwards: [u32; 2],
    /// Weight gradients that wait.
    weights: VecDeque<Task>,
}

impl Line {
    const fn next_forward(&mut self, lane: usize) -> Task {
        let Lane { stage, first } = self.lanes[lane];
        self.forwards[lane] += 1;
        Task::new(stage, Kind::Forward, first + self.forwards[lane] - 1)
    }

    const fn next_backward(&mut self, lane: usize, kind: Kind) -> Task {
        let Lane { stage, first } = self.lanes[lane];
        self.backwards[lane] += 1;
        Task::new(stage, kind, first + self.backwards[lane] - 1)
    }

    fn forward(&mut self, lane: usize) {
        let task = self.next_forward(lane);
        self.slots.push(Slot::One(task));
    }

    fn backward(&mut self, lane: usize) {
        let task = self.next_backward(lane, Kind::Backward);
        self.slots.push(Slot::One(task));
    }

    fn input(&mut self, lane: usize) {
        let task = self.next_backward(lane, Kind::InputGradient);
        self.slots.push(Slot::One(task));
        self.weights.push_back(Task { kind: Kind::WeightGradient, ..task });
    }

    fn weight(&mut self) {
        self.slots.extend(self.weights.pop_front().map(Slot::One));
    }

    fn pair(&mut self, forward: usize, backward: usize) {
        let forward = self.next_forward(forward);
        let backward = self.next_backward(backward, Kind::Backward);
        self.slots.push(Slot::Pair(forward, backward));
    }
}
