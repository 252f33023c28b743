//! What tasks cost, from a timeline: the other way round than [`simulate`](super::simulate).

use super::simulate::StageCosts;
use crate::index::{IdVec, Idx as _, Stage};
use crate::timeline::{Kind, Slot, Timeline};

/// How long the tasks of every stage took, each kind on average over its micro-batches, in the unit
/// of the timeline. A kind that does not occur costs nothing, but a whole backward pass what its
/// halves do; the two tasks of a pair share its time.
pub fn costs(timeline: &Timeline) -> IdVec<Stage, StageCosts> {
    let mut sums = vec![[(0.0, 0_u32); Kind::ALL.len()]; timeline.stages()];
    for (_, interval) in timeline.intervals() {
        let share = match interval.slot {
            Slot::One(_) => interval.length(),
            Slot::Pair(..) => interval.length() / 2.0,
        };
        for task in interval.slot.tasks() {
            let (sum, count) = &mut sums[task.stage.index()][task.kind as usize];
            (*sum, *count) = (*sum + share, *count + 1);
        }
    }
    let mean = |(sum, count): (f64, u32)| if count > 0 { sum / f64::from(count) } else { 0.0 };
    let of_stage = |sums: [(f64, u32); Kind::ALL.len()]| {
        let of = |kind: Kind| mean(sums[kind as usize]);
        let (input_gradient, weight_gradient) = (of(Kind::InputGradient), of(Kind::WeightGradient));
        let is_whole = sums[Kind::Backward as usize].1 > 0;
        StageCosts {
            forward: of(Kind::Forward),
            recompute: of(Kind::Recompute),
            backward: if is_whole { of(Kind::Backward) } else { input_gradient + weight_gradient },
            input_gradient,
            weight_gradient,
        }
    };
    sums.into_iter().map(of_stage).collect()
}
