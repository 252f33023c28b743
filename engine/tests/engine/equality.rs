//! The central promise, on random programs: whatever the layout, the same numbers as on one
//! processor, and the messages that were predicted.

use crate::random::{Kind, laid_out, model, trained};
use meshwork_engine::cost::tally::Tally;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::graph::expr::functions::FUNCTIONS;
use meshwork_engine::graph::op::Role;
use meshwork_engine::index::NodeId;
use meshwork_engine::session::{Session, difference};
use meshwork_engine::spmd::check::check;
use meshwork_engine::study::Study;
use std::collections::BTreeMap;

/// Programs of whole numbers; each is run under one random layout.
const WHOLE: u64 = 2400;
/// Programs of all functions.
const SMOOTH: u64 = 1200;
/// Statements in each.
const LENGTH: usize = 6;

fn program(seed: u64, kind: Kind) -> String {
    trained(seed, kind, &model(seed, kind, LENGTH))
}

fn names(study: &Study) -> Vec<String> {
    let nodes = study.graph().nodes().iter();
    nodes
        .filter(|n| n.is_named || n.name.starts_with("grad/"))
        .map(|n| n.name.to_string())
        .collect()
}

fn run(study: &Study, steps: usize) -> Session<Alone> {
    let mut session = Session::keeping(study, None, Alone, &names(study)).unwrap();
    for _ in 0..steps {
        session.step();
    }
    session
}

fn check_all(study: &Study) {
    let ids: Vec<NodeId> = study.graph().nodes().ids().collect();
    check(study.program().unwrap()).unwrap();
    check(&study.program_keeping(&ids).unwrap()).unwrap();
}

/// Every function of the language, and what else a study may say, is drawn often enough to mean
/// something: a function that `random` has no row for fails here.
#[test]
fn every_function_is_drawn_often() {
    let whole = (0..WHOLE).map(|seed| program(seed, Kind::Whole));
    let all: Vec<String> =
        whole.chain((0..SMOOTH).map(|seed| program(seed, Kind::Smooth))).collect();
    let called = |text: &str, name: &str| {
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.match_indices(&format!("{name}(")).any(|(at, _)| !text[..at].ends_with(inside))
    };
    let calls = FUNCTIONS
        .iter()
        .map(|f| (f.name.to_owned(), all.iter().filter(|text| called(text, f.name)).count()));
    let optimizers = ["sgd", "momentum", "adam", "adamw", "adafactor"];
    let words = ["state ", "block ", "times:", "remat:on", "micro_batches:", "clip:", " ^ ", "-t"];
    let optimizers = optimizers.map(|o| format!("optimizer:{o} "));
    let said = words.map(str::to_owned).into_iter().chain(optimizers).map(|word| {
        let count = all.iter().filter(|text| text.contains(&word)).count();
        (word, count)
    });
    let rare: Vec<(String, usize)> = calls.chain(said).filter(|(_, n)| *n < 40).collect();
    assert!(rare.is_empty(), "in so many of {} programs: {rare:?}", all.len());
}

#[test]
fn whole_numbers_are_equal_exactly() {
    let mut collectives: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rounded = 0;
    for seed in 0..WHOLE {
        let study = laid_out(seed, &program(seed, Kind::Whole));
        assert!(!study.has_errors(), "seed {seed}: {:#?}\n{}", study.diagnostics(), study.text());
        check_all(&study);
        for collective in study.collectives() {
            *collectives.entry(collective.kind.name()).or_default() += 1;
        }
        let on_mesh = run(&study, 1);
        let pairs = pairs(&study, &on_mesh, 1);
        if pairs.iter().all(|p| is_exact(&p.1)) {
            for (name, a, b) in pairs {
                assert_eq!(a, b, "seed {seed}: {name} in\n{}", study.text());
            }
        } else {
            rounded += 1;
        }
        assert_eq!(on_mesh.counted(), on_mesh.predicted(), "seed {seed}\n{}", study.text());
    }
    assert!(rounded < WHOLE / 20, "{rounded} programs outgrew the digits of a number");
    let all: usize = collectives.values().sum();
    assert!(all > WHOLE as usize * 3, "too few collectives to mean much: {collectives:?}");
    // Every kind of collective must have been at work often enough to mean something.
    let often = |kind: &str| collectives.get(kind).is_some_and(|&n| n > WHOLE as usize / 80);
    for kind in ["allreduce", "allgather", "allsplit", "alltoall", "receive", "reducescatter"] {
        assert!(often(kind), "{kind}: {collectives:?}");
    }
}

