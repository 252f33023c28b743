//! 1F1B: one forward, one backward (PipeDream-Flush; Narayanan et al., arXiv 2006.09503).
//!
//! ```text
//! 3 ranks, 4 micro-batches
//! rank 0   F0 F1 F2  ·  ·  ·  · B0 B0 F3 B1 B1  · B2 B2  · B3 B3
//! rank 1    · F0 F1  ·  · B0 B0 F2 B1 B1 F3 B2 B2  · B3 B3  ·  ·
//! rank 2    ·  · F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3  ·  ·  ·  ·
//! ```
//!
//! Rank r begins with min(M, K−1−r) forwards, then goes on in pairs. It takes as long as `GPipe`,
//! but rank r stores at most K−r micro-batches. A slow hop costs more than in `GPipe`: in the steady
//! state every pair waits for a round trip.

use super::limit::{Limit, Quantity, Rule};
use super::weave::{tasks, weave};
use crate::pipeline::order::{Extent, Order, Route};
use crate::timeline::Kind;

/// Why M is at least K.
pub(super) const FULL: &str = "with fewer than cells, some cells never reach the steady state";

/// M ≥ K, one stage per rank.
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    const WHY: &str = "`interleaved` is the same with several stages per cell";
    let checks = [
        Limit::check(extent, Quantity::Chunks, Rule::Exactly(1), WHY),
        Limit::check(extent, Quantity::MicroBatches, Rule::AtLeast(extent.ranks), FULL),
    ];
    checks.into_iter().flatten().collect()
}

/// The order; defined for M < K, too.
pub fn order(extent: Extent) -> Order {
    let Extent { ranks, micro_batches, .. } = extent;
    Order::by_rank(extent, Route::Loop, |rank| {
        let forwards = tasks(rank, Kind::Forward, 0..micro_batches);
        let backwards = tasks(rank, Kind::Backward, 0..micro_batches);
        weave(&forwards, &backwards, (ranks - 1 - rank) as usize)
    })
}
