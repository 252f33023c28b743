//! Pictures of timelines, and the same timelines as Chrome traces.

use crate::golden::{check, check_in};
use crate::laws::check_scene;
use meshwork_engine::cost::held::Held;
use meshwork_engine::export::trace::chrome_trace;
use meshwork_engine::index::{IdVec, Pnum};
use meshwork_engine::picture::scene::Scene;
use meshwork_engine::picture::svg::Colours;
use meshwork_engine::picture::timeline::{Lanes, View, measured, scene};
use meshwork_engine::pipeline::order::{Extent, Order};
use meshwork_engine::pipeline::recompute::{Remat, recompute};
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::pipeline::simulate::{Costs, StageCosts, simulate};
use meshwork_engine::timeline::Timeline;
use proptest::prelude::*;
use serde_json::Value;

fn order(name: &str, ranks: u32, micro_batches: u32) -> Order {
    let schedule = Schedule::named(name).unwrap();
    let extent = Extent::new(ranks, micro_batches).chunks(schedule.default_chunks());
    schedule.order(extent).unwrap()
}

fn unit(order: &Order) -> Timeline {
    simulate(order, &Costs::uniform(StageCosts::UNIT, order)).unwrap()
}

fn view(title: &str) -> View {
    View { title: title.to_owned(), ..View::default() }
}

fn picture(name: &str, ranks: u32, micro_batches: u32) -> Scene {
    let title = format!("{name}, {ranks} ranks, {micro_batches} micro-batches");
    scene(&unit(&order(name, ranks, micro_batches)), &view(&title))
}

#[test]
fn schedules_as_pictures() {
    check("timeline-gpipe.svg", &picture("gpipe", 4, 4));
    check("timeline-1f1b.svg", &picture("1f1b", 4, 8));
    check("timeline-interleaved.svg", &picture("interleaved", 2, 4));
    check_in(Colours::Dark, "timeline-zb-v-dark.svg", &picture("zb_v", 4, 8));
    check("timeline-dualpipe.svg", &picture("dualpipe", 4, 8));
    check("timeline-long.svg", &picture("1f1b", 3, 48));
}

#[test]
fn recomputation_and_units() {
    let order = recompute(&order("gpipe", 3, 3), Remat::ExceptLast);
    let costs = Costs { hop: 0.002, ..Costs::weighted(StageCosts::UNIT, [0.01, 0.02, 0.01]) };
    let timeline = simulate(&order, &costs).unwrap();
    let pnums: IdVec<_, _> = (0..3).map(|rank| vec![Pnum(2 * rank), Pnum(2 * rank + 1)]).collect();
    let view = View { unit: "s".to_owned(), pnums, ..view("gpipe, activations computed again") };
    let scene = scene(&timeline, &view);
    check("timeline-recompute.svg", &scene);
    assert!(scene.marks.iter().any(|mark| mark.pnums == [Pnum(4), Pnum(5)]));
}

#[test]
fn the_twin_says_the_same() {
    let scene = picture("gpipe", 2, 2);
    assert_eq!(
        scene.description,
        "2 ranks, from the first task to the last 9. Ranks idle 33.3 % of it, which is 50 % of \
         the time without idling; the longest span of one rank is 9."
    );
    let last = ["1", "wait 1 1F0 1F1 1B1 1B0", "6", "3"];
    assert_eq!(scene.table.rows[1], last);
    let many = picture("1f1b", 24, 96);
    assert!(many.description.contains("is not drawn. Of the 24 ranks, 0–14 and 23 are drawn."));
}

/// What each cell holds stands below, on the same axis; a room is filled as far as tasks allow.
#[test]
fn memory_stands_on_the_axis_of_the_timeline() {
    let timeline = unit(&order("gpipe", 2, 4));
    let curve = |bytes: [u64; 4]| {
        let times = [0.0, 2.0, 6.0, 12.0];
        times.into_iter().zip(bytes).map(|(time, bytes)| Held { time, bytes }).collect::<Vec<_>>()
    };
    let held = [curve([1024, 3072, 1536, 1024]), curve([512, 512, 1 << 12, 512])];
    let view = View {
        lanes: Lanes::Cells,
        held: held.into_iter().collect(),
        room: Some(600.0),
        ..view("gpipe, 2 cells, 4 micro-batches")
    };
    let (scene, ruler) = measured(&timeline, &view);
    check("timeline-memory.svg", &scene);
    check_scene(&scene).unwrap();
    assert!((560.0..=600.0).contains(&scene.width), "{}", scene.width);
    for time in [0.0, 2.5, timeline.end()] {
        assert!((ruler.time(ruler.place(time)) - time).abs() < 1e-9);
    }
    assert_eq!(scene.table.head[4..], ["holds at first", "holds at most"]);
    assert_eq!(scene.table.rows[1][4..], ["512 B", "4 KiB at 6"]);
    assert!(scene.description.starts_with("2 cells, from the first task"));
}

/// Times that are not drawn stand in the gap.
#[test]
fn the_ruler_knows_the_gap() {
    let timeline = unit(&order("1f1b", 3, 48));
    let (scene, ruler) = measured(&timeline, &view("long"));
    let places: Vec<f64> =
        (0..=100).map(|i| ruler.place(timeline.end() * f64::from(i) / 100.0)).collect();
    assert!(places.windows(2).all(|w| w[0] <= w[1]), "{places:?}");
    assert!(places.iter().all(|place| (0.0..=scene.width).contains(place)));
}

#[test]
fn nothing_is_a_picture_too() {
    check_scene(&scene(&Timeline::default(), &view("nothing"))).unwrap();
}

#[test]
fn traces_open_elsewhere() {
    let timeline = unit(&order("dualpipe", 2, 4));
    let text = chrome_trace(&timeline, "a \"study\"\n", 1e6);
    let trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events[0]["args"]["name"], "a \"study\"\n");
    let of = |kind: &str| events.iter().filter(|event| event["ph"] == kind).collect::<Vec<_>>();
    assert_eq!((of("M").len(), of("X").len()), (5, 18));
    let first = of("X")[0];
    assert_eq!((&first["name"], &first["cat"]), (&"0F0".into(), &"forward".into()));
    let busy: f64 = of("X")
        .iter()
        .filter(|event| event["tid"] == 0 && event["name"] != "0B0")
        .map(|event| event["dur"].as_f64().unwrap())
        .sum();
    assert!((busy - 12e6).abs() < 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_timeline_is_drawn(
        schedule in prop::sample::select(Schedule::ALL.to_vec()),
        ranks in prop_oneof![4 => 1..=6_u32, 1 => 7..=40_u32],
        micro_batches in prop_oneof![4 => 1..=16_u32, 1 => 17..=70_u32],
        weights in prop::collection::vec(0.01..20.0_f64, 1..8),
        hop in 0.0..2.0_f64,
    ) {
        let extent = Extent::new(ranks, micro_batches).chunks(schedule.default_chunks());
        let Ok(order) = schedule.order(extent) else { return Ok(()) };
        let order = recompute(&order, Remat::ExceptLast);
        let weights = weights.iter().copied().cycle().take(extent.stages() as usize);
        let costs = Costs { hop, ..Costs::weighted(StageCosts::UNIT, weights) };
        let timeline = simulate(&order, &costs).unwrap();
        check_scene(&scene(&timeline, &view("some")))?;
        serde_json::from_str::<Value>(&chrome_trace(&timeline, "some", 1.0)).unwrap();
    }
}
