//! Fully connected networks of any depth.
//!
//! `model mlp batch:32 in:10 hidden:(64 32) out:1` has the dimensions batch, in, hidden1, hidden2,
//! out; with one hidden layer the dimension is `hidden`. `depth:3` repeats a single width.

use super::{MAX_SIZE, Preset};
use crate::graph::options::{DTYPES, Reader};
use crate::spec::ast::OptValue;

pub(super) const PRESET: Preset = Preset {
    name: "mlp",
    about: "A fully connected network of any depth, for regression or classification.",
    options: "batch:32 in:4 hidden:16 depth:1 out:1 activation:relu loss:mse",
    known: &[&["batch", "in", "hidden", "depth", "out", "activation", "loss", "dtype"]],
    expand,
};

const MAX_DEPTH: u64 = 256;

fn expand(read: &mut Reader<'_, '_>) -> String {
    let batch = read.whole("batch", 1, MAX_SIZE).unwrap_or(32);
    let features = read.whole("in", 1, MAX_SIZE).unwrap_or(4);
    let out = read.whole("out", 1, MAX_SIZE).unwrap_or(1);
    let widths = widths(read);
    let activations = ["relu", "tanh", "sigmoid", "gelu", "silu", "none"].map(|name| (name, name));
    let activation = read.choice("activation", &activations).unwrap_or("relu");
    let losses = [("mse", "mse"), ("cross_entropy", "cross_entropy")];
    let loss = read.choice("loss", &losses).unwrap_or("mse");
    read.choice("dtype", DTYPES);

    let dim = |i: usize| {
        if widths.len() == 1 { "hidden".to_owned() } else { format!("hidden{}", i + 1) }
    };
    let mut sizes = format!("dims batch:{batch} in:{features}");
    let mut lines = vec!["input x[batch in], target[batch out]".to_owned()];
    let (mut from, mut before) = ("x".to_owned(), "in".to_owned());
    for (i, width) in widths.iter().enumerate() {
        let (n, to) = (i + 1, dim(i));
        sizes = format!("{sizes} {to}:{width}");
        let sum = format!("einsum({from}, w{n} -> batch {to}) + bias{n}");
        let value = if activation == "none" { sum } else { format!("{activation}({sum})") };
        lines.push(format!("param w{n}[{before} {to}], bias{n}[{to}]"));
        lines.push(format!("h{n} = {value}"));
        (from, before) = (format!("h{n}"), to);
    }
    let n = widths.len() + 1;
    lines.push(format!("param w{n}[{before} out], bias{n}[out]"));
    lines.push(format!("y = einsum({from}, w{n} -> batch out) + bias{n}"));
    let value = if loss == "mse" {
        "mean(square(y - target))"
    } else {
        "mean(cross_entropy(y, target, dim:out))"
    };
    lines.push(format!("loss = {value}"));
    format!("{sizes} out:{out}\n{}\n", lines.join("\n"))
}

fn widths(read: &mut Reader<'_, '_>) -> Vec<u64> {
    let depth = read.whole("depth", 0, MAX_DEPTH);
    let ok = |n: f64| n.fract() == 0.0 && n >= 1.0 && n <= MAX_SIZE as f64;
    let Some(option) = read.get("hidden") else {
        return vec![16; depth.unwrap_or(1) as usize];
    };
    match &option.value {
        OptValue::Number(n) if ok(*n) => vec![*n as u64; depth.unwrap_or(1) as usize],
        OptValue::List(list) if list.len() as u64 <= MAX_DEPTH => {
            let sizes: Vec<u64> = list
                .iter()
                .filter_map(|v| if let OptValue::Number(n) = v { Some(*n) } else { None })
                .filter(|&n| ok(n))
                .map(|n| n as u64)
                .collect();
            if sizes.len() < list.len() || depth.is_some_and(|d| d as usize != sizes.len()) {
                read.bad(option, "a width, or a list of widths as long as `depth`: (64 32)");
            }
            sizes
        }
        OptValue::Number(_) | OptValue::List(_) | OptValue::Word(_) | OptValue::Call { .. } => {
            read.bad(option, "a width such as 64, or a list of widths such as (64 32)");
            vec![16]
        }
    }
}
