//! The rules that every order must keep, whoever made it.
//!
//! 1. Every stage does every micro-batch once, on the rank that has the stage: one forward task,
//!    and one backward task or one input and one weight gradient.
//! 2. On a rank, forward comes before recomputation, that before the backward task or the input
//!    gradient, that before the weight gradient; a stage's forwards run in the order of the batch.
//! 3. The ranks do not wait for each other in a circle.
//! 4. What one rank sends another is needed in the order in which it is sent ([`turns`]).

use super::needs::When;
use super::order::Order;
use super::queues::{OutOfTurn, turns};
use super::simulate::{Stuck, play};
use crate::index::{MicroBatch, Rank, Stage};
use crate::timeline::{Kind, Slot, Task};
use std::collections::BTreeMap;

/// A rule that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// The pipeline has no such stage or micro-batch.
    Unknown {
        /// The rank.
        rank: Rank,
        /// The task.
        task: Task,
    },
    /// Another rank has the stage.
    Misplaced {
        /// The rank.
        rank: Rank,
        /// The task.
        task: Task,
        /// The rank that has its stage.
        belongs: Rank,
    },
    /// The task, or one that includes it, stands in the order already.
    Twice {
        /// The rank.
        rank: Rank,
        /// The task.
        task: Task,
    },
    /// The task stands nowhere.
    Missing {
        /// The task.
        task: Task,
    },
    /// A task of the same stage and micro-batch must come first.
    TooEarly {
        /// The rank.
        rank: Rank,
        /// The task.
        task: Task,
        /// What must come first.
        first: Kind,
    },
    /// A forward task stands after that of a later micro-batch.
    Descending {
        /// The rank.
        rank: Rank,
        /// The task.
        task: Task,
        /// The later micro-batch.
        after: MicroBatch,
    },
    /// The ranks wait in a circle.
    Stuck(Stuck),
    /// A rank needs something while something else is at the head of the queue.
    OutOfTurn(OutOfTurn),
}

/// The first rule that the order breaks.
pub fn validate(order: &Order) -> Result<(), Violation> {
    presence(order)?;
    for (rank, slots) in order.ranks().entries() {
        sequence(order, rank, slots)?;
    }
    play(order, When::Early, [0.0; 2], |_| 1.0).map_err(Violation::Stuck)?;
    turns(order).map_err(Violation::OutOfTurn)
}

/// What stands in the order for one stage and micro-batch, as bits.
#[derive(Debug, Clone, Copy, Default)]
struct Seen(u8);

impl Seen {
    /// The bits of a kind; a backward task is both gradients.
    const fn bits(kind: Kind) -> u8 {
        match kind {
            Kind::Forward => 1,
            Kind::Recompute => 2,
            Kind::InputGradient => 4,
            Kind::WeightGradient => 8,
            Kind::Backward => 4 | 8,
        }
    }

    /// Whether all of a kind is there.
    const fn has(self, kind: Kind) -> bool {
        self.0 & Self::bits(kind) == Self::bits(kind)
    }

    /// Enters a task; false if it, or a part of it, is there already.
    const fn enter(&mut self, kind: Kind) -> bool {
        let is_fresh = self.0 & Self::bits(kind) == 0;
        self.0 |= Self::bits(kind);
        is_fresh
    }

    /// What must be there before a task and is not. A whole backward task counts as an input
    /// gradient.
    fn lacks(self, kind: Kind) -> Option<Kind> {
        let first = match kind {
            Kind::Forward => None,
            Kind::Recompute | Kind::Backward | Kind::InputGradient => Some(Kind::Forward),
            Kind::WeightGradient => Some(Kind::InputGradient),
        };
        first.filter(|first| !self.has(*first))
    }

    /// What is missing for good at the end.
    const fn missing(self) -> Option<Kind> {
        match (
            self.has(Kind::Forward),
            self.has(Kind::InputGradient),
            self.has(Kind::WeightGradient),
        ) {
            (false, _, _) => Some(Kind::Forward),
            (true, false, false) => Some(Kind::Backward),
            (true, false, true) => Some(Kind::InputGradient),
            (true, true, false) => Some(Kind::WeightGradient),
            (true, true, true) => None,
        }
    }
}

fn presence(order: &Order) -> Result<(), Violation> {
    let extent = order.extent();
    let mut seen = vec![Seen::default(); extent.tasks() as usize];
    for (rank, task) in order.tasks() {
        if !order.has(task) {
            return Err(Violation::Unknown { rank, task });
        }
        let belongs = order.rank_of(task);
        if belongs != rank {
            return Err(Violation::Misplaced { rank, task, belongs });
        }
        if !seen[order.place(task.stage, task.micro_batch)].enter(task.kind) {
            return Err(Violation::Twice { rank, task });
        }
    }
    let all = (0..extent.stages()).flat_map(|s| (0..extent.micro_batches).map(move |m| (s, m)));
    for (s, m) in all {
        if let Some(missing) = seen[order.place(Stage(s), MicroBatch(m))].missing() {
            return Err(Violation::Missing { task: Task::new(s, missing, m) });
        }
    }
    Ok(())
}

fn sequence(order: &Order, rank: Rank, slots: &[Slot]) -> Result<(), Violation> {
    let mut seen: BTreeMap<usize, Seen> = BTreeMap::new();
    let mut latest: BTreeMap<Stage, MicroBatch> = BTreeMap::new();
    for slot in slots {
        // the two of a pair run at once: neither may need the other
        for task in slot.tasks() {
            let before = seen.get(&order.place(task.stage, task.micro_batch));
            let before = before.copied().unwrap_or_default();
            if let Some(first) = before.lacks(task.kind) {
                return Err(Violation::TooEarly { rank, task, first });
            }
            if task.kind == Kind::Recompute && before.has(Kind::InputGradient) {
                let task = Task { kind: Kind::Backward, ..task };
                return Err(Violation::TooEarly { rank, task, first: Kind::Recompute });
            }
        }
        for task in slot.tasks() {
            seen.entry(order.place(task.stage, task.micro_batch)).or_default().enter(task.kind);
            if task.kind == Kind::Forward
                && let Some(after) = latest.insert(task.stage, task.micro_batch)
                && after > task.micro_batch
            {
                return Err(Violation::Descending { rank, task, after });
            }
        }
    }
    Ok(())
}
