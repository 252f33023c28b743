//! `DualPipe`: micro-batches enter at both ends and each rank overlaps the forward task of one way
//! with the backward task of the other (`DeepSeek`-V3, arXiv 2412.19437, section 3.2.1).
//!
//! ```text
//! 2 ranks, 4 micro-batches: a0 a1 run 0 → 1, b0 b1 run 1 → 0
//! rank 0   0Fa0 1Fb0 0Fa1 1Bb0 (1Fb1;0Ba0) 1Bb1 0Ia1 0Wa1
//! rank 1   0Fb0 1Fa0 0Fb1 1Ba0 (1Fa1;0Bb0) 1Ba1 0Ib1 0Wb1
//! ```
//!
//! The bubble is (K/2−1)(FB + B − 3W), FB being the time of an overlapped pair. The price is a
//! second copy of the parameters (a rank holds stage r for one way and K−1−r for the other) and
//! memory for K+1 micro-batches.

use super::dual::{Depth, Lane, slots};
use super::limit::{Limit, Quantity, Rule};
use crate::pipeline::order::{Extent, Order, Route};

/// Even K, even M ≥ 2K, one stage per rank and way.
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    const CHUNKS: &str = "a cell holds one stage of each way";
    const RANKS: &str = "the two ways meet between two cells";
    const MANY: &str = "half of them go each way, and each half must fill the pipeline";
    let many = Rule::EvenAtLeast(2 * extent.ranks);
    let checks = [
        Limit::check(extent, Quantity::Chunks, Rule::Exactly(1), CHUNKS),
        Limit::check(extent, Quantity::Ranks, Rule::EvenAtLeast(2), RANKS),
        Limit::check(extent, Quantity::MicroBatches, many, MANY),
    ];
    checks.into_iter().flatten().collect()
}

/// The order; only within the limits.
pub(super) fn order(extent: Extent) -> Order {
    let Extent { ranks, micro_batches, .. } = extent;
    let half = micro_batches / 2;
    Order::by_rank(extent, Route::BothWays, |rank| {
        let mirror = ranks - 1 - rank;
        let depth = Depth { of: ranks / 2, at: rank.min(mirror) };
        let (a, b) = (Lane { stage: rank, first: 0 }, Lane { stage: mirror, first: half });
        slots(depth, half, if rank < mirror { [a, b] } else { [b, a] })
    })
}
