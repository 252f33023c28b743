//! Gradients against finite differences, in 64-bit floats.

use crate::common::study;
use crate::random::{Kind, model};
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::session::Session;

/// Compares grad/NAME of a one-parameter study `body` (which uses `p`) at every element.
fn compare(body: &str, dims: &str, values: &[f64]) {
    let text = |values: &[f64], train: &str| {
        let list: Vec<String> = values.iter().map(f64::to_string).collect();
        format!("param p[{dims}] init:values({})\n{body}\n{train}", list.join(" "))
    };
    let loss = |values: &[f64]| {
        let study = study(&text(values, "train dtype:f64 steps:1"));
        Session::new(&study, None, Alone).unwrap().step().loss.unwrap()
    };
    let trained = study(&text(values, "train dtype:f64 steps:1"));
    let mut run = Session::keeping(&trained, None, Alone, &["grad/p".to_owned()]).unwrap();
    run.step();
    // A parameter on which the loss does not depend has no gradient node.
    let gradient = run.value("grad/p").map_or(vec![0.0; values.len()], |w| w.values);
    for i in 0..values.len() {
        let h = 1e-5;
        let moved = |by: f64| {
            let mut v = values.to_vec();
            v[i] += by;
            loss(&v)
        };
        let numeric = (moved(h) - moved(-h)) / (2.0 * h);
        let off = (numeric - gradient[i]).abs() / numeric.abs().max(1.0);
        assert!(off < 1e-6, "{body}: element {i}: {} but numerically {numeric}", gradient[i]);
    }
}

const DIMS: &str = "dims i:3 j:2 k:3 l:6 l2:6 m:5 n:4 n2:2 j2:2 j3:2\ninput x[j k] init:uniform(0.2 1.5), t[i] init:uniform(-1 1)\n";

const VALUES: [f64; 6] = [0.7, 1.3, 0.4, 1.9, 0.25, 1.1];

fn compare_functions(functions: &[&str]) {
    for f in functions {
        compare(&format!("{DIMS}y = {f}\nloss = sum(square(y + 0.3) * 1.7)"), "i j", &VALUES);
    }
}

#[test]
fn of_every_function() {
    compare_functions(&[
        "relu(p - 1)",
        "exp(p)",
        "log(p)",
        "sqrt(p)",
        "rsqrt(p)",
        "square(p)",
        "abs(p - 1)",
        "tanh(p)",
        "sigmoid(p)",
        "gelu(p)",
        "silu(p)",
        "-p",
        "p + 2",
        "3 - p",
        "p * x",
        "x * p",
        "p / x",
        "x / p",
        "p ^ x",
        "x ^ p",
        "p ^ 2",
        "p ^ 3",
        "maximum(p, x)",
        "minimum(x, p)",
        "select(less(p, 1), square(p), 2 * p)",
        "p * p",
        "p / (p + 1)",
        "p + t",
        "t * p",
        "softmax(p, dim:i)",
        "log_softmax(p, dim:i)",
        "logsumexp(p, over:i)",
        "cross_entropy(p, softmax(t, dim:i), dim:i)",
        "einsum(p, x -> i k)",
        "einsum(x, p -> k)",
        "einsum(p, x -> )",
        "einsum(p, x, t -> k)",
        "einsum(p -> j)",
        "einsum(p, p -> i)",
        "sum(p -> j)",
        "mean(p, over:j)",
        "max(p -> i)",
        "min(p, over:(i j))",
        "rename(p, i -> k) * x",
        "mean_square(p, t)",
        "stop_gradient(p) * p * 0 + p",
    ]);
}

#[test]
fn of_norms_and_moves() {
    compare_functions(&[
        "softplus(p - 1)",
        "elu(p - 1)",
        "sin(p)",
        "cos(p)",
        "cross_entropy(p, index(j), dim:i label_smoothing:0.1 z_loss:0.01)",
        "layer_norm(p, dim:i)",
        "rms_norm(p, dim:j)",
        "broadcast(p -> k j i)",
        "transpose(p -> j i) * x",
        "reshape(p -> l) * index(l)",
        "reshape(reshape(p, i, j -> l), l -> j k) * x",
        "slice(p, i -> j2, begin:1) * index(j2)",
        "slice(p, i -> j2, begin:0 stride:2) * index(j2)",
        "pad(p, i -> m, before:1) * index(m)",
        "shift(p, dim:i by:1) * index(i)",
        "shift(p, dim:i by:-2 wrap:on) * index(i)",
        "concat(p, x -> l2, dim:(i k)) * index(l2)",
        "stack(p, p * p -> n2) * index(n2)",
        "unstack(p, dim:i at:1)",
        "window(p, i -> i n) * index(n) * index(i)",
        "window(p, i -> j2 n, stride:2) * index(n) * index(j2)",
        "window(p, i -> i n, dilation:2 padding:1 wrap:on) * index(n) * index(i)",
        "conv(p, x, over:i window:k)",
        "max_pool(p, over:i window:j2 to:j3 stride:1)",
        "avg_pool(p, over:i window:j2 to:j3 stride:1)",
        "gather(p, 2 - index(k), dim:i)",
        "gather(p, index(j) + 1, dim:i)",
        "top_k(p -> j2, dim:i) * index(j2)",
        "cumsum(p, dim:i) * index(i)",
        "cumsum(p, dim:i exclusive:on reverse:on) * index(i)",
        "dropout(p, rate:0.4)",
    ]);
}

#[test]
fn of_random_programs() {
    for seed in 1000..1030 {
        let text = model(seed, Kind::Differentiable, 5);
        // One parameter of the random model is checked, under the name p.
        let line = text.lines().find(|l| l.starts_with("param p2")).unwrap();
        let dims = line.split(['[', ']']).nth(1).unwrap();
        let count: usize = dims
            .split_whitespace()
            .map(|d| match d {
                "a" | "e" => 4,
                "b" => 8,
                "c" => 2,
                _ => 6,
            })
            .product();
        if count > 50 {
            continue;
        }
        let body = text.replace(&format!("{line}\n"), "").replace("p2", "p");
        let values: Vec<f64> = (0..count).map(|i| 0.3 + 0.8 * (i as f64 * 0.37).fract()).collect();
        compare(&body, dims, &values);
    }
}

#[test]
fn both_of_two_that_are_equal_take_the_gradient_whole() {
    for (function, x, y) in [
        ("maximum", [1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]),
        ("minimum", [1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0]),
    ] {
        for layout in ["", "mesh r:2\nlayout a:r\n"] {
            let study = study(&format!(
                "{layout}dims a:4\nparam x[a] init:values(1 2 3 4), y[a] init:values(1 3 3 0)\n\
                 loss = sum({function}(x, y))\ntrain steps:1"
            ));
            let names = ["grad/x", "grad/y"].map(str::to_owned);
            let mut run = Session::keeping(&study, None, Alone, &names).unwrap();
            run.step();
            let slope = |name: &str| run.value(name).unwrap().values;
            assert_eq!((slope("grad/x"), slope("grad/y")), (x.to_vec(), y.to_vec()), "{function}");
        }
    }
}
