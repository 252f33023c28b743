//! What a pipeline is said to cost: its bubble with other numbers is that of the study that has
//! them, its memory over time is the Tally's, and clicks change the text as they say.

use crate::common::{numbers, study};
use meshwork_engine::cost::held;
use meshwork_engine::index::{Rank, Stage};
use meshwork_engine::pipeline::recompute::Remat;
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::staging::change::{Change, costs_of, piped};
use meshwork_engine::study::Study;
use serde_json::Value;

const MLP: &str = "mlp batch:32 in:16 hidden:32 depth:11 out:8";

fn text(cells: u32, pipeline: &str) -> String {
    format!("mesh p:{cells}\nmodel {MLP}\ntrain optimizer:adam\npipeline over:p {pipeline}\n")
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn other_numbers_give_what_the_study_with_them_gives() {
    for options in ["schedule:gpipe", "schedule:1f1b remat:on hop:0.25", "schedule:zb_h1"] {
        let outlook = study(&text(3, &format!("micro_batches:4 {options}"))).outlook().unwrap();
        let real = |cells, micro: u32| {
            let text = text(cells, &format!("micro_batches:{micro} {options}"));
            study(&text).outlook().unwrap().figures()
        };
        let said = study(&text(3, &format!("cells:3 micro_batches:4 {options} balance:(5 4 4)")));
        assert_eq!(said.with_one_more_cell().unwrap().unwrap(), real(4, 4), "{options}");
        // twelve micro-batches of another size have the same bubble but for what adds up once
        let (enough, said) = (real(3, 12), outlook.with_enough().unwrap());
        assert_eq!(said.extent.micro_batches, 12);
        let apart = (said.bubble_of_ideal - enough.bubble_of_ideal).abs();
        assert!(apart < 0.02, "{options}: {said:?} {enough:?}");
    }
}

#[test]
fn one_more_cell_may_be_one_too_many() {
    let study = study(&text(4, "micro_batches:4 schedule:1f1b"));
    let why = study.with_one_more_cell().unwrap().unwrap_err();
    assert!(why.contains("at least 5 micro-batches"), "{why}");
}

#[test]
fn memory_over_time_is_the_tallys() {
    for schedule in Schedule::ALL {
        for remat in ["off", "on", "except_last"] {
            let options = format!("micro_batches:6 schedule:{} remat:{remat}", schedule.name());
            let study = study(&text(2, &options));
            let outlook = study.outlook().unwrap();
            let peaks: Vec<u64> = outlook.held.iter().map(|c| held::peak(c)).collect();
            let cells = &study.tally().unwrap().cells;
            assert_eq!(peaks, cells.iter().map(|c| c.peak).collect::<Vec<_>>(), "{options}");
            let end = outlook.timeline.end();
            for curve in &outlook.held {
                assert!(curve.windows(2).all(|w| w[0].time <= w[1].time), "{options}");
                assert!(curve.iter().all(|h| (0.0..=end).contains(&h.time)), "{options}");
            }
        }
    }
}

/// `GPipe` holds every micro-batch before the first backward; 1F1B only as many as there are cells
/// to go.
#[test]
fn memory_rises_while_micro_batches_are_under_way() {
    let outlook = study(&text(2, "micro_batches:8 schedule:gpipe")).outlook().unwrap();
    let curve = &outlook.held[Rank(1)];
    let turn = outlook.timeline.lanes()[Rank(1)][8].start;
    let at = |share: f64| held::at(curve, turn * share);
    assert!(at(0.3) < at(0.6) && at(0.6) < at(0.99), "{} {} {}", at(0.3), at(0.6), at(0.99));
    assert!(held::at(curve, outlook.timeline.end()) < at(0.99));
}

#[test]
fn stages_say_their_layers_and_costs() {
    let study = study(&text(3, "micro_batches:4 balance:(2 2 9)"));
    let outlook = study.outlook().unwrap();
    let layers: Vec<_> = outlook.stages.iter().map(|part| part.layers.clone()).collect();
    assert_eq!(layers, [0..2, 2..4, 4..outlook.layers().len()]);
    for part in &outlook.stages {
        let sum: f64 =
            outlook.layers().skip(part.layers.start).take(part.layers.len()).map(|l| l.1).sum();
        assert!(near(sum, part.cost), "{sum} {}", part.cost);
    }
    let busiest = outlook.timeline.busy(Rank(2)) / 4.0;
    assert!(near(busiest, outlook.stages[Stage(2)].cost));
}

#[test]
fn schedules_say_why_not() {
    let outlook = study(&text(4, "micro_batches:2")).outlook().unwrap();
    let why = |name: &str| {
        let schedule = Schedule::named(name).unwrap();
        outlook.choices().into_iter().find(|c| c.schedule == schedule).unwrap().why_not
    };
    assert_eq!(why("gpipe"), None);
    assert_eq!(
        why("1f1b").unwrap(),
        "It takes at least 4 micro-batches, not 2: with fewer than cells, some cells never reach \
         the steady state; nearest: 4 micro-batches."
    );
    assert_eq!(
        why("dualpipe").unwrap(),
        "The number of micro-batches is 2, not an even number, at least 8: half of them go each \
         way, and each half must fill the pipeline; nearest: 8 micro-batches."
    );
    // Of 21 rows nobody makes 8 micro-batches.
    let rows = "mesh p:2\nmodel mlp batch:21 depth:5\ntrain\npipeline over:p micro_batches:7\n";
    let choices = study(rows).outlook().unwrap().choices();
    let found = choices.into_iter().find(|c| c.schedule == Schedule::Interleaved);
    let why = found.unwrap().why_not.unwrap();
    assert!(why.ends_with("nearest: 6 micro-batches."), "{why}");
    let many = study(&text(8, "micro_batches:8")).outlook().unwrap();
    let found = many.choices().into_iter().find(|c| c.schedule == Schedule::Interleaved);
    let why = found.unwrap().why_not.unwrap();
    assert!(why.contains("cannot be cut into 16 stages"), "{why}");
}

#[test]
fn clicks_change_the_text_and_keep_the_rest() {
    let before = "mesh p:2 # cells\nmodel mlp batch:8 depth:5\ntrain\npipeline over:p \
                  balance:(2 5) micro_batches:4 # mine\n";
    let outlook = study(before).outlook().unwrap();
    let line = |change: Change| {
        let after = outlook.changed(before, &change);
        assert!(study(&after).outlook().is_some(), "{after}");
        after.lines().last().unwrap().to_owned()
    };
    let boundary = |on| Change::Boundary { after: Stage(0), on };
    for (change, expected) in [
        (Change::MicroBatches(8), "pipeline over:p balance:(2 5) micro_batches:8 # mine"),
        (boundary(true), "pipeline over:p balance:(3 4) micro_batches:4 # mine"),
        (boundary(false), "pipeline over:p balance:(1 6) micro_batches:4 # mine"),
        (Change::EvenCut, "pipeline over:p micro_batches:4 # mine"),
        (
            Change::Remat(Remat::ExceptLast),
            "pipeline over:p balance:(2 5) micro_batches:4 remat:except_last # mine",
        ),
        (
            Change::Schedule(Schedule::OneFOneB),
            "pipeline over:p balance:(2 5) micro_batches:4 schedule:1f1b # mine",
        ),
        // another number of stages: layers are not counted by hand any more
        (
            Change::Schedule(Schedule::Interleaved),
            "pipeline over:p micro_batches:4 schedule:interleaved # mine",
        ),
    ] {
        assert_eq!(line(change.clone()), expected, "{change:?}");
    }
    let last = Change::Boundary { after: Stage(1), on: true };
    assert_eq!(outlook.changed(before, &last), before);
}

#[test]
fn chunks_a_schedule_cannot_take_go_with_the_old_one() {
    let before = text(2, "micro_batches:4 schedule:interleaved chunks:3");
    let outlook = study(&before).outlook().unwrap();
    assert_eq!(outlook.extent().chunks, 3);
    let after = outlook.changed(&before, &Change::Schedule(Schedule::GPipe));
    assert!(after.ends_with("pipeline over:p micro_batches:4 schedule:gpipe\n"), "{after}");
    let kept = outlook.changed(&before, &Change::Schedule(Schedule::BreadthFirst));
    assert!(kept.contains("schedule:breadth_first chunks:3"), "{kept}");
    let usual = outlook.changed(&before, &Change::Chunks(2));
    assert!(!usual.contains("chunks"), "{usual}");
}

#[test]
fn any_study_with_layers_becomes_a_pipeline() {
    let before = "mesh rows:2\nlayout batch:rows\nmodel mlp batch:16 depth:5 # deep\ntrain\n";
    let after = piped(before, &[("rows".to_owned(), 2)], "stages", 2);
    assert_eq!(
        after,
        "mesh stages:2 rows:2\nlayout batch:rows\nmodel mlp batch:16 depth:5 # deep\ntrain\n\
         pipeline over:stages micro_batches:8\n"
    );
    assert!(!Study::new(&after).has_errors());
}

/// What the user says layers cost decides the cut, and what is predicted of it.
#[test]
fn costs_that_are_given_count() {
    let layers = study(&text(2, "micro_batches:1")).graph().layers.len();
    let mut costs = vec![0.001; layers];
    costs[layers - 1] = 0.02;
    let plain = text(2, "micro_batches:1 balance:(3 10)");
    let by_operations = study(&plain).outlook().unwrap();
    assert_eq!(by_operations.unit(), "flop");
    let given = by_operations.changed(&plain, &Change::Costs(costs_of(&costs)));
    let outlook = study(&given).outlook().unwrap();
    assert_eq!(outlook.unit(), "units");
    let parts: Vec<f64> = outlook.stages.iter().map(|part| part.cost).collect();
    assert!(near(parts[0], layers as f64 - 1.0) && near(parts[1], 20.0), "{parts:?}");
    assert!(near(outlook.figures().makespan, parts.iter().sum()), "{parts:?}");
    let of_layers: Vec<f64> = outlook.layers().map(|(_, cost)| cost).collect();
    assert_eq!(of_layers[layers - 2..], [1.0, 20.0]);
    let without = outlook.changed(&given, &Change::NoCosts);
    assert_eq!(study(&without).outlook().unwrap().unit(), "flop");
    assert_eq!(costs_of(&[0.004_123, 1.5, 0.0]), "(4.12 1500 0)");
}

/// A pipeline whose stages cost `whole` each, forward and backward.
fn even(cells: u32, chunks: u32, micro_batches: u32, whole: f64, options: &str) -> String {
    let (stages, rows) = (cells * chunks, 4 * micro_batches);
    let model = format!("model mlp batch:{rows} depth:{stages}");
    let layers = study(&model).graph().layers.len();
    // The last layer, the loss, costs nothing, nor do others beside those of the stages.
    let costs: Vec<String> = (0..layers)
        .map(|layer| if layer < stages as usize { whole.to_string() } else { "0".to_owned() })
        .collect();
    format!(
        "mesh p:{cells}\n{model}\ntrain\npipeline over:p micro_batches:{micro_batches} \
         chunks:{chunks} costs:({}) {options}\n",
        costs.join(" ")
    )
}

/// Every row of `schedules.json`, as a study says it: orders, makespans, idle times and spans.
#[test]
fn studies_have_the_orders_and_times_of_the_schedules() {
    let golden: Value = serde_json::from_str(include_str!("../data/schedules.json")).unwrap();
    let mut checked = 0;
    for row in golden["rows"].as_array().unwrap() {
        let name = row["schedule"].as_str().unwrap();
        let schedule = Schedule::named(name.strip_suffix("_torch").unwrap_or(name)).unwrap();
        let count = |key: &str| row[key].as_u64().unwrap() as u32;
        let (cells, micro_batches) = (count("ranks"), count("microbatches"));
        if schedule == Schedule::OneFOneB && micro_batches < cells {
            continue;
        }
        let chunks = count("stages_per_rank");
        let options = format!("schedule:{} shares:(1 1 1)", schedule.name());
        let text = even(cells, chunks, micro_batches, 3.0 / f64::from(chunks), &options);
        let outlook = study(&text).outlook().unwrap();
        let lines: Vec<&str> =
            row["order"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        assert_eq!(outlook.order().text(), lines, "{text}");
        let close = |a: f64, key: &str| {
            let b = row[key].as_f64().unwrap();
            assert!((a - b).abs() <= 1e-5 * b.max(1.0), "{key}: {a} {b}\n{text}");
        };
        let timeline = &outlook.timeline;
        close(outlook.figures().makespan, "makespan");
        close(outlook.figures().bubble_of_makespan, "bubble_fraction");
        close(timeline.stage_span(), "max_stage_span");
        for (rank, idle) in outlook.cells().zip(numbers(&row["idle_per_rank"])) {
            assert!((timeline.idle(rank) - idle).abs() <= 1e-5, "{rank:?} {idle}\n{text}");
        }
        checked += 1;
    }
    assert_eq!(checked, 84);
}

/// Part J2: what hides of the shorter task of a pair; J3: hops.
#[test]
fn pairs_overlap_and_hops_take_time() {
    let makespan = |cells, micro_batches, options: &str| {
        let text = even(cells, 1, micro_batches, 3.0, &format!("{options} shares:(1 1 1)"));
        study(&text).outlook().unwrap().figures().makespan
    };
    for (micro_batches, apart, together, half) in [(8, 26.0, 22.0, 24.0), (10, 32.0, 26.0, 29.0)] {
        for (overlap, expected) in [(0.0, apart), (1.0, together), (0.5, half)] {
            let options = format!("schedule:dualpipe overlap:{overlap}");
            let got = makespan(4, micro_batches, &options);
            assert!(near(got, expected), "{micro_batches} {options}: {got}");
        }
    }
    for (schedule, half, whole) in
        [("gpipe", 16.0, 17.0), ("1f1b", 17.0, 19.0), ("zb_h1", 15.0, 17.0)]
    {
        let got = [0.5, 1.0].map(|hop| makespan(2, 4, &format!("schedule:{schedule} hop:{hop}")));
        assert!(near(got[0], half) && near(got[1], whole), "{schedule}: {got:?}");
    }
}

/// Each layer's cost falls into forward and backward as its own operations do, not as those of its
/// stage.
#[test]
fn costs_count_layer_by_layer() {
    let plain = text(2, "micro_batches:2 schedule:zb_h1 balance:(3 10)");
    let parts = |study: &Study| {
        let timeline = study.outlook().unwrap().timeline;
        let tasks = timeline.lanes().iter().flatten();
        tasks.map(|interval| interval.end - interval.start).collect::<Vec<f64>>()
    };
    let by_operations = study(&plain).outlook().unwrap();
    let costs: Vec<String> = by_operations.layers().map(|(_, cost)| cost.to_string()).collect();
    let costs_of = |costs: &[String]| {
        study(&plain.replace(" balance", &format!(" costs:({}) balance", costs.join(" "))))
    };
    // What operations say, said by the user.
    let (said, known) = (parts(&costs_of(&costs)), parts(&study(&plain)));
    assert_eq!(said.len(), known.len());
    assert!(said.iter().zip(&known).all(|(a, b)| near(*a, *b)), "{said:?} {known:?}");
    // The first layer alone costs anything: it has no gradient of its input.
    let mut first = vec!["0".to_owned(); costs.len()];
    first[0] = "30".to_owned();
    let alone = parts(&costs_of(&first));
    // The first cell: F0 F1 I0 W0 I1 W1.
    assert!(near(alone[0] + alone[3], 30.0) && near(alone[2], 0.0), "{alone:?}");
    // Shares alone part the operations.
    let shared = study(&plain.replace(" balance", " shares:(1 1 2) balance"));
    let tasks = parts(&shared);
    assert!(near(tasks[0], tasks[2]) && near(2.0 * tasks[0], tasks[3]), "{tasks:?}");
    let whole: f64 = tasks[1..4].iter().sum();
    assert!(near(whole, shared.outlook().unwrap().stages[Stage(0)].cost));
}

/// Without training all that costs is the forward pass.
#[test]
fn nothing_goes_back_without_training() {
    let model = format!("mesh p:2\nmodel {MLP}\npipeline micro_batches:4 balance:(6 7)");
    let costs = " costs:(1 1 1 1 1 1 1 1 1 1 1 1 1) shares:(0 1 1)";
    for options in ["", " shares:(1 1 1)", costs, " hop:1"] {
        let outlook = study(&format!("{model}{options}\n")).outlook().unwrap();
        let [first, second] = [Stage(0), Stage(1)].map(|stage| outlook.stages[stage].cost);
        let hop = outlook.hop() * (first + second) / 2.0;
        let expected = first + hop + 3.0 * first.max(second) + second;
        let makespan = outlook.figures().makespan;
        assert!(near(makespan, expected), "{options}: {makespan} {expected}");
    }
}
