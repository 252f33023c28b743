//! ZB-V made step by step: shorter than [`zb_v`](super::zb_v) where M < 2K, otherwise as long (the
//! orders of Sea AI Lab's `v_schedule`, which fills bubbles as it finds them).
//!
//! ```text
//! 2 ranks, 2 micro-batches: rank 0 holds stages 0 and 3, rank 1 stages 1 and 2
//! rank 0   0F0 0F1  ·  3F0 3I0 3F1 3I1 0I0 3W0 0I1 3W1 0W0 0W1
//! rank 1    ·  1F0 2F0 1F1 2F1 2I0 1I0 2I1 1I1 2W0 1W0 2W1 1W1
//! ```
//!
//! The rule, in ticks in which F, I and W all fit: a rank runs forwards as long as it can and has
//! room (2K stored stages), then input gradient and forward in turn. Of its two stages it takes the
//! task that is further on its way. Where its turn cannot be taken it runs the oldest weight
//! gradient, or if there is none takes the other's turn.

use super::limit::Limit;
use crate::pipeline::order::{Extent, Order, Route};
use crate::timeline::{Kind, Slot, Task};
use std::collections::VecDeque;

/// Two stages per rank.
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    super::zb_v::limits(extent)
}

/// A rank while its order is being made. Its stages: 0 on the way down, 1 on the way up.
#[derive(Debug, Clone, Default)]
struct Line {
    slots: Vec<Slot>,
    /// Forward tasks of each stage so far.
    forwards: [u32; 2],
    /// Input gradients of each stage so far.
    inputs: [u32; 2],
    /// Weight gradients that wait.
    weights: VecDeque<Task>,
    /// Stored stages of micro-batches.
    stored: u32,
    is_input_next: bool,
}

/// The order.
pub fn order(extent: Extent) -> Order {
    let mut lines = vec![Line::default(); extent.ranks as usize];
    let all = 6 * extent.micro_batches as usize;
    while lines.iter().any(|line| line.slots.len() < all) {
        let moves: Vec<Option<Task>> =
            (0..extent.ranks).map(|rank| next(extent, &lines, rank)).collect();
        if moves.iter().all(Option::is_none) {
            break;
        }
        for (line, task) in lines.iter_mut().zip(moves) {
            if let Some(task) = task {
                line.run(task, extent);
            }
        }
    }
    Order::new(extent, Route::V, lines.into_iter().map(|line| line.slots).collect())
}

/// What a rank does in this tick, judged by what all had done before it.
fn next(extent: Extent, lines: &[Line], rank: u32) -> Option<Task> {
    let line = &lines[rank as usize];
    let has_room = line.stored < 2 * extent.ranks;
    let forward = forward(extent, lines, rank).filter(|_| has_room);
    let input = input(extent, lines, rank);
    let weight = line.weights.front().copied();
    if line.inputs == [0, 0] {
        forward.or(input)
    } else if !line.is_input_next && line.forwards[1] < extent.micro_batches {
        forward.or(weight).or(input)
    } else {
        input.or(weight).or(forward)
    }
}

/// The forward task that could run now: on the way up if possible.
fn forward(extent: Extent, lines: &[Line], rank: u32) -> Option<Task> {
    let line = &lines[rank as usize];
    let [down, up] = line.forwards;
    let last = extent.ranks - 1;
    let before_up = if rank == last { down } else { lines[rank as usize + 1].forwards[1] };
    let before_down = match rank.checked_sub(1) {
        None => extent.micro_batches,
        Some(before) => lines[before as usize].forwards[0],
    };
    if up < before_up {
        Some(Task::new(2 * extent.ranks - 1 - rank, Kind::Forward, up))
    } else {
        (down < before_down).then(|| Task::new(rank, Kind::Forward, down))
    }
}

/// The input gradient that could run now: of the way down, which it reaches last, if possible.
fn input(extent: Extent, lines: &[Line], rank: u32) -> Option<Task> {
    let line = &lines[rank as usize];
    let [down, up] = line.inputs;
    let last = extent.ranks - 1;
    let before_down = if rank == last { up } else { lines[rank as usize + 1].inputs[0] };
    let before_up = match rank.checked_sub(1) {
        None => line.forwards[1],
        Some(before) => lines[before as usize].inputs[1],
    };
    if down < before_down {
        Some(Task::new(rank, Kind::InputGradient, down))
    } else {
        let stage = 2 * extent.ranks - 1 - rank;
        (up < before_up.min(line.forwards[1])).then(|| Task::new(stage, Kind::InputGradient, up))
    }
}

impl Line {
    fn run(&mut self, task: Task, extent: Extent) {
        let way = usize::from(task.stage.0 >= extent.ranks);
        match task.kind {
            Kind::Forward => {
                self.forwards[way] += 1;
                self.stored += 1;
                self.is_input_next = true;
            }
            Kind::InputGradient | Kind::Backward | Kind::Recompute => {
                self.inputs[way] += 1;
                self.weights.push_back(Task { kind: Kind::WeightGradient, ..task });
                self.is_input_next = false;
            }
            Kind::WeightGradient => {
                self.weights.pop_front();
                self.stored -= 1;
            }
        }
        self.slots.push(Slot::One(task));
    }
}
