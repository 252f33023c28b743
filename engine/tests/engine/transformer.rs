//! Reference runs of Transformers: Mesh-TensorFlow's tiny language model in every layout that it
//! was run in, with no more elements through collectives; and the benchmark's W2 by JAX and
//! PyTorch. `data/golden_meshtf_models.json` and `data/golden_w2.json` hold them.

use crate::common::{numbers, study};
use crate::driver::{Driver, det};
use crate::meshtf::elements;
use meshwork_engine::graph::init::hash_value;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const MESHTF: &str = include_str!("../data/golden_meshtf_models.json");
const W2: &str = include_str!("../data/golden_w2.json");

fn sum_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

/// The language model as a study.
fn language_model(run: &Value, rate: &Value) -> String {
    format!(
        "mesh {}
layout {}
model transformer batch:4 length:8 vocab:16 d_model:8 heads:2 d_kv:4 d_ff:16 layers:2 scale:off
train optimizer:sgd rate:{rate} steps:6
",
        run["mesh"].as_str().unwrap(),
        run["layout"].as_str().unwrap()
    )
}

#[test]
fn the_originals_language_model() {
    let golden: Value = serde_json::from_str(MESHTF).unwrap();
    let lm = &golden["lm"];
    let parameters = lm["parameters"].as_array().unwrap();
    let grad = |p: &Value| format!("grad/{}", p["name"].as_str().unwrap());
    let mut keep: Vec<String> = parameters.iter().map(grad).collect();
    keep.push("logits".to_owned());
    let keep: Vec<&str> = keep.iter().map(String::as_str).collect();
    let tokens: Vec<f64> = lm["tokens"].as_array().unwrap().iter().flat_map(numbers).collect();
    for run in lm["runs"].as_array().unwrap() {
        let name = &run["name"];
        let mut driver = Driver::<f32>::new(&language_model(run, &lm["rate"]), &keep);
        driver.set("targets", |k| tokens[k as usize]);
        for (i, p) in parameters.iter().enumerate() {
            let scale = 1.0 / p["rows"].as_f64().unwrap().sqrt();
            let tensor = p["name"].as_str().unwrap();
            if !tensor.ends_with("scale") {
                driver.set(tensor, |k| det(k, 100 + i as u32, scale));
            }
        }
        let mut losses = vec![driver.step().unwrap()];
        let logits = driver.value("logits");
        for (a, b) in
            logits.iter().zip(lm["logits_first"].as_array().unwrap().iter().flat_map(numbers))
        {
            assert!((a - b).abs() < 1e-5, "{name}: logits {a} for {b}");
        }
        for (i, p) in parameters.iter().enumerate() {
            let values = driver.value(&grad(p));
            for (a, b) in values.iter().zip(numbers(&p["gradient"])) {
                assert!((a - b).abs() < 1e-5, "{name}: {} {a} for {b}", p["name"]);
            }
            let (sum, expected) = (sum_of_squares(&values), &run["sums_of_squares"][i]);
            assert!(close(sum, expected.as_f64().unwrap(), 1e-3), "{name}: {} {sum}", p["name"]);
        }
        losses.extend((0..5).map(|_| driver.step().unwrap()));
        for (step, (a, b)) in losses.iter().zip(numbers(&run["losses"])).enumerate() {
            assert!(close(*a, b, 1e-4), "{name} step {step}: {a} for {b}");
        }
        driver.assert_traffic();
    }
}

/// All kinds together: what the original gathers we may sum, and the other way round.
#[test]
fn no_more_through_collectives_than_the_original() {
    let golden: Value = serde_json::from_str(MESHTF).unwrap();
    for run in golden["lm"]["runs"].as_array().unwrap() {
        let study = study(&language_model(run, &golden["lm"]["rate"]));
        let ours = elements(&study);
        let theirs = run["collectives"].as_object().unwrap();
        let theirs: BTreeMap<&str, u64> =
            theirs.iter().map(|(k, v)| (k.as_str(), v.as_u64().unwrap())).collect();
        println!("{}: ours {ours:?}, the original {theirs:?}", run["name"]);
        assert!(
            ours.values().sum::<u64>() <= theirs.values().sum(),
            "{}: {ours:?}, the original {theirs:?}\n{}",
            run["name"],
            study.listing().unwrap()
        );
    }
}

/// The study of a W2, without mesh and layout.
fn w2(golden: &Value, dtype: &str) -> String {
    let (dims, adam) = (&golden["dims"], &golden["adam"]);
    format!(
        "model transformer batch:{} length:{} vocab:{} d_model:{} heads:{} d_kv:{} d_ff:{} layers:{} \
         norm:layer epsilon:{} inputs:given
train optimizer:adam rate:{} beta1:{} beta2:{} epsilon:{} steps:10 dtype:{dtype}
",
        dims["batch"], dims["seq"], dims["vocab"], dims["d_model"], dims["heads"], dims["d_k"],
        dims["d_ff"], golden["layers"], golden["ln_eps"],
        adam["lr"], adam["beta1"], adam["beta2"], adam["adam_eps"],
    )
}

