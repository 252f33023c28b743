//! Exact partitions against brute force and against the heuristics of torchgpipe and lingvo.

use crate::common::{close, facts, numbers};
use meshwork_engine::pipeline::partition::{NoPartition, Partition};
use proptest::prelude::*;

/// torchgpipe's `blockpartition.solve` as its documentation describes it: items move from block to
/// block until the heaviest is within one (normalised) item of the lightest.
fn torchgpipe(costs: &[u64], cells: usize) -> Vec<usize> {
    let least = costs.iter().copied().min().unwrap();
    let width = costs.iter().copied().max().unwrap() - least;
    let normal = |cost: &u64| if width > 0 { (cost - least) as f64 / width as f64 } else { 0.0 };
    let costs: Vec<f64> = costs.iter().map(normal).collect();
    let mut ends: Vec<usize> = (1..=cells).map(|c| costs.len() / cells * c).collect();
    ends[cells - 1] = costs.len();
    let sum = |ends: &[usize], cell: usize| {
        let start = if cell == 0 { 0 } else { ends[cell - 1] };
        costs[start..ends[cell]].iter().sum::<f64>()
    };
    loop {
        let heaviest = (0..cells).max_by(|a, b| sum(&ends, *a).total_cmp(&sum(&ends, *b))).unwrap();
        loop {
            let lightest =
                (0..cells).min_by(|a, b| sum(&ends, *a).total_cmp(&sum(&ends, *b))).unwrap();
            if sum(&ends, heaviest) <= sum(&ends, lightest) + 1.0 {
                return ends;
            }
            let taken_from = if heaviest < lightest {
                ends[lightest - 1] -= 1;
                lightest - 1
            } else {
                ends[lightest] += 1;
                lightest + 1
            };
            if taken_from == heaviest {
                break;
            }
        }
    }
}

/// lingvo's histogram: stage(i) = min(⌊K·h/H⌋, K−1) of the cumulative cost h.
fn lingvo(costs: &[u64], cells: usize) -> Vec<u64> {
    let (total, cells) = (costs.iter().sum::<u64>(), cells as u64);
    let mut sum = 0;
    costs
        .iter()
        .map(|cost| {
            sum += cost;
            (cells * sum / total).min(cells - 1)
        })
        .collect()
}

/// Every partition, best first: largest sum, sum of squares, boundaries.
fn brute(costs: &[u64], cells: usize) -> (u64, u64, Vec<usize>) {
    let squares = |sums: &[u64]| sums.iter().map(|sum| sum * sum).sum::<u64>();
    if cells == 1 {
        let sum: u64 = costs.iter().sum();
        return (sum, squares(&[sum]), vec![]);
    }
    let rest = |first: usize| {
        // all of them, not the best of the rest: the best whole need not have the best part
        let mut all = Vec::new();
        parts(&costs[first..], cells - 1, &mut vec![], &mut all);
        all.into_iter().map(move |ends| {
            [first].into_iter().chain(ends.into_iter().map(|end| end + first)).collect::<Vec<_>>()
        })
    };
    let score = |ends: Vec<usize>| {
        let bounds: Vec<usize> =
            [0].into_iter().chain(ends.iter().copied()).chain([costs.len()]).collect();
        let sums: Vec<u64> =
            bounds.windows(2).map(|w| costs[w[0]..w[1]].iter().sum::<u64>()).collect();
        (sums.iter().copied().max().unwrap(), squares(&sums), ends)
    };
    (1..=costs.len() + 1 - cells).flat_map(rest).map(score).min().unwrap()
}

fn parts(costs: &[u64], cells: usize, so_far: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    if cells == 1 {
        all.push(so_far.clone());
        return;
    }
    let start = so_far.last().copied().unwrap_or(0);
    for end in start + 1..=costs.len() + 1 - cells {
        so_far.push(end);
        parts(costs, cells - 1, so_far, all);
        so_far.pop();
    }
}

fn sizes(partition: &Partition) -> Vec<u64> {
    partition.blocks().map(|block| block.len() as u64).collect()
}

fn whole(value: &serde_json::Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
}

#[test]
fn golden_partitions() {
    for row in facts("partition")["exact"].as_array().unwrap() {
        let (costs, floats) = (whole(&row["costs"]), numbers(&row["costs"]));
        let cells = row["cells"].as_u64().unwrap() as usize;
        let partition = Partition::exact(&costs, cells).unwrap();
        let balance = partition.balance(&floats);
        assert_eq!(Some(balance.largest), row["largest"].as_f64(), "{row}");
        if let Some(variance) = row["variance"].as_f64() {
            assert!(close(balance.variance, variance), "{row}");
        }
        if row["sizes"].is_array() {
            assert_eq!(sizes(&partition), whole(&row["sizes"]), "{row}");
        }
        assert_eq!(Partition::of_costs(&floats, cells).unwrap(), partition, "{row}");
        if row["torchgpipe"].is_array() {
            let ends = torchgpipe(&costs, cells);
            let by_hand = Partition::by_hand(&ends[..cells - 1], costs.len()).unwrap();
            assert_eq!(sizes(&by_hand), whole(&row["torchgpipe"]), "{row}");
            assert!(balance.largest <= by_hand.balance(&floats).largest, "{row}");
        }
    }
}

#[test]
fn golden_histograms() {
    for row in facts("partition")["lingvo"].as_array().unwrap() {
        let cells = row["cells"].as_u64().unwrap() as usize;
        assert_eq!(lingvo(&whole(&row["costs"]), cells), whole(&row["stages"]), "{row}");
    }
}

