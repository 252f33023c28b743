//! Tables of golden facts: cycles, recomputation, makespans, hops, uneven stages, orders.

use crate::common::{close, count, counts, facts, idle, numbers, order, rows, unit};
use meshwork_engine::index::Rank;
use meshwork_engine::pipeline::clock::{cycles, forward_cycles};
use meshwork_engine::pipeline::needs::When;
use meshwork_engine::pipeline::order::Extent;
use meshwork_engine::pipeline::peak::{Freed, peaks};
use meshwork_engine::pipeline::recompute::{Remat, recompute};
use meshwork_engine::pipeline::schedule::{Schedule, interleaved};
use meshwork_engine::pipeline::simulate::{Costs, StageCosts, simulate};
use meshwork_engine::pipeline::validate::validate;
use meshwork_engine::timeline::{Kind, Slot};

#[test]
fn cycles_are_those_of_torchgpipe() {
    for row in rows("cycles") {
        let (micro_batches, ranks) = (count(&row[0]), count(&row[1]));
        let made = forward_cycles(&order("gpipe", ranks, micro_batches)).unwrap();
        let expected: Vec<Vec<(u32, u32)>> = row[2]
            .as_array()
            .unwrap()
            .iter()
            .map(|cycle| {
                let pairs = cycle.as_array().unwrap();
                pairs.iter().map(|pair| (count(&pair[0]), count(&pair[1]))).collect()
            })
            .collect();
        let made: Vec<Vec<(u32, u32)>> = made
            .iter()
            .map(|cycle| cycle.iter().map(|t| (t.micro_batch.0, t.stage.0)).collect())
            .collect();
        assert_eq!(made, expected, "{micro_batches} micro-batches, {ranks} ranks");
    }
}

