//! Breadth-first: `GPipe` with several stages per rank; all micro-batches pass a stage before the
//! next begins (Lamy-Poirier, arXiv 2211.05953; PyTorch's `ScheduleLoopedBFS`).
//!
//! ```text
//! 2 ranks, 2 micro-batches, 2 chunks: rank 0 holds stages 0 and 2, rank 1 stages 1 and 3
//! rank 0   0F0 0F1 2F0 2F1   ·   ·  2B1 2B0 0B1 0B0
//! rank 1    ·  1F0 1F1 3F0 3F1  3B1 3B0 1B1 1B0
//! ```
//!
//! The bubble is that of the interleaved schedule, a slow hop costs less, and the parameters of a
//! stage are needed in one stretch of time only; but a rank stores all M·V activations. Backward
//! tasks run in reverse, as in PyTorch.

use super::weave::{tasks, weave};
use crate::pipeline::order::{Extent, Order, Route};
use crate::timeline::{Kind, Task};

/// The order, for any numbers.
pub fn order(extent: Extent) -> Order {
    let Extent { ranks, micro_batches, chunks } = extent;
    Order::by_rank(extent, Route::Loop, |rank| {
        let stages = |chunk: u32| chunk * ranks + rank;
        let forward = |chunk| tasks(stages(chunk), Kind::Forward, 0..micro_batches);
        let backward = |chunk| tasks(stages(chunk), Kind::Backward, (0..micro_batches).rev());
        let forwards: Vec<Task> = (0..chunks).flat_map(forward).collect();
        let backwards: Vec<Task> = (0..chunks).rev().flat_map(backward).collect();
        weave(&forwards, &backwards, forwards.len())
    })
}