#[test]
fn ties_take_the_earliest_boundaries() {
    let partition = Partition::exact(&[1; 8], 3).unwrap();
    assert_eq!(partition.boundaries(), [2, 5]);
    // a tenth is no binary fraction: sums of equal costs must be equal all the same
    assert_eq!(Partition::of_costs(&[0.1; 8], 3).unwrap(), partition);
}

#[test]
fn impossible_partitions_say_what_is_possible() {
    assert_eq!(Partition::exact(&[42], 0), Err(NoPartition::NoCells));
    assert_eq!(Partition::exact(&[], 1), Err(NoPartition::Nothing));
    let too_many = NoPartition::TooManyCells { cells: 2, items: 1 };
    assert_eq!(Partition::exact(&[42], 2), Err(too_many));
    let wrong = NoPartition::Cost { item: 1, cost: -1.0 };
    assert_eq!(Partition::of_costs(&[1.0, -1.0], 1), Err(wrong));
    assert!(Partition::of_costs(&[1.0, f64::NAN], 1).is_err());
}

#[test]
fn boundaries_are_moved_by_hand() {
    let costs = [8.0, 1.0, 1.0, 1.0, 1.0];
    let partition = Partition::by_hand(&[2], 5).unwrap();
    let balance = partition.balance(&costs);
    assert_eq!((balance.sums, balance.largest, balance.variance), (vec![9.0, 3.0], 9.0, 9.0));
    let moved = partition.moved(0, 1).unwrap();
    assert_eq!(moved, Partition::of_costs(&costs, 2).unwrap());
    assert_eq!([0, 1, 4].map(|item| moved.cell(item)), [0, 1, 1]);
    let three = Partition::by_hand(&[1, 3], 5).unwrap();
    for (given, nearest) in [(0, 2), (1, 2), (5, 4), (9, 4)] {
        let error = NoPartition::Boundary { boundary: 1, given, nearest };
        assert_eq!(three.moved(1, given), Err(error));
    }
    assert!(three.moved(7, 2).is_err());
    let error = NoPartition::Boundary { boundary: 1, given: 1, nearest: 2 };
    assert_eq!(Partition::by_hand(&[1, 1], 5), Err(error));
    let error = NoPartition::Boundary { boundary: 0, given: 4, nearest: 3 };
    assert_eq!(Partition::by_hand(&[4, 4], 5), Err(error));
    assert!(Partition::by_hand(&[1, 2, 3], 3).is_err());
}

#[test]
fn very_large_and_very_many_costs() {
    let partition = Partition::exact(&[u64::MAX; 7], 3).unwrap();
    assert_eq!(sizes(&partition), [2, 2, 3]);
    let partition = Partition::of_costs(&[f64::MAX, 1e300, f64::MAX], 2).unwrap();
    assert_eq!(partition.boundaries(), [1]);
    assert_eq!(sizes(&Partition::of_costs(&[0.0; 4], 3).unwrap()), [1, 1, 2]);
    let costs: Vec<u64> = (0..2000).map(|i| 1000 + i * 7919 % 101).collect();
    let partition = Partition::exact(&costs, 64).unwrap();
    let floats: Vec<f64> = costs.iter().map(|cost| *cost as f64).collect();
    let balance = partition.balance(&floats);
    assert!(balance.largest < 1.05 * floats.iter().sum::<f64>() / 64.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn exact_is_exact(costs in prop::collection::vec(0_u64..12, 1..10), cells in 1_usize..6) {
        prop_assume!(cells <= costs.len());
        let partition = Partition::exact(&costs, cells).unwrap();
        let (_, _, boundaries) = brute(&costs, cells);
        prop_assert_eq!(partition.boundaries(), boundaries.as_slice());
        let floats = |unit: f64| costs.iter().map(|c| *c as f64 * unit).collect::<Vec<f64>>();
        prop_assert_eq!(&Partition::of_costs(&floats(0.125), cells).unwrap(), &partition);
        // thousandths are no binary fractions: as good, but ties may fall otherwise
        let thousandths = floats(1e-3);
        let of_floats = Partition::of_costs(&thousandths, cells).unwrap().balance(&thousandths);
        let expected = partition.balance(&thousandths);
        prop_assert!(close(of_floats.largest, expected.largest));
        prop_assert!(close(of_floats.variance * 1e6, expected.variance * 1e6));
    }

    #[test]
    fn heuristics_are_never_better(
        costs in prop::collection::vec(1_u64..50, 4..40),
        cells in 1_usize..5,
    ) {
        let floats: Vec<f64> = costs.iter().map(|cost| *cost as f64).collect();
        let largest = |stages: &[u64]| {
            let sum = |cell: u64| {
                let own = stages.iter().zip(&costs).filter(|(stage, _)| **stage == cell);
                own.map(|(_, cost)| cost).sum::<u64>()
            };
            (0..cells as u64).map(sum).max().unwrap() as f64
        };
        let exact = Partition::exact(&costs, cells).unwrap().balance(&floats).largest;
        prop_assert!(exact <= largest(&lingvo(&costs, cells)));
        let ends = torchgpipe(&costs, cells);
        let stage = |item: usize| ends.partition_point(|end| *end <= item) as u64;
        let stages: Vec<u64> = (0..costs.len()).map(stage).collect();
        prop_assert!(exact <= largest(&stages));
    }
}
