//! What schedules refuse, and the nearest numbers that they take.

use meshwork_engine::pipeline::order::Extent;
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::pipeline::schedule::limit::{Limit, MOST_TASKS, Quantity};

fn limits(name: &str, ranks: u32, micro_batches: u32, chunks: u32) -> Vec<Limit> {
    let schedule = Schedule::named(name).unwrap();
    schedule.limits(Extent { ranks, micro_batches, chunks })
}

#[test]
fn each_limit_says_what_is_wrong_and_what_would_work() {
    let cases: [(&str, [u32; 3], Quantity, &[u32]); 14] = [
        ("gpipe", [2, 4, 2], Quantity::Chunks, &[1]),
        ("1f1b", [4, 2, 1], Quantity::MicroBatches, &[4]),
        ("1f1b", [2, 4, 3], Quantity::Chunks, &[1]),
        ("interleaved", [2, 5, 2], Quantity::MicroBatches, &[4, 6]),
        ("interleaved", [4, 13, 2], Quantity::MicroBatches, &[12, 15]),
        ("zb_h1", [4, 2, 1], Quantity::MicroBatches, &[4]),
        ("zb_h1", [2, 5, 2], Quantity::MicroBatches, &[4, 6]),
        ("zb_2p", [2, 4, 2], Quantity::Chunks, &[1]),
        ("zb_v", [2, 4, 1], Quantity::Chunks, &[2]),
        ("dualpipe", [3, 8, 1], Quantity::Ranks, &[2, 4]),
        ("dualpipe", [4, 9, 1], Quantity::MicroBatches, &[8, 10]),
        ("dualpipe", [4, 5, 1], Quantity::MicroBatches, &[8]),
        ("dualpipe_v", [4, 7, 2], Quantity::MicroBatches, &[8]),
        ("dualpipe_v", [4, 8, 4], Quantity::Chunks, &[2]),
    ];
    for (name, [ranks, micro_batches, chunks], what, nearest) in cases {
        let found = limits(name, ranks, micro_batches, chunks);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert_eq!((found[0].what, found[0].nearest.as_slice()), (what, nearest), "{name}");
        for n in nearest {
            let mut extent = Extent { ranks, micro_batches, chunks };
            match what {
                Quantity::Ranks => extent.ranks = *n,
                Quantity::MicroBatches => extent.micro_batches = *n,
                Quantity::Chunks => extent.chunks = *n,
            }
            assert!(Schedule::named(name).unwrap().order(extent).is_ok(), "{name} {extent:?}");
        }
    }
}

#[test]
fn several_at_once_and_in_words() {
    let found = limits("dualpipe", 3, 5, 2);
    let text: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "it takes exactly 1 chunk, not 2: a cell holds one stage of each way",
            "the number of cells is 3, not an even number, at least 2: \
             the two ways meet between two cells",
            "the number of micro-batches is 5, not an even number, at least 6: \
             half of them go each way, and each half must fill the pipeline",
        ]
    );
}

#[test]
fn nothing_and_too_much() {
    for schedule in Schedule::ALL {
        let none = schedule.limits(Extent { ranks: 0, micro_batches: 0, chunks: 0 });
        assert_eq!(none.len(), 3);
        assert!(none.iter().all(|limit| limit.nearest == [1]));
        for huge in [1 << 19, u32::MAX] {
            let much = schedule.limits(Extent::new(2, huge));
            assert_eq!(much[0].nearest, [u32::try_from(MOST_TASKS / 2).unwrap()]);
            let wide = Extent { ranks: huge, micro_batches: huge, chunks: huge };
            assert!(!schedule.limits(wide).is_empty());
        }
    }
}

#[test]
fn names_go_both_ways() {
    for schedule in Schedule::ALL {
        assert_eq!(Schedule::named(schedule.name()), Some(schedule));
        assert!(!schedule.sentence().is_empty() && !schedule.source().is_empty());
    }
    assert_eq!(Schedule::named("gpipe_lifo"), Some(Schedule::GPipe));
    assert_eq!(Schedule::named("interleaved_1f1b"), Some(Schedule::Interleaved));
    assert_eq!(Schedule::named("2f2b"), None);
}

/// The reference lists every schedule, under all its names.
#[test]
fn the_reference_names_every_schedule() {
    let reference = include_str!("../../../docs/language.md");
    let start = reference.find("| `schedule` | also |").unwrap();
    let rows = reference[start..].lines().skip(2).take_while(|line| line.starts_with('|'));
    let listed = rows.map(|row| {
        let mut cells = row.split('|').skip(1).map(|cell| cell.trim().trim_matches('`'));
        let schedule = Schedule::named(cells.next().unwrap()).unwrap();
        for also in cells.next().into_iter().filter(|also| !also.is_empty()) {
            assert_eq!(Schedule::named(also), Some(schedule), "{row}");
        }
        schedule
    });
    assert_eq!(listed.collect::<Vec<_>>(), Schedule::ALL);
}
