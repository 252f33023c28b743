//! The learning rate over time, and clipping by global norm: formulas against plain ones, under
//! several layouts.

use crate::common::study;
use crate::driver::{Driver, given_gradient, in_update};
use meshwork_engine::session::difference;
use std::f64::consts::PI;

/// The rate at step `t`, found as what plain descent takes off a parameter whose gradient is 1.
fn rates(train: &str, layout: &str, steps: usize) -> Vec<f64> {
    let text = given_gradient(layout, "p:4", &format!("{train} dtype:f64"));
    let mut run = Driver::<f64>::new(&text, &["rate"]);
    run.set("w", |_| 0.0);
    run.set("g", |_| 1.0);
    let mut last = vec![0.0; 4];
    let step = |_| {
        run.step();
        let rate = run.value("rate")[0];
        let w = run.value("w");
        for (before, after) in last.iter().zip(&w) {
            assert!((before - after - rate).abs() < 1e-12, "{train}: {w:?}");
        }
        last = w;
        rate
    };
    (0..steps).map(step).collect()
}

#[test]
fn schedules() {
    let progress = |t: f64, from: f64, to: f64| ((t - from) / (to - from)).clamp(0.0, 1.0);
    let cosine = |u: f64| 0.5 * (1.0 + (PI * u).cos());
    let cases: [(&str, &dyn Fn(f64) -> f64); 9] = [
        ("rate:0.5 warmup:4", &|t| 0.5 * (t / 4.0).min(1.0)),
        ("rate:0.5 decay:linear steps:20", &|t| 0.5 * (1.0 - progress(t, 1.0, 20.0))),
        ("rate:0.5 decay:linear decay_steps:9 final_rate:0.2 warmup:4 steps:3", &|t| {
            (t / 4.0).min(1.0) * (0.5 - 0.3 * progress(t, 4.0, 9.0))
        }),
        ("rate:0.5 decay:cosine steps:20", &|t| 0.5 * cosine(progress(t, 1.0, 20.0))),
        ("rate:0.5 decay:cosine steps:20 warmup:5 final_rate:0.1", &|t| {
            (t / 5.0).min(1.0) * (0.1 + 0.4 * cosine(progress(t, 5.0, 20.0)))
        }),
        // Vaswani et al. 2017: d^−½ · min(t^−½, t·N^−1.5), whose greatest is d^−½·N^−½.
        ("rate:0.5 decay:inverse_sqrt warmup:6", &|t: f64| {
            0.5 * 6_f64.sqrt() * t.powf(-0.5).min(t * 6_f64.powf(-1.5))
        }),
        ("rate:0.5 decay:inverse_sqrt", &|t| 0.5 / t.sqrt()),
        ("rate:0.5 decay:constant warmup:1", &|_| 0.5),
        ("rate:0.5 decay:linear steps:1", &|t| if t < 2.0 { 0.5 } else { 0.0 }),
    ];
    for (train, formula) in cases {
        for layout in ["", "mesh all:2\nlayout p:all\n", "mesh a:2 b:2\nlayout p:b\n"] {
            for (i, rate) in rates(train, layout, 25).into_iter().enumerate() {
                let expected = formula((i + 1) as f64);
                assert!((rate - expected).abs() < 1e-14, "{train}, step {}: {rate}", i + 1);
            }
        }
    }
}

/// After step 10 000 the relative step is 1/√t.
#[test]
fn the_relative_step_falls_at_last() {
    let text = given_gradient("", "p:1", "optimizer:adafactor dtype:f64");
    let mut run = Driver::<f64>::new(&text, &["rate"]);
    for _ in 0..10_000 {
        run.step();
    }
    assert!((run.value("rate")[0] - 0.01).abs() < 1e-15);
    for _ in 0..500 {
        run.step();
    }
    assert!((run.value("rate")[0] - 10_500_f64.sqrt().recip()).abs() < 1e-15);
}

const NETWORK: &str = "dims batch:8 in:4 hidden:8 out:4
input x[batch in] init:hash(seed:1 scale:1), target[batch out] init:hash(seed:2 scale:1)
param w[in hidden] init:hash(seed:3 scale:0.5), b[hidden], v[hidden out] init:hash(seed:4 scale:0.5), c[out]
h = tanh(einsum(x, w -> batch hidden) + b)
y = einsum(h, v -> batch out) + c
loss = mean(square(y - target))
";

/// For the network above.
const NETWORK_LAYOUTS: [&str; 6] = [
    "",
    "mesh all:4\nlayout batch:all\n",
    "mesh all:2\nlayout hidden:all\n",
    "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\n",
    "mesh rows:2 cols:2 planes:2\nlayout in:rows hidden:cols out:planes\n",
    "mesh rows:2 cols:4\nlayout in:rows hidden:cols out:rows\n",
];

