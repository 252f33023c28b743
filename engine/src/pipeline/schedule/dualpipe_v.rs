//! `DualPipeV`: `DualPipe` cut in half along its symmetry, so that one copy of the parameters is
//! enough: two stages per rank on a V (`DeepSeek`'s and Sea AI Lab's "cut in half" schedule;
//! PyTorch's `ScheduleDualPipeV`).
//!
//! ```text
//! 2 ranks, 4 micro-batches: rank 0 holds stages 0 and 3, rank 1 stages 1 and 2
//! rank 0   0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3;3B1) (3F2;0B0) 3B2 (3F3;0B1) 3B3 0I2 0W2 0I3 0W3
//! rank 1   1F0 2F0 1F1 2F1 1F2 2B0 (2F2;1B0) (1F3;2B1) (2F3;1B1) 2B2 1B2 2I3 1I3 2W3 1W3
//! ```

use super::dual::{Depth, Lane, slots};
use super::limit::{Limit, Quantity, Rule};
use crate::pipeline::order::{Extent, Order, Route};

/// Two stages per rank, M ≥ 2K.
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    const CHUNKS: &str = "a cell holds one stage of each arm of the V";
    const MANY: &str = "with fewer than stages, the pipeline never fills";
    let checks = [
        Limit::check(extent, Quantity::Chunks, Rule::Exactly(2), CHUNKS),
        Limit::check(extent, Quantity::MicroBatches, Rule::AtLeast(2 * extent.ranks), MANY),
    ];
    checks.into_iter().flatten().collect()
}

/// The order; only within the limits.
pub(super) fn order(extent: Extent) -> Order {
    let Extent { ranks, micro_batches, .. } = extent;
    Order::by_rank(extent, Route::V, |rank| {
        let down = Lane { stage: rank, first: 0 };
        let up = Lane { stage: 2 * ranks - 1 - rank, first: 0 };
        slots(Depth { of: ranks, at: rank }, micro_batches, [down, up])
    })
}
