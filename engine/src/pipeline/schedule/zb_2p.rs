//! ZB-2p: no bubble at all within a rank's own span, for twice the memory of 1F1B (Qi et al., arXiv
//! 2401.10241, section 2.3 and the automatic schedule of section 3).
//!
//! ```text
//! 2 ranks, 4 micro-batches
//! rank 0   F0 F1 F2 I0 F3 W0 I1 W1 I2 W2 I3 W3
//! rank 1    · F0 I0 F1 I1 F2 I2 F3 I3 W0 W1 W2 W3
//! ```
//!
//! The rule, in ticks in which F, I and W all fit: rank r begins with min(M, 2(K−r)−1) forwards,
//! then takes turns, input gradient and forward. Where its turn cannot be taken yet, or a forward
//! would make it store more than 2K micro-batches, it fills the tick with the oldest weight
//! gradient. Rank 0, on whose input gradients nobody waits, runs weight gradients as they come
//! once its forwards are done.
//!
//! On the wall clock the skew (K−1)·F between the first and the last rank remains.

use super::limit::{Limit, Quantity, Rule};
use crate::pipeline::order::{Extent, Order, Route};
use crate::timeline::{Kind, Slot, Task};

/// One stage per rank.
pub(super) fn limits(extent: Extent) -> Vec<Limit> {
    const WHY: &str = "`zb_v` is its kin with two stages per cell";
    Limit::check(extent, Quantity::Chunks, Rule::Exactly(1), WHY).into_iter().collect()
}

/// A rank while its order is being made.
#[derive(Debug, Clone, Default)]
struct Line {
    slots: Vec<Slot>,
    /// Tasks done of each kind.
    forwards: u32,
    inputs: u32,
    weights: u32,
    /// Whose turn it is after the warm-up.
    is_forward_next: bool,
}

/// The order.
pub fn order(extent: Extent) -> Order {
    let mut lines = vec![Line::default(); extent.ranks as usize];
    // each tick some rank moves: the one furthest back always can
    while lines.iter().any(|line| line.weights < extent.micro_batches) {
        let kinds: Vec<Option<Kind>> =
            (0..lines.len()).map(|rank| next(extent, &lines, rank)).collect();
        for ((rank, line), kind) in (0..).zip(&mut lines).zip(kinds) {
            if let Some(kind) = kind {
                line.run(extent, rank, kind);
            }
        }
    }
    Order::new(extent, Route::Loop, lines.into_iter().map(|line| line.slots).collect())
}

/// What a rank does in this tick, judged by what all had done before it.
fn next(extent: Extent, lines: &[Line], rank: usize) -> Option<Kind> {
    let Extent { ranks, micro_batches, .. } = extent;
    let line = &lines[rank];
    let has_weight = line.weights < line.inputs;
    let is_first = rank == 0;
    let can_forward = line.forwards < micro_batches
        && line.forwards - line.weights < 2 * ranks
        && (is_first || lines[rank - 1].forwards > line.forwards);
    let after = lines.get(rank + 1);
    let can_input = line.inputs < line.forwards && after.is_none_or(|a| a.inputs > line.inputs);
    let fill = has_weight.then_some(Kind::WeightGradient);

    if line.forwards < warm_up(extent, rank as u32) {
        return can_forward.then_some(Kind::Forward);
    }
    let all_forwards = line.forwards == micro_batches;
    if line.inputs == micro_batches || (is_first && all_forwards && has_weight) {
        return fill;
    }
    if line.is_forward_next && !all_forwards {
        return if can_forward { Some(Kind::Forward) } else { fill };
    }
    if can_input { Some(Kind::InputGradient) } else { fill }
}

const fn warm_up(extent: Extent, rank: u32) -> u32 {
    let full = 2 * (extent.ranks - rank) - 1;
    if full < extent.micro_batches { full } else { extent.micro_batches }
}

impl Line {
    fn run(&mut self, extent: Extent, rank: u32, kind: Kind) {
        let count = match kind {
            Kind::Forward => &mut self.forwards,
            Kind::WeightGradient => &mut self.weights,
            Kind::InputGradient | Kind::Backward | Kind::Recompute => &mut self.inputs,
        };
        self.slots.push(Slot::One(Task::new(rank, kind, *count)));
        *count += 1;
        match kind {
            Kind::Forward => self.is_forward_next = self.forwards < warm_up(extent, rank),
            Kind::InputGradient => self.is_forward_next = true,
            Kind::WeightGradient | Kind::Backward | Kind::Recompute => {}
        }
    }
}
