//! The central promise, on random programs: whatever the layout, the same numbers as on one
//! processor, and the messages that were predicted.

use crate::random::{Kind, laid_out, model};
use meshwork_engine::cost::tally::Tally;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::index::NodeId;
use meshwork_engine::session::{Session, difference};
use meshwork_engine::spmd::check::check;
use meshwork_engine::study::Study;
use std::collections::BTreeMap;

/// Programs per test; each is run under one random layout.
const CASES: u64 = 1200;

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

#[test]
fn whole_numbers_are_equal_exactly() {
    let mut collectives: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..CASES {
        let text = model(seed, Kind::Whole, 6) + "train optimizer:sgd rate:1 steps:1 dtype:f64\n";
        let study = laid_out(seed, &text);
        assert!(!study.has_errors(), "seed {seed}: {:#?}\n{}", study.diagnostics(), study.text());
        check_all(&study);
        for collective in study.collectives() {
            *collectives.entry(collective.kind.name()).or_default() += 1;
        }
        let (on_mesh, alone) = (run(&study, 1), run(&study.alone(), 1));
        for name in names(&study) {
            let get = |s: &Session<Alone>| {
                s.value(&name).unwrap_or_else(|| {
                    panic!(
                        "seed {seed}: {name} in\n{}\n{}",
                        s.study().text(),
                        s.study().listing().unwrap()
                    )
                })
            };
            let (a, b) = (get(&on_mesh), get(&alone));
            assert_eq!(a, b, "seed {seed}: {name} in\n{}", study.text());
        }
        assert_eq!(on_mesh.counted(), on_mesh.predicted(), "seed {seed}\n{}", study.text());
    }
    let all: usize = collectives.values().sum();
    assert!(all > CASES as usize * 3, "too few collectives to mean much: {collectives:?}");
    // Every kind of collective must have been at work often enough to mean something.
    let often = |kind: &str| collectives.get(kind).is_some_and(|&n| n > CASES as usize / 30);
    for kind in ["allreduce", "allgather", "allsplit", "alltoall", "receive"] {
        assert!(often(kind), "{kind}: {collectives:?}");
    }
}

#[test]
fn smooth_programs_are_equal_within_rounding() {
    for seed in 0..CASES / 2 {
        let text =
            model(seed, Kind::Smooth, 6) + "train optimizer:adam rate:0.01 steps:3 dtype:f64\n";
        let study = laid_out(seed, &text);
        check_all(&study);
        let (on_mesh, alone) = (run(&study, 3), run(&study.alone(), 3));
        for name in names(&study) {
            let (a, b) = (on_mesh.value(&name).unwrap().values, alone.value(&name).unwrap().values);
            let scale = b.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
            let off = difference(&a, &b) / scale;
            assert!(off < 1e-7, "seed {seed}: {name} is off by {off} in\n{}", study.text());
        }
        assert_eq!(on_mesh.counted(), on_mesh.predicted(), "seed {seed}\n{}", study.text());
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits_and_the_tallied_peak() {
    for seed in 0..40 {
        let text = model(seed, Kind::Smooth, 6) + "train optimizer:momentum rate:0.01 steps:2\n";
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
