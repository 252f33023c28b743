//! Random models of layers, cut into random pipelines of every schedule, with random layouts within
//! the cells: the same losses and parameters as the whole model on one processor, and the messages
//! and bytes that were predicted.

use crate::common::session;
use crate::random::Random;
use meshwork_engine::diag::Diagnostic;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::session::{Session, max_difference};
use meshwork_engine::spmd::check::check;
use meshwork_engine::study::Study;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Pipelines that are run, each of another model.
const CASES: u64 = 600;
const STEPS: usize = 2;
const ROWS: usize = 8;

/// A model of so many layers, none of which combines rows. Layers have the width `u` or `v`.
fn model(random: &mut Random, layers: usize) -> String {
    let mut text = format!("dims batch:{ROWS} u:4 v:8 m:8\ninput x[batch u], t[batch u]\n");
    let (mut last, mut width) = ("x".to_owned(), "u");
    let mut before: Vec<(String, &str)> = Vec::new();
    for i in 0..layers {
        let name = format!("h{i}");
        let other = if width == "u" { "v" } else { "u" };
        let mut then = width;
        // the last layer has the width of the target
        let kind = if i + 1 == layers && width == "v" { 0 } else { random.below(6) };
        let layer = match kind {
            0 => {
                let f = *random.pick(&["tanh", "relu", "gelu"]);
                _ = writeln!(text, "param w{i}[{width} {other}], b{i}[{other}]");
                then = other;
                format!("{f}(einsum({last}, w{i} -> batch {other})) + b{i}")
            }
            1 => {
                _ = writeln!(text, "param p{i}[{width} m], q{i}[m {width}]");
                let inside = format!("silu(einsum({last}, p{i} -> batch m))");
                format!("{last} + einsum({inside}, q{i} -> batch {width})")
            }
            2 => {
                _ = writeln!(text, "param s{i}[{width}] init:ones");
                format!("layer_norm({last}, dim:{width} epsilon:0.1) * s{i}")
            }
            3 => format!("dropout({last}, rate:0.2) * 1.5"),
            // sums that may stay pending on their way to a parameter
            4 => {
                _ = writeln!(text, "param p{i}[{width} m], q{i}[m {width}]");
                let inside = format!("einsum({last}, p{i} -> batch m)");
                format!("einsum({inside}, q{i} -> batch {width})")
            }
            _ => {
                let as_wide: Vec<_> = before.iter().filter(|(_, w)| *w == width).collect();
                match as_wide[..] {
                    [] => format!("tanh({last}) * 2"),
                    _ => format!("tanh({last}) + {} * 0.5", random.pick(&as_wide).0),
                }
            }
        };
        // what a marked block computes is computed again, whatever the pipeline does
        if then == width && random.chance(0.25) {
            let alias = format!("{name} = {last}\nblock again{i} remat:on");
            _ = writeln!(text, "{alias}\n{name} = {layer}\nend");
        } else {
            _ = writeln!(text, "{name} = {layer}");
        }
        before.push((last, width));
        (last, width) = (name, then);
    }
    let last = if width == "u" {
        last
    } else {
        // every layer but the last could have been of another kind
        text.push_str("param out[v u]\n");
        format!("einsum({last}, out -> batch u)")
    };
    let train = *random.pick(&["", "optimizer:adam ", "optimizer:momentum ", "clip:0.5 "]);
    text + &format!("loss = mean(square({last} - t))\ntrain {train}rate:0.01 dtype:f64\n")
}

/// A pipeline and a layout within its cells, as the schedule's limits and the dimensions allow.
fn around(random: &mut Random, schedule: Schedule, layers: usize) -> String {
    let (cells, micro_batches) = (1 + random.below(4.min(layers)), 1 + random.below(6));
    let remat = *random.pick(&["off", "on", "except_last"]);
    let hop = *random.pick(&["0", "0.5"]);
    let (mesh, layout) = *random.pick(&[
        ("", ""),
        (" a:2", "batch:a"),
        (" a:2", "v:a"),
        (" a:2", "m:a u:a"),
        (" a:2 b:2", "batch:a m:b"),
        (" a:2 b:2", "u:a+b v:b"),
    ]);
    let mesh =
        if random.chance(0.5) { format!("p:{cells}{mesh}") } else { format!("{mesh} p:{cells}") };
    format!(
        "mesh {}\nlayout {layout}\npipeline over:p micro_batches:{micro_batches} schedule:{} \
         remat:{remat} hop:{hop}\n",
        mesh.trim(),
        schedule.name()
    )
}

#[test]
fn random_models_in_random_pipelines() {
    let schedules = Schedule::ALL;
    let mut run: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused = 0;
    for seed in 0.. {
        let cases: usize = run.values().sum();
        if cases as u64 == CASES {
            break;
        }
        assert!(seed < 20 * CASES, "{refused} of {seed} were refused");
        let mut random = Random::new(seed);
        let layers = 2 + random.below(8);
        let model = model(&mut random, layers);
        let schedule = schedules[seed as usize % schedules.len()];
        let text = around(&mut random, schedule, layers) + &model;
        let study = Study::new(&text);
        if study.has_errors() {
            // What does not go together is said: limits of schedules, fewer layers than stages,
            // micro-batches of fewer rows than processors.
            assert!(
                study.diagnostics().iter().any(Diagnostic::is_error),
                "seed {seed}: no Program and no reason\n{text}"
            );
            refused += 1;
            continue;
        }
        check(study.program().unwrap()).unwrap();
        let mut whole = session(&model);
        let mut cut = Session::new(&study, None, Alone).unwrap();
        for _ in 0..STEPS {
            let (a, b) = (cut.step().loss.unwrap(), whole.step().loss.unwrap());
            assert!((a - b).abs() < 1e-12, "seed {seed}: {a} {b}\n{text}");
        }
        let off = max_difference(&cut, &whole);
        assert!(off < 1e-8, "seed {seed}: parameters differ by {off}\n{text}");
        assert_eq!(cut.counted(), cut.predicted(), "seed {seed}\n{text}");
        let peak = study.totals().unwrap().peak_bytes_per_processor;
        assert_eq!(cut.peak_bytes(), peak, "seed {seed}\n{text}");
        *run.entry(schedule.name()).or_default() += 1;
    }
    for schedule in schedules {
        let runs = run.get(schedule.name()).copied().unwrap_or(0);
        assert!(runs > 5, "{} was run {runs} times: {run:?}", schedule.name());
    }
}
