//! `GPipe`: all forwards, then all backwards (Huang et al., arXiv 1811.06965, figure 2c).
//!
//! ```text
//! 3 ranks, 3 micro-batches, a backward task twice as long
//! rank 0   F0 F1 F2  ·  ·  ·  ·  ·  ·  B2 B2 B1 B1 B0 B0
//! rank 1    · F0 F1 F2  ·  ·  · B2 B2 B1 B1 B0 B0  ·  ·
//! rank 2    ·  · F0 F1 F2 B2 B2 B1 B1 B0 B0  ·  ·  ·  ·
//! ```
//!
//! Every rank idles (K−1)(F+B) and stores all M micro-batches, which is why it computes
//! activations again ([`recompute`](crate::pipeline::recompute)).
//!
//! The paper and torchgpipe run the backward tasks in reverse, last in first out, so that the last
//! micro-batch's activations are still there when its backward task begins; PyTorch's
//! `ScheduleGPipe` runs them in the order of the batch. The time is the same.

use super::limit::{Limit, Quantity, Rule};
use super::weave::{tasks, weave};
use crate::pipeline::order::{Extent, Order, Route};
use crate::timeline::Kind;

/// One stage per rank.
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    const WHY: &str = "`breadth_first` is the same with several stages per cell";
    Limit::check(extent, Quantity::Chunks, Rule::Exactly(1), WHY).into_iter().collect()
}

/// Backward tasks last in first out.
pub fn last_in_first_out(extent: Extent) -> Order {
    order(extent, |micro_batches| (0..micro_batches).rev().collect())
}

/// Backward tasks first in first out.
pub fn first_in_first_out(extent: Extent) -> Order {
    order(extent, |micro_batches| (0..micro_batches).collect())
}

fn order(extent: Extent, backward: impl Fn(u32) -> Vec<u32>) -> Order {
    Order::by_rank(extent, Route::Loop, |rank| {
        let forwards = tasks(rank, Kind::Forward, 0..extent.micro_batches);
        let backwards = tasks(rank, Kind::Backward, backward(extent.micro_batches));
        weave(&forwards, &backwards, forwards.len())
    })
}
