//! Optimizers: the trajectories of Mesh-TensorFlow, and formulas against plain ones, under several
//! layouts.

use crate::common::study;
use crate::driver::{Driver, LAYOUTS, det, given_gradient, in_update};
use crate::random::{Kind, laid_out, model};
use meshwork_engine::exec::number::Number;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::index::NodeId;
use meshwork_engine::session::{Session, difference};
use meshwork_engine::spmd::check::check;
use meshwork_engine::study::Study;
use serde_json::Value;

const GOLDEN: &str = include_str!("../data/golden_optimizers.json");

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn golden_run<T: Number>(golden: &Value, layout: &str, dtype: &str) -> Vec<Vec<f64>> {
    let train = format!("{} dtype:{dtype}", golden["train"].as_str().unwrap());
    let text = given_gradient(layout, golden["dims"].as_str().unwrap(), &train);
    let mut run = Driver::<T>::new(&text, &[]);
    run.set("w", |k| det(k, 50, 0.5));
    let mut found = Vec::new();
    for (t, state) in golden["states"].as_array().unwrap().iter().enumerate() {
        run.set("g", |k| det(k, 60 + t as u32, 1.0));
        run.step();
        for (name, expected) in state.as_object().unwrap() {
            let (values, expected) = (run.value(name), numbers(expected));
            assert_eq!(values.len(), expected.len(), "{name}");
            for (a, b) in values.iter().zip(&expected) {
                let close = (a - b).abs() < 1e-5 * b.abs() + 1e-6;
                assert!(close, "step {t}: {name} is {a} for {b} in\n{text}");
            }
            found.push(values);
        }
    }
    run.assert_traffic();
    found
}

/// There is no case of momentum: in the original its step takes the slot from before, so that it
/// lags by one; ours is the textbook's.
#[test]
fn the_trajectories_of_mesh_tensorflow_in_every_layout() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    for case in golden["cases"].as_array().unwrap() {
        let has_h = case["dims"].as_str().unwrap().contains("h:");
        let alone = golden_run::<f64>(case, "", "f64");
        for layout in LAYOUTS.iter().filter(|l| has_h || !l.contains("h:")) {
            golden_run::<f32>(case, layout, "f32");
            let split = golden_run::<f64>(case, layout, "f64");
            for (a, b) in split.iter().zip(&alone) {
                let off = difference(a, b);
                assert!(off < 1e-13, "{}: off by {off} under\n{layout}", case["name"]);
            }
        }
    }
}

/// Runs `steps` steps with the same gradients and compares `w` with what `plain` makes of it; its
/// arguments are w, the gradient and the step from 1.
fn compare(dims: &str, train: &str, steps: u32, mut plain: impl FnMut(&mut [f64], &[f64], f64)) {
    let count: u64 =
        dims.split(' ').map(|d| d.split(':').nth(1).unwrap().parse::<u64>().unwrap()).product();
    let gradient = |t: u32| -> Vec<f64> { (0..count).map(|k| det(k, 80 + t, 2.0)).collect() };
    let mut expected: Vec<f64> = (0..count).map(|k| det(k, 70, 0.5)).collect();
    let mut curve = Vec::new();
    for t in 1..=steps {
        plain(&mut expected, &gradient(t), f64::from(t));
        curve.push(expected.clone());
    }
    for layout in LAYOUTS.iter().filter(|l| dims.contains("h:") || !l.contains("h:")) {
        let matches_all = ["p", "q"].iter().all(|d| dims.contains(d) || !layout.contains(d));
        if !matches_all {
            continue;
        }
        let text = given_gradient(layout, dims, &format!("{train} dtype:f64"));
        let mut run = Driver::<f64>::new(&text, &[]);
        run.set("w", |k| det(k, 70, 0.5));
        for t in 1..=steps {
            let g = gradient(t);
            run.set("g", |k| g[k as usize]);
            run.step();
            let off = difference(&run.value("w"), &curve[t as usize - 1]);
            assert!(off < 1e-12, "step {t} is off by {off} in\n{text}");
        }
        run.assert_traffic();
    }
}