/// All that has a name and is there, with its numbers on the mesh and alone: in the same
/// micro-batches, and what is trained also without.
fn pairs(study: &Study, on_mesh: &Session<Alone>, steps: usize) -> Vec<Pair> {
    let mut out = Vec::new();
    let whole = run(&study.alone(), steps);
    let is_cut = study.graph().micro.is_some();
    let cut = is_cut.then(|| run(&Study::new(&without_mesh(study.text())), steps));
    for name in names(study) {
        let find = |s: &Session<Alone>| s.value(&name).map(|w| w.values);
        let mut add = |other: &Session<Alone>| {
            let (a, b) = (find(on_mesh), find(other));
            assert_eq!(a.is_some(), b.is_some(), "{name} in\n{}", study.text());
            out.extend(a.zip(b).map(|(a, b)| (name.clone(), a, b)));
        };
        add(cut.as_ref().unwrap_or(&whole));
        if is_cut && study.graph().find(&name).is_some_and(|id| lasts(study, id)) {
            add(&whole);
        }
    }
    out
}

/// Whether numbers have digits to spare, so that none of them was rounded.
fn is_exact(numbers: &[f64]) -> bool {
    // The places of the first and the last binary digit.
    let first = |x: f64| x.abs().log2().floor();
    let last = |x: f64| first(x) - 52.0 + f64::from((x.to_bits() | 1 << 52).trailing_zeros());
    let some = || numbers.iter().copied().filter(|&x| x != 0.0);
    let (high, low) = (some().map(first).fold(0.0, f64::max), some().map(last).fold(0.0, f64::min));
    high - low < 40.0
}

/// A name, and its numbers on the mesh and alone.
type Pair = (String, Vec<f64>, Vec<f64>);

fn lasts(study: &Study, id: NodeId) -> bool {
    matches!(study.graph().node(id).role, Role::Parameter | Role::Loss)
}

fn without_mesh(text: &str) -> String {
    let is_model = |line: &&str| !line.starts_with("mesh") && !line.starts_with("layout");
    text.lines().filter(is_model).collect::<Vec<_>>().join("\n")
}

/// What settles later never sends more than what settles at once.
#[test]
fn laziness_never_costs_more() {
    let (mut fewer, mut dearer) = (0, Vec::new());
    for seed in 0..WHOLE {
        let study = laid_out(seed, &program(seed, Kind::Whole));
        let (lazy, at_once) = (study.tally().unwrap(), study.settled_at_once().unwrap());
        let sent = |tally: &Tally| tally.totals.sent_bytes_per_processor;
        let (lazy, at_once) = (sent(lazy), sent(&at_once));
        fewer += u32::from(lazy < at_once);
        if lazy > at_once * (1.0 + 1e-12) {
            dearer.push((lazy / at_once, seed, study.text().to_owned()));
        }
    }
    dearer.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(
        dearer.is_empty(),
        "{} of {WHOLE}, {fewer} are cheaper: {:#?}",
        dearer.len(),
        &dearer[..dearer.len().min(4)]
    );
    assert!(fewer > 100, "{fewer}");
}

