//! What ranks send each other, as queues: a receiver that blocks on the head of a queue must never
//! wait for what stands behind it.
//!
//! ```text
//! rank 0 ──▶ rank 1   activations   0F0 0F1 2F0 2F1 …     sent in this order
//!                                   1F0 1F1 3F0 3F1 …     needed in this order
//! ```
//!
//! Activations and gradients are one queue each per ordered pair of ranks. Sending never blocks:
//! the sender deposits and goes on.

use super::needs::{Made, Need, When, makes, needs};
use super::order::Order;
use crate::index::{Rank, Stage};
use crate::timeline::{Slot, Task};
use std::collections::{BTreeMap, VecDeque};

/// A rank needs something while something else is at the head of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfTurn {
    /// The rank that receives.
    pub rank: Rank,
    /// The task it is needed for.
    pub task: Task,
    /// What it needs.
    pub need: Need,
    /// What is next in the queue, if anything.
    pub head: Option<Need>,
}

/// Checks that every rank takes from each of its queues in the order in which it was filled.
pub fn turns(order: &Order) -> Result<(), OutOfTurn> {
    let mut queues = Queues::filled(order);
    for (rank, slots) in order.ranks().entries() {
        for slot in slots {
            queues.serve(order, rank, *slot)?;
        }
    }
    Ok(())
}

/// The messages by sender, receiver and kind.
#[derive(Debug, Default)]
struct Queues {
    queues: BTreeMap<(Rank, Rank, Made), VecDeque<Need>>,
}

impl Queues {
    /// All that the ranks send, in their orders.
    fn filled(order: &Order) -> Self {
        let mut all = Self::default();
        for (from, task) in order.tasks() {
            let Some(need) = makes(task) else { continue };
            let reader = match need.made {
                Made::Activation => Some(need.stage.0 + 1).filter(|s| *s < order.extent().stages()),
                Made::Gradient => need.stage.0.checked_sub(1),
            };
            let Some(reader) = reader else { continue };
            let to = maker(order, Need { stage: Stage(reader), ..need });
            if to != from {
                all.queue(from, to, need.made).push_back(need);
            }
        }
        all
    }

    fn queue(&mut self, from: Rank, to: Rank, made: Made) -> &mut VecDeque<Need> {
        self.queues.entry((from, to, made)).or_default()
    }

    /// Takes what a slot needs from other ranks; a pair may take its two in either order.
    fn serve(&mut self, order: &Order, rank: Rank, slot: Slot) -> Result<(), OutOfTurn> {
        let stages = order.extent().stages();
        let of_task = |task| needs(task, stages, When::Early).map(move |need| (task, need));
        let mut waiting: Vec<(Task, Need)> = slot.tasks().flat_map(of_task).collect();
        waiting.retain(|(_, need)| maker(order, *need) != rank);
        while let Some(&(task, first)) = waiting.first() {
            let is_next = |&(_, need): &(Task, Need)| {
                self.queue(maker(order, need), rank, need.made).front() == Some(&need)
            };
            let Some(next) = waiting.iter().position(is_next) else {
                let head = self.queue(maker(order, first), rank, first.made).front().copied();
                return Err(OutOfTurn { rank, task, need: first, head });
            };
            let (_, need) = waiting.swap_remove(next);
            self.queue(maker(order, need), rank, need.made).pop_front();
        }
        Ok(())
    }
}

/// The rank that makes something.
const fn maker(order: &Order, need: Need) -> Rank {
    order.route().rank(order.extent(), need.stage, need.micro_batch)
}