/// Loshchilov & Hutter 2019, algorithm 2, with ε outside the root.
fn adamw(rate: f64, decay: f64, w: &mut [f64], g: &[f64], t: f64, slots: &mut [Vec<f64>; 2]) {
    for (i, (w, g)) in w.iter_mut().zip(g).enumerate() {
        let [m, v] = slots;
        m[i] = 0.8 * m[i] + 0.2 * g;
        v[i] = 0.95 * v[i] + 0.05 * g * g;
        let step =
            m[i] / (1.0 - 0.8_f64.powf(t)) / ((v[i] / (1.0 - 0.95_f64.powf(t))).sqrt() + 1e-6);
        *w -= rate * (step + decay * *w);
    }
}

#[test]
fn adamw_decays_matrices_and_not_vectors() {
    let train = "optimizer:adamw rate:0.02 beta1:0.8 beta2:0.95 epsilon:1e-6 weight_decay:0.3";
    for (dims, decay) in [("p:4 q:6", 0.3), ("q:6", 0.0), ("h:2 p:4 q:6", 0.3)] {
        let mut slots = [vec![0.0; 48], vec![0.0; 48]];
        compare(dims, train, 5, |w, g, t| adamw(0.02, decay, w, g, t, &mut slots));
    }
    let adam = "optimizer:adam rate:0.02 beta1:0.8 beta2:0.95 epsilon:1e-6";
    let mut slots = [vec![0.0; 48], vec![0.0; 48]];
    compare("p:4 q:6", adam, 5, |w, g, t| adamw(0.02, 0.0, w, g, t, &mut slots));
}

#[test]
fn momentum_takes_the_step_of_now() {
    let mut m = [0.0; 24];
    compare("p:4 q:6", "optimizer:momentum momentum:0.7 rate:0.05", 4, |w, g, _| {
        for (i, (w, g)) in w.iter_mut().zip(g).enumerate() {
            m[i] = 0.7 * m[i] + g;
            *w -= 0.05 * m[i];
        }
    });
}

fn root_mean_square(x: &[f64]) -> f64 {
    (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64).sqrt()
}

/// The end of Shazeer & Stern 2018, algorithms 4 and 5: clip the normalised gradient, scale it.
fn take(w: &mut [f64], x: &[f64], rate: f64) {
    let scale = root_mean_square(w).max(1e-3) * rate / root_mean_square(x).max(1.0);
    for (w, x) in w.iter_mut().zip(x) {
        *w -= scale * x;
    }
}

#[test]
fn adafactor_by_default() {
    // Relative step: 0.01 until step 10 000. Nothing is as large as 128, so nothing is factored.
    let mut v = vec![0.0; 24];
    compare("p:4 q:6", "optimizer:adafactor", 5, |w, g, t| {
        let decay = 1.0 - t.powf(-0.8);
        for (v, g) in v.iter_mut().zip(g) {
            *v = decay * *v + (1.0 - decay) * (g * g + 1e-30);
        }
        let x: Vec<f64> = g.iter().zip(&v).map(|(g, v)| g / v.sqrt()).collect();
        take(w, &x, 0.01_f64.min(1.0 / t.sqrt()));
    });
    let (mut r, mut c) = (vec![0.0; 4], vec![0.0; 6]);
    compare("p:4 q:6", "optimizer:adafactor min_dim_size_to_factor:2", 5, |w, g, t| {
        let decay = 1.0 - t.powf(-0.8);
        let mix = |old: &mut f64, new: f64| *old = decay * *old + (1.0 - decay) * new;
        for (i, r) in r.iter_mut().enumerate() {
            mix(r, (0..6).map(|j| g[i * 6 + j].powi(2) + 1e-30).sum::<f64>() / 6.0);
        }
        for (j, c) in c.iter_mut().enumerate() {
            mix(c, (0..4).map(|i| g[i * 6 + j].powi(2) + 1e-30).sum::<f64>() / 4.0);
        }
        let mean = r.iter().sum::<f64>() / 4.0;
        let x: Vec<f64> = (0..24).map(|k| g[k] / (r[k / 6] * c[k % 6] / mean).sqrt()).collect();
        take(w, &x, 0.01_f64.min(1.0 / t.sqrt()));
    });
}

