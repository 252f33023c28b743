//! The reference runs of W1 (JAX and PyTorch in 64-bit floats): loss curves in every layout, and
//! gradients element by element at a small size.

use crate::common::{losses, numbers, session, study};
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::graph::init::hash_value;
use meshwork_engine::session::{Session, difference};
use meshwork_engine::spmd::check::check;
use serde_json::Value;

const W1: &str = include_str!("../data/golden_w1.json");
const TINY: &str = include_str!("../data/golden_tiny.json");

/// The study of a golden file, without mesh and layout.
fn text(golden: &Value, lr: f64, train: &str) -> String {
    let dims = &golden["dims"];
    let init = |name: &str| {
        let t = &golden["tensors"][name];
        format!("init:hash(seed:{} scale:{})", t["seed"], t["scale"])
    };
    format!(
        "dims batch:{} io:{} hidden:{}
input x[batch io] {}, target[batch io] {}
param w[io hidden] {}, bias[hidden] {}, v[hidden io] {}
h = relu(einsum(x, w -> batch hidden) + bias)
y = einsum(h, v -> batch io)
loss = mean(square(y - target))
train optimizer:sgd rate:{lr} steps:10 {train}
",
        dims["batch"],
        dims["io"],
        dims["hidden"],
        init("x"),
        init("t"),
        init("w"),
        init("bias"),
        init("v"),
    )
}

const LAYOUTS: [(&str, &str); 6] = [
    ("1", ""),
    ("dp2", "mesh all:2\nlayout batch:all\n"),
    ("mp2", "mesh all:2\nlayout hidden:all\n"),
    ("2x2", "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\n"),
    ("2x2x2", "mesh rows:2 cols:2 planes:2\nlayout batch:rows hidden:cols io:planes\n"),
    ("two mesh dimensions", "mesh rows:2 cols:2\nlayout batch:rows+cols\n"),
];

#[test]
fn the_closed_form_of_initial_values() {
    let golden: Value = serde_json::from_str(W1).unwrap();
    for name in ["x", "t", "w", "bias", "v"] {
        let t = &golden["tensors"][name];
        let (seed, scale) = (t["seed"].as_u64().unwrap() as u32, t["scale"].as_f64().unwrap());
        for (k, expected) in numbers(&t["first4"]).iter().enumerate() {
            assert_eq!(hash_value(k as u32, seed, scale), *expected, "{name}[{k}]");
        }
        let count: u64 =
            t["shape"].as_array().unwrap().iter().map(|s| s.as_u64().unwrap()).product();
        assert_eq!(hash_value(count as u32 - 1, seed, scale), t["last"].as_f64().unwrap());
    }
}

#[test]
fn tiny_losses_and_gradients_in_every_layout() {
    let golden: Value = serde_json::from_str(TINY).unwrap();
    let golden = &golden["W1"];
    let expected = numbers(&golden["losses_f64"]);
    for (name, layout) in LAYOUTS {
        for (dtype, tolerance) in [("f32", 1e-5), ("f64", 1e-12)] {
            let text = layout.to_owned() + &text(golden, 0.5, &format!("dtype:{dtype}"));
            let study = study(&text);
            check(study.program().unwrap()).unwrap();
            let names = ["grad/w", "grad/bias", "grad/v"].map(str::to_owned);
            let mut run = Session::keeping(&study, None, Alone, &names).unwrap();
            let mut curve = vec![run.step().loss.unwrap()];
            for name in ["w", "bias", "v"] {
                let gradient = run.value(&format!("grad/{name}")).unwrap().values;
                let expected = numbers(&golden["grads_step0"][name]);
                assert_eq!(gradient.len(), expected.len());
                let off = difference(&gradient, &expected);
                assert!(off < tolerance, "{layout} {dtype}: grad/{name} is off by {off}");
            }
            curve.extend(losses(&mut run, 9));
            for (step, (a, b)) in curve.iter().zip(&expected).enumerate() {
                assert!((a - b).abs() / b < tolerance, "{name} {dtype} step {step}: {a} for {b}");
            }
            assert_eq!(run.counted(), run.predicted(), "{name}");
        }
    }
}

#[test]
fn the_loss_curve_of_w1_in_every_layout() {
    let golden: Value = serde_json::from_str(W1).unwrap();
    let expected = numbers(&golden["losses_f64"]);
    for (name, layout) in &LAYOUTS[..5] {
        let mut run = session(&((*layout).to_owned() + &text(&golden, 2.0, "")));
        for (step, (a, b)) in losses(&mut run, expected.len()).iter().zip(&expected).enumerate() {
            assert!((a - b).abs() / b < 1e-4, "{name} step {step}: {a} for {b}");
        }
        assert_eq!(run.counted(), run.predicted(), "{name}");
        for (parameter, norm) in golden["param_l2_after10"].as_object().unwrap() {
            let values = run.value(parameter).unwrap().values;
            let found = values.iter().map(|x| x * x).sum::<f64>().sqrt();
            let norm = norm.as_f64().unwrap();
            assert!((found - norm).abs() / norm < 1e-5, "{name}: |{parameter}| = {found}");
        }
    }
}
