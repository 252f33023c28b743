//! ZB-H1: 1F1B with the backward pass cut in two, so that weight gradients, for which nobody waits,
//! fill the bubble (Qi et al., arXiv 2401.10241, section 2.2).
//!
//! ```text
//! 3 ranks, 4 micro-batches: input gradient (I) and weight gradient (W) of one unit each
//! rank 0   F0 F1 F2  ·  · I0 W0 F3 I1 W1 I2 W2 I3 W3
//! rank 1    · F0 F1  · I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
//! rank 2    ·  · F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
//! ```
//!
//! Where F = I = W, the bubble is (K−1)·F, a third of 1F1B's, at 1F1B's greatest memory, K
//! micro-batches on every rank. Rank r runs one weight gradient after each input gradient but its
//! first r, the rest at the end, as PyTorch's `ScheduleInterleavedZeroBubble` does. With several
//! chunks it is that schedule (ZB1P): the groups of [`interleaved`](super::interleaved), one
//! forward less per rank in the warm-up.

use super::interleaved::{ROUNDS, backwards, forwards, group};
use super::limit::{Limit, Quantity, Rule};
use super::one_f_one_b::FULL;
use super::weave::{weave, weave_weights};
use crate::pipeline::order::{Extent, Order, Route};
use crate::timeline::Kind;

/// M ≥ K; with several chunks also a multiple of the number of rounds, M div K.
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    let what = Quantity::MicroBatches;
    let full = Limit::check(extent, what, Rule::AtLeast(extent.ranks), FULL);
    let rounds = Limit::check(extent, what, Rule::Rounds { ranks: extent.ranks }, ROUNDS);
    full.into_iter().chain(rounds.filter(|_| extent.chunks > 1)).collect()
}

/// The order.
pub fn order(extent: Extent) -> Order {
    let Extent { ranks, micro_batches, chunks } = extent;
    let group = if chunks > 1 { group(extent) } else { micro_batches };
    Order::by_rank(extent, Route::Loop, |rank| {
        let warm_up = (chunks - 1) * group + (ranks - 1 - rank);
        let forwards = forwards(extent, group, rank);
        let gradients = backwards(extent, group, rank, Kind::InputGradient);
        weave_weights(&weave(&forwards, &gradients, warm_up as usize), rank as usize)
    })
}
