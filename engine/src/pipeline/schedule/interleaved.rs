//! Interleaved 1F1B: every rank holds V stages, so a micro-batch passes each rank V times and the
//! bubble shrinks by V (Narayanan et al., arXiv 2104.04473, figure 4).
//!
//! ```text
//! 2 ranks, 4 micro-batches, 2 chunks: rank 0 holds stages 0 and 2, rank 1 stages 1 and 3
//! rank 0   0F0 0F1 2F0 2F1 │ 0F2 2B0  0F3 2B1  2F2 0B0  2F3 0B1 │ 2B2 2B3 0B2 0B3
//! rank 1   1F0 1F1 │ 3F0 3B0  3F1 3B1  1F2 1B0  1F3 1B1  3F2 3B2  3F3 3B3 │ 1B2 1B3
//! ```
//!
//! Micro-batches go in groups of g through all chunks, depth first; rank r begins with
//! min(MV, (V−1)g + 2(K−1−r)) forwards. The paper takes g = K and M a multiple of it. As in
//! PyTorch, g = M ÷ max(1, M div K) where that is whole; Megatron-LM's generalisation takes any
//! g ≥ K, and the last group may be smaller as long as it has K micro-batches ([`grouped`]).

use super::limit::{Limit, Quantity, Rule, rounds};
use super::weave::weave;
use crate::pipeline::order::{Extent, Order, Route};
use crate::timeline::{Kind, Task};

/// Why M comes in rounds.
pub(super) const ROUNDS: &str = "micro-batches pass the chunks of a cell in rounds of one size";

/// M is a multiple of the number of rounds, max(1, M div K).
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    let rule = Rule::Rounds { ranks: extent.ranks };
    Limit::check(extent, Quantity::MicroBatches, rule, ROUNDS).into_iter().collect()
}

/// The order in rounds of one size.
pub fn order(extent: Extent) -> Order {
    order_in_groups(extent, group(extent))
}

/// The size of a round: M ÷ max(1, M div K).
pub(super) fn group(extent: Extent) -> u32 {
    (extent.micro_batches / rounds(extent.micro_batches, extent.ranks)).max(1)
}

/// Why a group size is not legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupLimit {
    /// The group size.
    pub given: u32,
    /// The nearest legal ones, at most one below and one above.
    pub nearest: Vec<u32>,
}

/// The order in groups of `group` micro-batches, the last one of what remains: legal where group
/// and remainder are at least K (or there is no remainder), so that a group fills the pipeline.
pub fn grouped(extent: Extent, group: u32) -> Result<Order, GroupLimit> {
    let Extent { ranks, micro_batches, .. } = extent;
    let is_legal = |group: u32| {
        let rest = micro_batches.checked_rem(group);
        group >= ranks && rest.is_some_and(|rest| rest == 0 || rest >= ranks)
    };
    if is_legal(group) {
        return Ok(order_in_groups(extent, group));
    }
    let below = (1..group.min(micro_batches + 1)).rev().find(|g| is_legal(*g));
    let above = (group.saturating_add(1)..=micro_batches).find(|g| is_legal(*g));
    Err(GroupLimit { given: group, nearest: below.into_iter().chain(above).collect() })
}

fn order_in_groups(extent: Extent, group: u32) -> Order {
    let Extent { ranks, chunks, .. } = extent;
    Order::by_rank(extent, Route::Loop, |rank| {
        let warm_up = (chunks - 1) * group + 2 * (ranks - 1 - rank);
        let forwards = forwards(extent, group, rank);
        let backwards = backwards(extent, group, rank, Kind::Backward);
        weave(&forwards, &backwards, warm_up as usize)
    })
}

/// A rank's forward tasks: group by group, in each chunk by chunk.
pub(super) fn forwards(extent: Extent, group: u32, rank: u32) -> Vec<Task> {
    in_groups(extent, group, |chunk| Task::new(chunk * extent.ranks + rank, Kind::Forward, 0))
}

/// A rank's backward tasks of a kind: group by group, in each chunk by chunk from the last.
pub(super) fn backwards(extent: Extent, group: u32, rank: u32, kind: Kind) -> Vec<Task> {
    let Extent { ranks, chunks, .. } = extent;
    in_groups(extent, group, |chunk| Task::new((chunks - 1 - chunk) * ranks + rank, kind, 0))
}

fn in_groups(extent: Extent, group: u32, of_chunk: impl Fn(u32) -> Task) -> Vec<Task> {
    let Extent { micro_batches, chunks, .. } = extent;
    let mut tasks = Vec::with_capacity(micro_batches as usize * chunks as usize);
    for first in (0..micro_batches).step_by(group.max(1) as usize) {
        for chunk in 0..chunks {
            let Task { stage, kind, .. } = of_chunk(chunk);
            let last = first.saturating_add(group).min(micro_batches);
            tasks.extend((first..last).map(|m| Task::new(stage.0, kind, m)));
        }
    }
    tasks
}
