//! Re-materialization: activations within a stage are not kept but computed again just before the
//! backward pass, so that a rank stores one stage's input per micro-batch instead of all its
//! activations (`GPipe`, arXiv 1811.06965, section 2.3).
//!
//! ```text
//! kept          F0 F1 F2 B2 B1 B0
//! on            F0 F1 F2 R2 B2 R1 B1 R0 B0
//! except_last   F0 F1 F2 B2 R1 B1 R0 B0        the last one's activations are still there
//! ```

use super::order::{Order, Route};
use crate::index::MicroBatch;
use crate::timeline::{Kind, Slot, Task};

/// Of which micro-batches activations are computed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Remat {
    /// Of none: all activations are kept.
    Never,
    /// Of all but the last one (where micro-batches go both ways, of each way), whose backward
    /// pass follows at once on the last stage. What torchgpipe does unless told otherwise.
    #[default]
    ExceptLast,
    /// Of all.
    Always,
}

impl Remat {
    /// Each with the word of the study text.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Never, "off"), (Self::ExceptLast, "except_last"), (Self::Always, "on")];

    /// Whether the activations of a micro-batch of this order are computed again.
    pub const fn again(self, order: &Order, micro_batch: MicroBatch) -> bool {
        let count = order.extent().micro_batches;
        let MicroBatch(m) = micro_batch;
        let is_last = match order.route() {
            Route::Loop | Route::V => m + 1 == count,
            Route::BothWays => m + 1 == count / 2 || m + 1 == count,
        };
        match self {
            Self::Never => false,
            Self::ExceptLast => !is_last,
            Self::Always => true,
        }
    }
}

/// The order with a recomputation before every backward (or input-gradient) task that needs one.
/// The order must not hold any yet. Before a pair it stands alone.
#[must_use]
pub fn recompute(order: &Order, remat: Remat) -> Order {
    recompute_those(order, |micro_batch| remat.again(order, micro_batch))
}

/// The same for the micro-batches of which activations are computed `again`.
#[must_use]
pub fn recompute_those(order: &Order, again: impl Fn(MicroBatch) -> bool) -> Order {
    order.with(|slots| {
        let mut with = Vec::with_capacity(slots.len());
        for slot in slots {
            let backward = slot.tasks().filter(|task| match task.kind {
                Kind::Backward | Kind::InputGradient => again(task.micro_batch),
                Kind::Forward | Kind::Recompute | Kind::WeightGradient => false,
            });
            with.extend(backward.map(|t| Slot::One(Task { kind: Kind::Recompute, ..t })));
            with.push(*slot);
        }
        with
    })
}
