//! Mesh-TensorFlow's mixture-of-experts layer: values, gradients and losses in every layout that
//! it was run in, and no more elements through collectives.

use crate::common::{numbers, study, written_out};
use crate::driver::{Driver, det};
use crate::meshtf::elements;
use meshwork_engine::session::difference;
use serde_json::Value;

const GOLDEN: &str = include_str!("../data/golden_meshtf_models.json");

/// The layer as the preset writes it. The original was handed dy as the gradient by y, without the
/// balance loss, so the loss here is Σ y·dy.
fn layer(run: &Value) -> String {
    let line = format!(
        "model moe batch:4 length:4 d_model:4 experts:4 expert_hidden:8 gating:{} \
         capacity_factor:2 min_capacity:2{}\n",
        run["gating"].as_str().unwrap(),
        if run["gating"] == "top2" { " second_policy:all" } else { "" }
    );
    let text = written_out(&line);
    let (model, _) = text.split_once("loss = ").unwrap();
    format!(
        "mesh {}\nlayout {}\n{}loss = sum(x * dy)\ntrain steps:1\n",
        run["mesh"].as_str().unwrap(),
        run["layout"].as_str().unwrap(),
        model.replace("target[", "dy[")
    )
}

#[test]
fn the_originals_layer() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    for run in golden["moe"].as_array().unwrap() {
        let name = format!("{} {}", run["gating"], run["name"]);
        let parameters = [("router", 4.0), ("wi", 4.0), ("wo", 8.0)];
        let mut keep: Vec<String> =
            parameters.iter().map(|p| format!("grad/ffn.{}", p.0)).collect();
        keep.extend(["ffn.x".to_owned(), "ffn.balance".to_owned()]);
        let keep: Vec<&str> = keep.iter().map(String::as_str).collect();
        let mut driver = Driver::<f32>::new(&layer(run), &keep);
        driver.set("x", |k| det(k, 11, 1.0));
        driver.set("dy", |k| det(k, 12, 1.0));
        for (i, (parameter, _)) in parameters.iter().enumerate() {
            driver.set(&format!("ffn.{parameter}"), |k| det(k, 200 + i as u32, 0.7));
        }
        driver.step();
        let balance = driver.value("ffn.balance")[0];
        assert!((balance - run["loss"].as_f64().unwrap()).abs() < 1e-6, "{name}: {balance}");
        let y = driver.value("ffn.x");
        assert!(difference(&y, &numbers(&run["y"])) < 1e-5, "{name}: {y:?}");
        for (parameter, _) in parameters {
            let gradient = driver.value(&format!("grad/ffn.{parameter}"));
            let expected = numbers(&run["gradients"][parameter]);
            assert!(difference(&gradient, &expected) < 1e-5, "{name}: {parameter} {gradient:?}");
        }
        driver.assert_traffic();
    }
}

#[test]
fn no_more_through_collectives_than_the_original() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    for run in golden["moe"].as_array().unwrap() {
        let study = study(&layer(run));
        let ours = elements(&study);
        println!(
            "{} {}: {ours:?}, the original {}",
            run["gating"], run["name"], run["collectives"]
        );
        for (kind, count) in &ours {
            // Σ y·dy itself, one number on each processor, the original did not compute.
            let sum = if *kind == "allreduce" { study.mesh().processors() } else { 0 };
            let theirs = run["collectives"][kind].as_u64().unwrap_or(0) + sum;
            assert!(
                *count <= theirs,
                "{} {}: {kind} {count}, the original {theirs}\n{}",
                run["gating"],
                run["name"],
                study.listing().unwrap()
            );
        }
    }
}

/// Where a token is sent is a choice and has no slope: no gradient is computed by it, which would
/// be another product as large as the sending itself, and an Alltoall.
#[test]
fn no_gradient_by_choices() {
    let study = study("mesh all:4\nlayout batch:all experts:all\nmodel moe\ntrain\n");
    let named = |name: &str| study.graph().find(name).is_some();
    assert!(named("grad/ffn.combine") && named("grad/ffn.gates"));
    for name in ["grad/ffn.dispatch", "grad/ffn.first", "grad/ffn.place1", "grad/ffn.sent"] {
        assert!(!named(name), "{name}");
    }
}