#[test]
fn whole_orders_have_cycles_too() {
    let table = cycles(&order("1f1b", 2, 2)).unwrap();
    let text: Vec<String> = table
        .iter()
        .map(|cycle| cycle.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(text, ["0F0", "0F1 1F0", "1B0", "0B0 1F1", "1B1", "0B1"]);
}

#[test]
fn recomputation_early_and_late() {
    for row in rows("recompute") {
        let expected = numbers(&row);
        let gpipe = order("gpipe", expected[0] as u32, expected[1] as u32);
        let makespan = |remat, when| {
            let order = recompute(&gpipe, remat);
            assert_eq!(validate(&order), Ok(()));
            let costs = Costs { when, ..Costs::uniform(StageCosts::UNIT, &order) };
            simulate(&order, &costs).unwrap()
        };
        let cases = [
            (Remat::Never, When::Early),
            (Remat::ExceptLast, When::Early),
            (Remat::ExceptLast, When::Late),
            (Remat::Always, When::Early),
            (Remat::Always, When::Late),
        ];
        for ((remat, when), expected) in cases.into_iter().zip(&expected[2..7]) {
            assert_eq!(makespan(remat, when).makespan(), *expected, "{row} {remat:?} {when:?}");
        }
        for (when, expected) in [(When::Early, expected[7]), (When::Late, expected[8])] {
            let most = idle(&makespan(Remat::Always, when)).into_iter().fold(0.0, f64::max);
            assert_eq!(most, expected, "{row}");
        }
    }
}

#[test]
fn how_often_is_recomputed() {
    let gpipe = order("gpipe", 1, 2);
    let often = |remat| {
        let order = recompute(&gpipe, remat);
        order.tasks().filter(|(_, task)| task.kind == Kind::Recompute).count()
    };
    assert_eq!([Remat::Always, Remat::ExceptLast, Remat::Never].map(often), [2, 1, 0]);
    let both = recompute(&order("dualpipe", 2, 4), Remat::ExceptLast);
    assert!(both.text()[0].ends_with("0Fa1 1Rb0 1Bb0 0Ra0 (1Fb1;0Ba0) 1Bb1 0Ia1 0Wa1"));
}

#[test]
fn makespans_idle_times_and_peaks() {
    for row in rows("makespans") {
        let name = row["schedule"].as_str().unwrap();
        let order = order(name, count(&row["ranks"]), count(&row["micro_batches"]));
        let timeline = unit(&order);
        assert!(close(timeline.makespan(), row["makespan"].as_f64().unwrap()), "{row}");
        if let Some(span) = row["span"].as_f64() {
            assert_eq!(timeline.stage_span(), span, "{row}");
        }
        if let Some(expected) = row["idle"].as_f64() {
            assert!(idle(&timeline).iter().all(|rank| close(*rank, expected)), "{row}");
        }
        if row["peaks"].is_array() {
            let made: Vec<u32> = peaks(&order, Freed::AtWeightGradient).iter().copied().collect();
            assert_eq!(made, counts(&row["peaks"]), "{row}");
        }
    }
}

#[test]
fn overlapped_pairs_of_dualpipe() {
    for row in rows("dualpipe") {
        let order = order("dualpipe", count(&row["ranks"]), count(&row["micro_batches"]));
        for (overlap, i) in [(0.0, 0), (1.0, 1), (0.5, 2)] {
            let Some(makespan) = row["makespans"][i].as_f64() else { continue };
            let costs = Costs { overlap, ..Costs::uniform(StageCosts::UNIT, &order) };
            let timeline = simulate(&order, &costs).unwrap();
            assert_eq!(timeline.makespan(), makespan, "{row}");
            let most = idle(&timeline).into_iter().fold(0.0, f64::max);
            assert_eq!(most, row["idle"][i].as_f64().unwrap(), "{row}");
        }
        let most = peaks(&order, Freed::AtWeightGradient).iter().copied().max();
        assert_eq!(most, Some(count(&row["peak"])), "{row}");
    }
}

fn named(section: &str) -> Vec<String> {
    let names = facts(section)["schedules"].take();
    names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn hops_cost_time() {
    for row in rows("hops") {
        let (ranks, micro_batches) = (count(&row[0]), count(&row[1]));
        for (name, i) in named("hops").iter().zip(3..) {
            let Some(makespan) = row[i].as_f64() else { continue };
            let order = order(name, ranks, micro_batches);
            let hop = row[2].as_f64().unwrap();
            let costs = Costs { hop, ..Costs::uniform(StageCosts::UNIT, &order) };
            assert_eq!(simulate(&order, &costs).unwrap().makespan(), makespan, "{name} {row}");
        }
    }
}

#[test]
fn uneven_stages() {
    for row in rows("unbalanced") {
        let weights = numbers(&row[0]);
        let heaviest = weights.iter().copied().fold(0.0, f64::max);
        for (name, i) in named("unbalanced").iter().zip(1..) {
            let order = order(name, weights.len() as u32, 4);
            let costs = Costs::weighted(StageCosts::UNIT, weights.iter().copied());
            let makespan = simulate(&order, &costs).unwrap().makespan();
            assert_eq!(Some(makespan), row[i].as_f64(), "{name} {row}");
            assert!(makespan >= 3.0 * 4.0 * heaviest);
        }
    }
}

#[test]
fn orders_from_elsewhere() {
    for row in rows("orders") {
        let schedule = Schedule::named(row["schedule"].as_str().unwrap()).unwrap();
        let extent = Extent::new(count(&row["ranks"]), count(&row["micro_batches"]));
        let order = schedule.order(extent.chunks(count(&row["chunks"]))).unwrap();
        let text = order.text();
        for (rank, line) in row["order"].as_object().unwrap() {
            let rank: usize = rank.parse().unwrap();
            assert_eq!(Some(text[rank].as_str()), line.as_str(), "{}", row["source"]);
        }
    }
}

#[test]
fn megatrons_groups() {
    let golden = facts("groups");
    let order = interleaved::grouped(Extent::new(2, 5).chunks(2), 3).unwrap();
    assert_eq!(validate(&order), Ok(()));
    let first: Vec<_> = order.ranks()[Rank(0)].iter().flat_map(|slot| slot.tasks()).collect();
    let forwards = || first.iter().filter(|task| task.kind == Kind::Forward);
    let micro_batches: Vec<u32> = forwards().map(|task| task.micro_batch.0).collect();
    assert_eq!(micro_batches, counts(&golden["micro_batches"]));
    let chunks: Vec<u32> = forwards().map(|task| task.stage.0 / 2).collect();
    assert_eq!(chunks, counts(&golden["chunks"]));
    let signed = |slot: &Slot| match *slot {
        Slot::One(task) => {
            let chunk = f64::from(task.stage.0 / 2 + 1);
            if task.kind == Kind::Forward { chunk } else { -chunk }
        }
        Slot::Pair(..) => panic!("no pairs here"),
    };
    let signed: Vec<f64> = order.ranks()[Rank(0)].iter().map(signed).collect();
    assert_eq!(signed, numbers(&golden["signed"]));
}

#[test]
fn a_group_fills_the_pipeline() {
    let extent = Extent::new(4, 11).chunks(2);
    let nearest = |group| interleaved::grouped(extent, group).map_err(|limit| limit.nearest);
    assert_eq!(nearest(3), Err(vec![6]));
    assert_eq!(nearest(8), Err(vec![7, 11]));
    assert!([6, 7, 11].iter().all(|group| nearest(*group).is_ok()));
}