#[test]
fn smooth_programs_are_equal_within_rounding() {
    let mut grown = 0;
    for seed in 0..SMOOTH {
        let study = laid_out(seed, &program(seed, Kind::Smooth));
        check_all(&study);
        let on_mesh = run(&study, 3);
        let pairs = pairs(&study, &on_mesh, 3);
        // What training blew up is rounded away.
        if pairs.iter().flat_map(|p| &p.2).any(|x| !x.is_finite() || x.abs() > 1e12) {
            grown += 1;
            continue;
        }
        for (name, a, b) in pairs {
            let scale = b.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
            let off = difference(&a, &b) / scale;
            assert!(off < 1e-7, "seed {seed}: {name} is off by {off} in\n{}", study.text());
        }
        assert_eq!(on_mesh.counted(), on_mesh.predicted(), "seed {seed}\n{}", study.text());
    }
    assert!(grown < SMOOTH / 20, "{grown} programs grew beyond all bounds");
}

#[test]
fn any_number_of_threads_gives_the_same_bits_and_the_tallied_peak() {
    for seed in 0..120 {
        // 32-bit floats have kernels of their own.
        let text = program(seed, Kind::Smooth);
        let text = if seed % 2 == 0 { text } else { text.replace(" dtype:f64", "") };
        let study = laid_out(seed, &text);
        let mut alone = Session::new(&study, None, Alone).unwrap();
        alone.step();
        alone.step();
        for threads in [2, 3, 7] {
            let mut many = Session::new(&study, None, Threads::new(threads).unwrap()).unwrap();
            many.step();
            many.step();
            for name in alone.parameters() {
                let (a, b) = (alone.value(&name).unwrap(), many.value(&name).unwrap());
                let bits = |w: &[f64]| w.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(
                    bits(&a.values),
                    bits(&b.values),
                    "seed {seed}, {threads} threads: {name}"
                );
            }
        }
        let tally = Tally::of(study.program().unwrap());
        assert_eq!(alone.peak_bytes(), tally.totals.peak_bytes_per_processor, "seed {seed}");
    }
}

/// A table whose slices are all the same numbers in memory is still another part of it on each
/// processor.
#[test]
fn equal_slices_of_a_table_are_picked_from_by_their_place() {
    let text = "mesh m:3\nlayout g:m\ndims g:3 d:4\ninput one[] init:values(5), at[d] init:values(0 1 2 3)\n\
                table = broadcast(one -> g)\npicked = gather(table, at, dim:g)";
    let study = crate::common::study(text);
    assert_eq!(run(&study, 1).value("picked").unwrap().values, [5.0, 5.0, 5.0, 0.0]);
}

/// Blocks that are computed again give the same bits in less memory, with the same random masks.
#[test]
fn what_is_computed_again_is_the_same() {
    let text = |remat: &str, layout: &str| {
        format!(
            "mesh r:2 c:2\n{layout}\ndims batch:4096 d:8 f:32 classes:4\n\
             input x[batch d], target[batch]\n\
             block layer times:6{remat}\n\
             param w[d f], v[f d]\n\
             h = dropout(relu(einsum(x, w -> batch f)), rate:0.3)\n\
             x = x + tanh(einsum(h, v -> batch d))\n\
             end\n\
             param u[d classes]\n\
             loss = mean(cross_entropy(einsum(x, u -> batch classes), target, dim:classes))\n\
             train optimizer:adam rate:0.01 steps:4\n"
        )
    };
    for layout in ["layout batch:r+c", "layout batch:r f:c", "layout d:r f:c"] {
        let study = |remat: &str| crate::common::study(&text(remat, layout));
        let (kept, again) = (study(""), study(" remat:on"));
        check_all(&again);
        let (mut a, mut b) = (run(&kept, 0), run(&again, 0));
        for _ in 0..4 {
            let (x, y) = (a.step().loss.unwrap(), b.step().loss.unwrap());
            assert_eq!(x.to_bits(), y.to_bits(), "{layout}");
        }
        assert_eq!(b.counted(), b.predicted());
        let totals = |study: &Study| Tally::of(study.program().unwrap()).totals;
        let (kept, again) = (totals(&kept), totals(&again));
        assert!(again.flops_per_processor > kept.flops_per_processor * 1.2);
        let (less, more) = (again.peak_bytes_per_processor, kept.peak_bytes_per_processor);
        assert!(less * 3 < more * 2, "{layout}: {less} of {more}");
    }
}
