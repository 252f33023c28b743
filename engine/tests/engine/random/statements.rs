//! What stands around expressions: assignments, blocks, states, the parts of the loss, `train`.

use super::{Draft, Kind, Random, Tensor, names};
use meshwork_engine::study::Study;
use std::fmt::Write as _;

impl Draft {
    /// Writes the statement that makes the tensor `t{i}`.
    pub(super) fn statement(&mut self, i: usize) -> Tensor {
        let (x, y) = self.two();
        // What is trained is no name that a block carries on.
        let is_carried = !x.text.starts_with('p');
        let value = match self.random.below(12) {
            0 if is_carried => self.block(i, &x, &y),
            1 => self.state(i, &x),
            _ => self.value(&x, &y),
        };
        let _ = writeln!(self.text, "t{i} = {}", value.text);
        Tensor::new(format!("t{i}"), value.dims)
    }

    /// A block that carries `x` on, with a parameter of its own, and an expression in between.
    fn block(&mut self, i: usize, x: &Tensor, y: &Tensor) -> Tensor {
        let times = *self.random.pick(&["", " times:2", " times:3"]);
        let remat = *self.random.pick(&["", " remat:on"]);
        let _ = writeln!(self.text, "block k{i}{times}{remat}");
        let w = self.param(&x.dims);
        let inner = self.value(x, y);
        let common: Vec<usize> = x.dims.iter().copied().filter(|&d| inner.has(d)).collect();
        let sum = format!("einsum(u -> {})", names(&common));
        let (x, w) = (&x.text, &w.text);
        let _ = writeln!(self.text, "u = {}", inner.text);
        let carried = match self.kind {
            Kind::Whole => format!("{x} + {w} * {sum}"),
            Kind::Smooth | Kind::Differentiable => format!("{x} * {w} + tanh({sum})"),
        };
        let _ = writeln!(self.text, "{x} = {carried}\nend");
        Tensor::new(format!("{x} * 2"), self.dims_of(x))
    }

    fn dims_of(&self, name: &str) -> Vec<usize> {
        let found = self.tensors.iter().find(|t| t.text == name);
        found.map_or_else(Vec::new, |t| t.dims.clone())
    }

    /// A state that `x` goes into.
    fn state(&mut self, i: usize, x: &Tensor) -> Tensor {
        let next = match self.kind {
            Kind::Whole => format!("{} - s{i}", x.text),
            Kind::Smooth | Kind::Differentiable => format!("0.9 * s{i} + 0.1 * {}", x.text),
        };
        let _ = writeln!(self.text, "state s{i}[{}] init:ones\ns{i} := {next}", names(&x.dims));
        Tensor::new(format!("{} * s{i}", x.text), x.dims.clone())
    }

    /// A tensor's part of the loss.
    pub(super) fn part_of_loss(&mut self, t: &Tensor) -> String {
        let t = &t.text;
        if self.is_whole() {
            return format!("sum({t})");
        }
        match self.random.below(4) {
            0 => format!("mean({t})"),
            1 => format!("mean_square({t}, 0.3)"),
            2 => format!("0.1 * sum({t})"),
            _ => format!("sum({t})"),
        }
    }
}

/// How smooth programs are trained; the small numbers are made larger, so that none of the
/// optimizers divides rounding by rounding.
const TRAINS: [&str; 6] = [
    "optimizer:adam rate:0.01 epsilon:0.001",
    "optimizer:adamw rate:0.01 epsilon:0.001 clip:0.5 warmup:2",
    "optimizer:momentum rate:0.001 decay:cosine",
    "optimizer:sgd rate:0.001 clip:0.1 decay:linear",
    "optimizer:adafactor epsilon:1e-6 min_dim_size_to_factor:2 beta1:0.5",
    "optimizer:adafactor epsilon:1e-6 min_dim_size_to_factor:4 clip:1 rate:0.1",
];

/// The model with a `train` line: some in micro-batches, where that can be.
pub(crate) fn trained(seed: u64, kind: Kind, model: &str) -> String {
    let random = &mut Random::new(seed ^ 0x7EA1);
    let train = match kind {
        Kind::Whole => "optimizer:sgd rate:1",
        Kind::Smooth | Kind::Differentiable => *random.pick(&TRAINS),
    };
    let text = format!("{model}train {train} steps:5 dtype:f64");
    if random.chance(0.6) {
        let parts = *random.pick(&[2, 2, 3, 4]);
        let first = random.below(5);
        for i in 0..5 {
            let rows = ["a", "b", "c", "d", "e"][(first + i) % 5];
            let cut = format!("{text} micro_batches:{parts} batch:{rows}\n");
            // Where no parameter has these rows.
            if !Study::new(&cut).has_errors() {
                return cut;
            }
        }
    }
    text + "\n"
}
