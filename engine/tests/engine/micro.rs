//! Micro-batches: losses, gradients and what is held equal those of the whole batch.

use crate::common::{losses, session, study};
use meshwork_engine::diag::Code;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::session::{Session, difference, max_difference};
use meshwork_engine::spmd::check::check;
use meshwork_engine::study::Study;

const MODELS: [(&str, &str); 5] = [
    ("mlp batch:8 in:4 hidden:8 depth:2 out:2", "batch:a hidden:b"),
    ("two_layer batch:8 io:4 hidden:8", "batch:a hidden:b"),
    (
        "transformer batch:8 length:4 vocab:8 d_model:8 heads:2 d_kv:4 d_ff:16 layers:2 dropout:0.1",
        "batch:a heads:b d_ff:b vocab:b",
    ),
    (
        "encoder batch:8 length:4 vocab:8 d_model:8 heads:2 d_kv:4 d_ff:16 layers:1",
        "batch:a heads:b d_ff:b vocab:b",
    ),
    (
        "encoder_decoder batch:8 length:4 vocab:8 d_model:8 heads:2 d_kv:4 d_ff:16 layers:1",
        "batch:a heads:b d_ff:b vocab:b",
    ),
];

fn text(mesh: &str, model: &str, train: &str) -> String {
    format!("{mesh}\nmodel {model}\ntrain optimizer:adam rate:0.01 steps:3 dtype:f64 {train}")
}

/// For every number of micro-batches, even or not, and layout.
#[test]
fn equal_to_the_whole_batch() {
    for (model, layout) in MODELS {
        for clip in ["", "clip:0.1"] {
            let mut whole = session(&text("", model, clip));
            let expected: Vec<f64> = (0..3).map(|_| whole.step().loss.unwrap()).collect();
            for micro in [1, 2, 4, 8] {
                for mesh in ["", "mesh a:2 b:2"] {
                    if !mesh.is_empty() && micro == 8 {
                        continue; // one row is not split over two processors
                    }
                    let mesh = if mesh.is_empty() {
                        String::new()
                    } else {
                        format!("{mesh}\nlayout {layout}")
                    };
                    let text = text(&mesh, model, &format!("{clip} micro_batches:{micro}"));
                    let study = study(&text);
                    check(study.program().unwrap()).unwrap();
                    let mut cut = Session::new(&study, None, Alone).unwrap();
                    let losses: Vec<f64> = (0..3).map(|_| cut.step().loss.unwrap()).collect();
                    assert!(
                        difference(&losses, &expected) < 1e-12,
                        "{text}\n{losses:?} {expected:?}"
                    );
                    assert!(max_difference(&cut, &whole) < 1e-9, "{text}");
                    assert_eq!(cut.counted(), cut.predicted(), "{text}");
                    assert_eq!(cut.peak_bytes(), study.totals().unwrap().peak_bytes_per_processor);
                }
            }
        }
    }
}

/// Whatever a loss makes of sums and means over the batch, and of what does not lie in the batch.
#[test]
fn losses_of_sums_and_means() {
    for loss in [
        "mean(square(y - x))",
        "sum(y)",
        "sum(square(y)) + 0.1 * sum(square(w))",
        "0.5 * mean(square(y)) + sum(square(w)) + 3",
        "exp(s) - sum(square(y) - s)",
        "2 - sum(tanh(y)) * s / 8",
        "mean(square(y)) - 0.01 * s + sum(abs(y)) / 7",
        "sum(square(y) * m) / sum(m)",
        "2 * sqrt(mean(square(y))) + sum(w)",
        "log(sum(exp(y))) + s",
        "sum(einsum(y, y -> batch a)) * s",
    ] {
        let model = format!(
            "dims batch:7 a:4 b:4\ninput x[batch a], m[batch] init:uniform(0.5 1.5)\n\
             param w[a b], v[b a], s\nh = tanh(einsum(x, w -> batch b))\n\
             y = einsum(h, v -> batch a) + s\nloss = {loss}\n"
        );
        let train = "train optimizer:momentum rate:0.01 dtype:f64";
        let mut whole = session(&format!("{model}{train}"));
        let expected: Vec<f64> = (0..3).map(|_| whole.step().loss.unwrap()).collect();
        for cut in [
            format!("{model}{train} micro_batches:2"),
            format!("{model}{train} micro_batches:7"),
            format!("mesh p:2\n{model}{train}\npipeline over:p micro_batches:3"),
            format!("mesh p:2\n{model}{train}\npipeline over:p micro_batches:4 remat:on"),
            format!(
                "mesh p:2 c:2\nlayout b:c\n{model}{train}\n\
                 pipeline over:p micro_batches:3 schedule:zb_h1"
            ),
        ] {
            let study = study(&cut);
            let is_said = study.diagnostics().iter().any(|d| d.code == Code::MicroBatches);
            assert!(!is_said, "{cut}\n{:?}", study.diagnostics());
            check(study.program().unwrap()).unwrap();
            let mut session = Session::new(&study, None, Alone).unwrap();
            let losses: Vec<f64> = (0..3).map(|_| session.step().loss.unwrap()).collect();
            assert!(difference(&losses, &expected) < 1e-12, "{cut}\n{losses:?} {expected:?}");
            assert!(max_difference(&session, &whole) < 1e-9, "{cut}");
            assert_eq!(session.counted(), session.predicted(), "{cut}");
        }
    }
}

