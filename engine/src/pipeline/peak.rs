//! How many micro-batches a rank stores at most: from the order alone, whatever the costs.
//!
//! ```text
//! F0 F1 B0 F2 B1 B2      1F1B, rank 0 of 2
//! 1  2  1  2  1  0       stored after each: at most 2
//! ```
//!
//! With several stages per rank each stage's activations of a micro-batch count as one. The two of
//! an overlapped pair are both there while it runs.

use super::order::Order;
use crate::index::{IdVec, Rank};
use crate::timeline::{Kind, Slot};

/// When the activations of a micro-batch are no longer needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Freed {
    /// After the weight gradient (or the whole backward task): it reads the stage's inputs.
    AtWeightGradient,
    /// After the input gradient (or the whole backward task), where weight gradients count as
    /// reading nothing: a lower bound.
    AtInputGradient,
}

/// The most micro-batches that each rank stores.
pub fn peaks(order: &Order, freed: Freed) -> IdVec<Rank, u32> {
    order.ranks().iter().map(|slots| peak(slots, freed)).collect()
}

fn peak(slots: &[Slot], freed: Freed) -> u32 {
    let mut stored: u32 = 0;
    let mut most = 0;
    for slot in slots {
        let begun = slot.tasks().filter(|task| task.kind == Kind::Forward).count();
        let ended = slot.tasks().filter(|task| match task.kind {
            Kind::Forward | Kind::Recompute => false,
            Kind::Backward => true,
            Kind::InputGradient => freed == Freed::AtInputGradient,
            Kind::WeightGradient => freed == Freed::AtWeightGradient,
        });
        stored += begun as u32;
        most = most.max(stored);
        stored = stored.saturating_sub(ended.count() as u32);
    }
    most
}