const LAYOUTS: [(&str, &str); 4] = [
    ("1", ""),
    ("dp2", "mesh all:2\nlayout batch:all\n"),
    ("mp2", "mesh all:2\nlayout vocab:all d_ff:all heads:all\n"),
    ("2x2", "mesh rows:2 cols:2\nlayout batch:rows vocab:cols d_ff:cols heads:cols\n"),
];

/// Sets the initial values of a W2.
fn initialise<T: meshwork_engine::exec::number::Number>(driver: &mut Driver<T>, golden: &Value) {
    for (name, init) in golden["tensors"].as_object().unwrap() {
        if let Some(seed) = init["seed"].as_u64() {
            let scale = init["scale"].as_f64().unwrap();
            driver.set(name, |k| hash_value(k as u32, seed as u32, scale));
        }
    }
}

#[test]
fn a_tiny_w2_in_every_layout() {
    let golden: Value = serde_json::from_str(W2).unwrap();
    let golden = &golden["tiny"];
    let gradients = golden["gradients"].as_object().unwrap();
    let keep: Vec<String> = gradients.keys().map(|n| format!("grad/{n}")).collect();
    let keep: Vec<&str> = keep.iter().map(String::as_str).collect();
    let ids = |key: &str| -> Vec<f64> {
        golden[key].as_array().unwrap().iter().flat_map(numbers).collect()
    };
    let (tokens, targets) = (ids("tokens"), ids("targets"));
    for (name, layout) in LAYOUTS {
        let text = layout.to_owned() + &w2(golden, "f64");
        let mut driver = Driver::<f64>::new(&text, &keep);
        initialise(&mut driver, golden);
        driver.set("inputs", |k| tokens[k as usize]);
        driver.set("targets", |k| targets[k as usize]);
        let mut losses = vec![driver.step().unwrap()];
        for (tensor, expected) in gradients {
            let values = driver.value(&format!("grad/{tensor}"));
            for (a, b) in values.iter().zip(numbers(expected)) {
                assert!((a - b).abs() < 1e-10, "{name}: {tensor} {a} for {b}");
            }
            let norm = golden["gradient_norms"][tensor].as_f64().unwrap();
            assert!(close(sum_of_squares(&values).sqrt(), norm, 1e-9), "{name}: {tensor}");
        }
        losses.extend((0..9).map(|_| driver.step().unwrap()));
        for (step, (a, b)) in losses.iter().zip(numbers(&golden["losses_f64"])).enumerate() {
            assert!(close(*a, b, 1e-9), "{name} step {step}: {a} for {b}");
        }
        driver.assert_traffic();
    }
}

/// The benchmark's size. Ten steps are half a minute of arithmetic in each layout, so this looks at
/// the first two, and at the norm of every gradient; `W2_STEPS` says otherwise when compiling.
#[test]
fn w2_in_every_layout() {
    let steps = option_env!("W2_STEPS").map_or(2, |n| n.parse().unwrap());
    let golden: Value = serde_json::from_str(W2).unwrap();
    let golden = &golden["w2"];
    let dims = &golden["dims"];
    let (seq, vocab) = (dims["seq"].as_u64().unwrap(), dims["vocab"].as_u64().unwrap());
    let token = |k: u64, ahead: u64| ((1237 * (k / seq) + 353 * (k % seq + ahead)) % vocab) as f64;
    let norms = golden["gradient_norms"].as_object().unwrap();
    let keep: Vec<String> = norms.keys().map(|n| format!("grad/{n}")).collect();
    let keep: Vec<&str> = keep.iter().map(String::as_str).collect();
    let expected = numbers(&golden["losses_f64"]);
    let mut report = String::new();
    for (name, layout) in LAYOUTS {
        let mut driver = Driver::<f32>::new(&(layout.to_owned() + &w2(golden, "f32")), &keep);
        initialise(&mut driver, golden);
        driver.set("inputs", |k| token(k, 0));
        driver.set("targets", |k| token(k, 1));
        for (step, b) in expected.iter().take(steps).enumerate() {
            let a = driver.step().unwrap();
            writeln!(report, "{name} step {step}: {a} for {b}, off by {:.1e}", (a - b).abs() / b)
                .unwrap();
            assert!(close(a, *b, 1e-4), "{report}");
            if step > 0 {
                continue;
            }
            for (tensor, norm) in norms {
                let found = sum_of_squares(&driver.value(&format!("grad/{tensor}"))).sqrt();
                assert!(close(found, norm.as_f64().unwrap(), 1e-3), "{name}: {tensor} {found}");
            }
        }
        if steps == expected.len() {
            for (tensor, norm) in golden["norms_after_10"].as_object().unwrap() {
                let found = sum_of_squares(&driver.value(tensor)).sqrt();
                let norm = norm.as_f64().unwrap();
                // Adam's steps along gradients near 0 are as long as any: vectors that start at 0
                // carry the rounding of 32-bit floats.
                assert!((found - norm).abs() < 1e-4 * norm + 1e-5, "{name}: {tensor} {found}");
            }
        }
        driver.assert_traffic();
    }
    println!("{report}");
}