/// Gradients settle once, however many micro-batches made them.
#[test]
fn one_allreduce_of_gradients() {
    let model = "mlp batch:16 in:4 hidden:8 depth:2 out:2";
    let of = |micro: u32| {
        let train = format!("micro_batches:{micro}");
        let study = study(&text("mesh a:2\nlayout batch:a", model, &train));
        let all = study.collectives();
        let gradients: Vec<_> = all.iter().filter(|c| c.tensors[0].starts_with("grad/")).collect();
        assert_eq!(gradients.len(), 1, "{}", study.listing().unwrap());
        assert_eq!(gradients[0].times, 1);
        study.totals().unwrap()
    };
    let (one, four) = (of(1), of(4));
    assert_eq!(one.messages, four.messages);
    assert_eq!(one.bytes, four.bytes);
}

/// What the backward pass needs is held for one micro-batch at a time.
#[test]
fn less_is_held() {
    let model = "mlp batch:256 in:4 hidden:64 depth:4 out:2";
    let held = |micro: u32| {
        let study = study(&text("", model, &format!("micro_batches:{micro}")));
        study.totals().unwrap().peak_bytes_per_processor
    };
    assert!(held(8) * 2 < held(1), "{} {}", held(8), held(1));
}

/// Statistics of batch norm are those of a micro-batch, its running means those of all.
#[test]
fn batch_norm_by_micro_batch() {
    let model = "convnet batch:8 h:4 w:4 channels:4";
    let state = |train: &str| {
        let mut session = session(&text("", model, train));
        session.step();
        ["conv1.mean_seen", "conv1.variance_seen"].map(|n| session.value(n).unwrap().values)
    };
    let (whole, cut) = (state(""), state("micro_batches:4"));
    for (a, b) in whole.iter().zip(&cut) {
        assert!(difference(a, b) < 1e-12, "{a:?} {b:?}");
    }
    let study = study(&text("", model, "micro_batches:4"));
    let warning = &study.diagnostics()[0];
    assert!(warning.message.contains("of one micro-batch"), "{}", warning.message);
}

/// The dimensions to be changed are those of the text, not of one micro-batch.
#[test]
fn dimensions_are_those_of_the_whole_batch() {
    let study = study(
        "dims batch:8 io:4\ninput x[batch io]\nparam w[io]\nloss = mean(x * w)\n\
                       train micro_batches:4\n",
    );
    let dims: Vec<String> = study.dims().iter().map(|d| format!("{}:{}", d.name, d.size)).collect();
    assert_eq!(dims[..2], ["batch:8", "io:4"]);
}

/// Rows that are all alike are still rows: each micro-batch has its share of them.
#[test]
fn rows_made_by_a_broadcast() {
    let text = "dims b:8 d:3\nparam w[d] init:values(1 2 3)\n\
                loss = sum(broadcast(w -> b d)) + sum(square(w))\n\
                train rate:0.01 steps:2 dtype:f64";
    let cut = format!("{text} micro_batches:3 batch:b");
    let (mut whole, mut cut) = (session(text), session(&cut));
    assert!(difference(&losses(&mut whole, 3), &losses(&mut cut, 3)) < 1e-12);
}

/// What is there for all micro-batches has no rows.
#[test]
fn a_parameter_has_no_rows() {
    for kept in ["param w[b d]", "param v[d]\nstate w[b d]"] {
        let study = Study::new(&format!(
            "dims b:8 d:3\ninput x[b d]\n{kept}\nloss = sum(x * w)\n\
             train rate:0.01 micro_batches:2 batch:b"
        ));
        let problem = study.diagnostics().iter().find(|d| d.is_error()).unwrap();
        assert_eq!(problem.code, Code::MicroBatches);
        assert!(problem.message.starts_with("`w` is there for all micro-batches"), "{problem:?}");
    }
}

/// The gradient of a sum of rows that is squared afterwards is known only at the end, for each
/// number of the sum.
#[test]
fn sums_of_rows_that_are_squared_are_refused() {
    let study = Study::new(
        "dims b:8 d:3\ninput x[b d]\nparam w[d]\ns = sum(x * w -> d)\nloss = sum(square(s))\n\
         train rate:0.01 micro_batches:2 batch:b",
    );
    let problem = study.diagnostics().iter().find(|d| d.is_error()).unwrap();
    assert!(problem.message.contains("is made of `s`"), "{problem:?}");
}

/// A sum of rows that is both part of the loss and spread over rows again is one of each
/// micro-batch, which is said.
#[test]
fn sums_that_become_rows_again_are_told() {
    let study = Study::new(
        "dims b:8 d:3\ninput x[b d]\nparam w[d]\ns = sum(x * w -> d)\n\
         loss = sum(s) + sum(x * s)\ntrain rate:0.01 micro_batches:2 batch:b",
    );
    assert!(!study.has_errors(), "{:#?}", study.diagnostics());
    let told = study.diagnostics().iter().find(|d| d.code == Code::MicroBatches).unwrap();
    assert!(told.message.starts_with("`s` is made from the rows of one micro-batch"), "{told:?}");
}