#[test]
fn clipping_by_global_norm() {
    let parameters = ["w", "b", "v", "c"];
    let gradients = parameters.map(|p| format!("grad/{p}"));
    let mut keep: Vec<&str> = gradients.iter().map(String::as_str).collect();
    keep.push("grad_norm");
    let mut first = None;
    for layout in NETWORK_LAYOUTS {
        // Below the norm at first, then above it.
        for clip in [0.25, 1e3] {
            let train = format!("train rate:0.5 clip:{clip} dtype:f64\n");
            let mut run = Driver::<f64>::new(&(layout.to_owned() + NETWORK + &train), &keep);
            for step in 0..3 {
                let before = parameters.map(|p| run.value(p));
                run.step();
                let gradients: Vec<Vec<f64>> = gradients.iter().map(|g| run.value(g)).collect();
                let norm = gradients.iter().flatten().map(|g| g * g).sum::<f64>().sqrt();
                let found = run.value("grad_norm")[0];
                assert!((found - norm).abs() < 1e-14, "{found} for {norm} under\n{layout}");
                if step == 0 {
                    assert!(norm > 0.25, "{norm}");
                    let first = *first.get_or_insert(norm);
                    assert!((norm - first).abs() < 1e-14, "{norm} for {first} under\n{layout}");
                }
                let scale = (clip / norm).min(1.0);
                for ((name, before), gradient) in parameters.iter().zip(before).zip(gradients) {
                    let expected: Vec<f64> =
                        before.iter().zip(gradient).map(|(w, g)| w - 0.5 * scale * g).collect();
                    assert!(difference(&run.value(name), &expected) < 1e-14, "{name}\n{layout}");
                }
            }
            run.assert_traffic();
        }
    }
}

#[test]
fn a_gradient_of_zero_is_not_clipped() {
    let text = given_gradient("mesh all:2\nlayout p:all\n", "p:4", "clip:1");
    let mut run = Driver::<f32>::new(&text, &["grad_norm"]);
    run.set("w", |k| k as f64);
    run.set("g", |_| 0.0);
    run.step();
    assert_eq!(run.value("grad_norm"), [0.0]);
    assert_eq!(run.value("w"), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn the_norm_takes_few_collectives() {
    let clipped = |layout: &str| in_update(&(layout.to_owned() + NETWORK + "train clip:1\n"));
    // Nothing split: no collective.
    assert_eq!(clipped(""), 0);
    assert_eq!(clipped("mesh all:2\nlayout batch:all\n"), 0);
    // {hidden in}, {hidden out} and {hidden} are partial sums alike, {out} is whole.
    assert_eq!(clipped("mesh all:2\nlayout hidden:all\n"), 1);
    // As many as there are sets of dimensions, where all are split differently.
    assert_eq!(clipped("mesh rows:2 cols:2 planes:2\nlayout in:rows hidden:cols out:planes\n"), 4);
    // However many layers of the same dimensions there are.
    let deep = |times: u32| {
        let block = format!(
            "dims batch:8 io:4 hidden:8\ninput x[batch io]\ny = x\n\
             block layer times:{times}\nparam w[io hidden], v[hidden io], b[hidden]\n\
             h = relu(einsum(y, w -> batch hidden) + b)\ny = y + einsum(h, v -> batch io)\nend\n\
             loss = mean(square(y))\n"
        );
        let mesh = "mesh rows:2 cols:2\nlayout io:rows hidden:cols\n";
        let count = |train: &str| in_update(&format!("{mesh}{block}{train}\n"));
        count("train clip:1") - count("train")
    };
    assert_eq!(deep(1), 2);
    assert_eq!(deep(12), 2);
}

#[test]
fn names_of_the_study_come_first() {
    let text = "dims a:4\nparam rate[a] init:ones, grad_norm[a] init:ones\n\
                loss = sum(square(rate) + grad_norm)\ntrain rate:0.25 warmup:1 clip:100 steps:1\n";
    let mut run = Driver::<f32>::new(text, &[]);
    run.step();
    assert_eq!(run.value("rate"), [0.5; 4]);
    assert_eq!(run.value("grad_norm"), [0.75; 4]);
    let shown = study("dims a:4\nparam w[a]\nloss = sum(w)\ntrain warmup:3 clip:1\n").tensors();
    for name in ["rate", "grad_norm"] {
        assert!(shown.iter().any(|t| &*t.name == name), "{name}");
    }
}
