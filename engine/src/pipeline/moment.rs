//! A moment of a timeline: what every rank does then, and what those that wait are waiting for.
//!
//! ```text
//! 0   [F0][F1]░░░░░░░░░[B1      ]      rank 0 waits for the gradient of micro-batch 1,
//! 1       [F0][F1][B1      ]           which rank 1 is still computing
//!                   ▲
//! ```

use super::needs::{Made, Need, When, needs};
use super::order::Order;
use crate::index::{IdVec, Idx as _, Rank};
use crate::timeline::{Interval, Kind, Slot, Task, Timeline};

/// What a rank does at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Doing {
    /// It works.
    Works(Interval),
    /// It waits.
    Waits(Wait),
    /// It has done all it had to.
    Done,
}

/// A rank waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wait {
    /// What it will do next.
    pub next: Slot,
    /// When it begins that.
    pub until: f64,
    /// What is missing: that which comes last.
    pub need: Need,
    /// The task that makes it, if it is in the timeline.
    pub by: Option<Task>,
    /// The rank that makes it.
    pub on: Rank,
    /// Whether it is made and on its way.
    pub is_on_its_way: bool,
}

/// What every rank does at a time, a moment after it: what ends at this time is over.
pub fn moment(order: &Order, timeline: &Timeline, when: When, time: f64) -> IdVec<Rank, Doing> {
    let doing = |lane: &Vec<Interval>| {
        let Some(next) = lane.iter().find(|interval| interval.end > time) else {
            return Doing::Done;
        };
        if next.start <= time {
            return Doing::Works(*next);
        }
        wait(order, timeline, when, time, next).map_or(Doing::Works(*next), Doing::Waits)
    };
    timeline.lanes().iter().map(doing).collect()
}

fn wait(
    order: &Order,
    timeline: &Timeline,
    when: When,
    time: f64,
    next: &Interval,
) -> Option<Wait> {
    let stages = order.extent().stages();
    let needed = next.slot.tasks().flat_map(|task| needs(task, stages, when));
    let made = needed.map(|need| {
        let on = order.route().rank(order.extent(), need.stage, need.micro_batch);
        (need, on, maker(timeline, on, need))
    });
    let last = |m: &(Need, Rank, Option<(Task, f64)>)| m.2.map_or(f64::INFINITY, |(_, end)| end);
    let (need, on, maker) = made.max_by(|a, b| last(a).total_cmp(&last(b)))?;
    Some(Wait {
        next: next.slot,
        until: next.start,
        need,
        by: maker.map(|(task, _)| task),
        on,
        is_on_its_way: maker.is_some_and(|(_, end)| end <= time),
    })
}

/// The task that makes what is needed, and when it ends.
fn maker(timeline: &Timeline, on: Rank, need: Need) -> Option<(Task, f64)> {
    let makes = |task: &Task| {
        let is_kind = match need.made {
            Made::Activation => task.kind == Kind::Forward,
            Made::Gradient => matches!(task.kind, Kind::Backward | Kind::InputGradient),
        };
        is_kind && (task.stage, task.micro_batch) == (need.stage, need.micro_batch)
    };
    let lane = timeline.lanes().get(on)?;
    lane.iter().find_map(|i| Some((i.slot.tasks().find(makes)?, i.end)))
}

/// `backward of micro-batch 3`; with `stage`, of which stage: `stage 2, backward of micro-batch 3`.
pub fn words(task: Task, with_stage: bool) -> String {
    let Task { stage, kind, micro_batch } = task;
    let stage = if with_stage { format!("stage {}, ", stage.0) } else { String::new() };
    format!("{stage}{} of micro-batch {}", kind.name(), micro_batch.0)
}

impl Doing {
    /// What is done, as a clause: `forward of micro-batch 3`, or `waits for …`. A study's ranks are
    /// its cells.
    pub fn words(&self, with_stage: bool) -> String {
        let all = |slot: Slot| {
            slot.tasks().map(|t| words(t, with_stage)).collect::<Vec<_>>().join(" and ")
        };
        match self {
            Self::Works(interval) => all(interval.slot),
            Self::Done => "has done all of its tasks".to_owned(),
            Self::Waits(Wait { next, need, by, on, is_on_its_way, .. }) => {
                let made = match need.made {
                    Made::Activation => "activations",
                    Made::Gradient => "gradient",
                };
                let on = on.index();
                let from = match by {
                    Some(_) if *is_on_its_way => format!("the {made} on the way from cell {on}"),
                    Some(task) => format!("cell {on} to do the {}", words(*task, with_stage)),
                    None => format!("the {made} of cell {on}"),
                };
                format!("waits for {from}; next: {}", all(*next))
            }
        }
    }
}

/// Every time at which something begins or ends, in order.
pub fn times(timeline: &Timeline) -> Vec<f64> {
    let mut times: Vec<f64> = timeline.intervals().flat_map(|(_, i)| [i.start, i.end]).collect();
    times.sort_by(f64::total_cmp);
    let near = 1e-9 * timeline.makespan();
    times.dedup_by(|a, b| (*a - *b).abs() <= near);
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::order::Extent;
    use crate::pipeline::schedule::Schedule;
    use crate::pipeline::simulate::{Costs, StageCosts, simulate};

    fn said(hop: f64, time: f64) -> Vec<String> {
        let order = Schedule::GPipe.order(Extent::new(2, 2)).unwrap();
        let costs = Costs { hop, ..Costs::uniform(StageCosts::UNIT, &order) };
        let timeline = simulate(&order, &costs).unwrap();
        moment(&order, &timeline, costs.when, time).iter().map(|d| d.words(false)).collect()
    }

    #[test]
    fn every_rank_says_what_it_does_or_waits_for() {
        let first = [
            "forward of micro-batch 0",
            "waits for cell 0 to do the forward of micro-batch 0; next: forward of micro-batch 0",
        ];
        assert_eq!(said(0.0, 0.0), first);
        let waits = [
            "waits for cell 1 to do the backward of micro-batch 1; next: backward of micro-batch 1",
            "forward of micro-batch 1",
        ];
        assert_eq!(said(0.0, 2.0), waits);
        assert_eq!(said(0.0, 9.0), ["has done all of its tasks"; 2]);
    }

    #[test]
    fn what_is_made_may_still_be_on_its_way() {
        let said = said(0.5, 1.25);
        assert!(
            said[1].starts_with("waits for the activations on the way from cell 0"),
            "{said:?}"
        );
    }

    #[test]
    fn times_are_those_at_which_something_changes() {
        let order = Schedule::GPipe.order(Extent::new(2, 2)).unwrap();
        let timeline = simulate(&order, &Costs::uniform(StageCosts::UNIT, &order)).unwrap();
        assert_eq!(times(&timeline), [0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    }
}
