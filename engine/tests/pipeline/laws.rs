//! What holds for every schedule at every size within its limits: all K ≤ 8, M ≤ 32.

use crate::common::{close, unit};
use meshwork_engine::index::Rank;
use meshwork_engine::pipeline::order::{Extent, Order};
use meshwork_engine::pipeline::peak::{Freed, peaks};
use meshwork_engine::pipeline::recompute::{Remat, recompute};
use meshwork_engine::pipeline::schedule::{Schedule, interleaved};
use meshwork_engine::pipeline::validate::validate;

/// Every order of a schedule with at most 8 ranks, 32 micro-batches and 3 chunks.
fn every(schedule: Schedule, mut check: impl FnMut(&Order)) -> usize {
    let mut legal = 0;
    for ranks in 1..=8 {
        for micro_batches in 1..=32 {
            for chunks in 1..=3 {
                let extent = Extent { ranks, micro_batches, chunks };
                if let Ok(order) = schedule.order(extent) {
                    check(&order);
                    legal += 1;
                }
            }
        }
    }
    legal
}

#[test]
fn every_order_keeps_the_rules() {
    for schedule in Schedule::ALL {
        let legal = every(schedule, |order| {
            assert_eq!(validate(order), Ok(()), "{} {:?}", schedule.name(), order.extent());
        });
        assert!(legal > 20, "{}", schedule.name());
    }
}

#[test]
fn orders_with_recomputation_keep_them_too() {
    for schedule in Schedule::ALL {
        for micro_batches in [4, 8, 12] {
            let extent = Extent::new(4, micro_batches).chunks(schedule.default_chunks());
            let Ok(order) = schedule.order(extent) else { continue };
            for (remat, _) in Remat::ALL {
                assert_eq!(validate(&recompute(&order, remat)), Ok(()), "{}", schedule.name());
            }
        }
    }
}

#[test]
fn every_group_of_megatron_keeps_the_rules() {
    for ranks in 1..=5 {
        for micro_batches in 1..=14 {
            for group in 1..=micro_batches {
                let extent = Extent::new(ranks, micro_batches).chunks(2);
                if let Ok(order) = interleaved::grouped(extent, group) {
                    assert_eq!(validate(&order), Ok(()), "{extent:?} {group}");
                }
            }
        }
    }
}

#[test]
fn closed_forms_of_gpipe_1f1b_and_zb_h1() {
    for schedule in [Schedule::GPipe, Schedule::GPipeFifo, Schedule::OneFOneB, Schedule::ZbH1] {
        every(schedule, |order| {
            let Extent { ranks, micro_batches, chunks } = order.extent();
            if chunks > 1 {
                return;
            }
            let (k, m) = (f64::from(ranks), f64::from(micro_batches));
            let idle = if schedule == Schedule::ZbH1 { k - 1.0 } else { 3.0 * (k - 1.0) };
            let timeline = unit(order);
            assert_eq!(timeline.makespan(), 3.0 * m + idle, "{:?}", order.extent());
            assert!(close(timeline.bubble_of_ideal(), idle / (3.0 * m)));
            assert!(close(timeline.bubble_of_makespan(), idle / (3.0 * m + idle)));
        });
    }
}

#[test]
fn interleaving_divides_the_bubble() {
    for schedule in [Schedule::Interleaved, Schedule::BreadthFirst] {
        every(schedule, |order| {
            let Extent { ranks, micro_batches, chunks } = order.extent();
            if micro_batches % ranks == 0 {
                let idle = 3.0 * f64::from(ranks - 1) / f64::from(chunks);
                let timeline = unit(order);
                assert!(close(timeline.idle(Rank(0)), idle), "{:?}", order.extent());
            }
        });
    }
}

#[test]
fn memory_of_1f1b_and_its_kin() {
    let most = |order: &Order| peaks(order, Freed::AtWeightGradient).iter().copied().max().unwrap();
    every(Schedule::OneFOneB, |order| {
        let Extent { ranks, .. } = order.extent();
        let expected: Vec<u32> = (0..ranks).map(|rank| ranks - rank).collect();
        let made = peaks(order, Freed::AtWeightGradient);
        assert_eq!(made.iter().copied().collect::<Vec<_>>(), expected);
    });
    every(Schedule::ZbH1, |order| {
        let Extent { ranks, chunks, .. } = order.extent();
        assert!(chunks > 1 || most(order) <= ranks, "{:?}", order.extent());
    });
    every(Schedule::Zb2p, |order| assert!(most(order) <= 2 * order.extent().ranks));
    for schedule in [Schedule::ZbV, Schedule::ZbVGreedy] {
        every(schedule, |order| assert!(most(order) <= 2 * order.extent().ranks));
    }
    every(Schedule::DualPipe, |order| assert_eq!(most(order), order.extent().ranks + 1));
    every(Schedule::DualPipeV, |order| assert_eq!(most(order), 2 * order.extent().ranks + 1));
}

#[test]
fn zero_bubble_within_a_rank() {
    let skews = [(Schedule::Zb2p, 1.0), (Schedule::ZbV, 0.5), (Schedule::ZbVGreedy, 0.5)];
    for (schedule, skew) in skews {
        every(schedule, |order| {
            let Extent { ranks, micro_batches, .. } = order.extent();
            if micro_batches >= 2 * ranks {
                let timeline = unit(order);
                let work = 3.0 * f64::from(micro_batches);
                assert_eq!(timeline.makespan(), work + skew * f64::from(ranks - 1));
                assert!(schedule != Schedule::Zb2p || timeline.stage_span() == work);
            }
        });
    }
}

#[test]
fn the_greedy_v_is_never_longer() {
    every(Schedule::ZbV, |order| {
        let greedy = Schedule::ZbVGreedy.order(order.extent()).unwrap();
        assert!(unit(&greedy).makespan() <= unit(order).makespan(), "{:?}", order.extent());
    });
}

#[test]
fn the_bubble_of_dualpipe() {
    every(Schedule::DualPipe, |order| {
        let Extent { ranks, micro_batches, .. } = order.extent();
        let idle = (f64::from(ranks) / 2.0 - 1.0) * (3.0 + 2.0 - 3.0);
        assert_eq!(unit(order).makespan(), 3.0 * f64::from(micro_batches) + idle);
    });
}