/// The two means, the mean of row means, and the sizes of the step and of the parameter.
#[test]
fn adafactor_takes_five_collectives_per_parameter() {
    let train = "optimizer:adafactor min_dim_size_to_factor:4";
    let count = |layout: &str| in_update(&given_gradient(layout, "p:4 q:6", train));
    assert_eq!(count("mesh rows:2 cols:3\nlayout p:rows q:cols\n"), 5);
    // A mean over a dimension that is whole is local.
    assert_eq!(count("mesh all:2\nlayout p:all\n"), 4);
    assert_eq!(count("mesh all:3\nlayout q:all\n"), 3);
    assert_eq!(count(""), 0);
}

#[test]
fn adafactor_takes_parameters_of_any_rank() {
    let text = "mesh all:2\nlayout q:all\ndims q:6\ninput x[q]\nparam a[], b[q]\n\
                loss = mean(square(x * b + a))\ntrain optimizer:adafactor beta1:0.5 steps:3\n";
    let (split, alone) = (study(text), study(text).alone());
    let (mut split, mut alone) =
        (Session::new(&split, None, Alone).unwrap(), Session::new(&alone, None, Alone).unwrap());
    let losses: Vec<f64> = (0..50).map(|_| split.step().loss.unwrap()).collect();
    for _ in 0..50 {
        alone.step();
    }
    for name in ["a", "b"] {
        let [x, y] = [&split, &alone].map(|s| s.value(name).unwrap().values);
        assert!(difference(&x, &y) < 1e-6, "{name}");
    }
    assert!(losses.iter().all(|l| l.is_finite()));
    assert_eq!(split.counted(), split.predicted());
}

#[test]
fn every_optimizer_takes_the_scheduled_rate() {
    let mut slots = [vec![0.0; 24], vec![0.0; 24]];
    let train = "optimizer:adamw rate:0.02 beta1:0.8 beta2:0.95 epsilon:1e-6 weight_decay:0.3 warmup:2 decay:inverse_sqrt";
    compare("p:4 q:6", train, 5, |w, g, t| {
        adamw(0.02 * (t / 2.0).min((2.0 / t).sqrt()), 0.3, w, g, t, &mut slots);
    });
    let mut v = vec![0.0; 24];
    compare("p:4 q:6", "optimizer:adafactor warmup:3", 5, |w, g, t| {
        let decay = 1.0 - t.powf(-0.8);
        for (v, g) in v.iter_mut().zip(g) {
            *v = decay * *v + (1.0 - decay) * (g * g + 1e-30);
        }
        let x: Vec<f64> = g.iter().zip(&v).map(|(g, v)| g / v.sqrt()).collect();
        take(w, &x, 0.01 * (t / 3.0).min(1.0));
    });
}

#[test]
fn random_programs_are_equal_within_rounding() {
    const TRAINS: [&str; 4] = [
        "optimizer:adamw rate:0.01 clip:0.1 warmup:2",
        "optimizer:adafactor epsilon:1e-6 min_dim_size_to_factor:2 beta1:0.5",
        "optimizer:adafactor epsilon:1e-6 min_dim_size_to_factor:4 clip:1 rate:0.1 decay:cosine",
        "optimizer:sgd rate:0.01 clip:0.01 decay:linear",
    ];
    for seed in 0..160 {
        let train = TRAINS[seed as usize % TRAINS.len()];
        let text = format!("{}train {train} steps:4 dtype:f64\n", model(seed, Kind::Smooth, 6));
        let on_mesh = laid_out(seed, &text);
        check(on_mesh.program().unwrap()).unwrap();
        let names: Vec<String> =
            on_mesh.graph().nodes().iter().map(|n| n.name.to_string()).collect();
        let ids: Vec<NodeId> = on_mesh.graph().nodes().ids().collect();
        check(&on_mesh.program_keeping(&ids).unwrap()).unwrap();
        let run = |study: &Study| {
            let mut session = Session::new(study, None, Alone).unwrap();
            for _ in 0..3 {
                session.step();
            }
            session
        };
        let (split, alone) = (run(&on_mesh), run(&on_mesh.alone()));
        for name in names {
            let (Some(a), Some(b)) = (split.value(&name), alone.value(&name)) else { continue };
            let scale = b.values.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
            let off = difference(&a.values, &b.values) / scale;
            assert!(off < 1e-7, "seed {seed}: {name} is off by {off} in\n{}", on_mesh.text());
        }
        assert_eq!(split.counted(), split.predicted(), "seed {seed}\n{}", on_mesh.text());
    }
}
