//! The benchmark networks: W1, two layers with SGD, and W2, a Transformer of four layers with Adam,
//! each in the layouts in which it is measured. Their initial values are closed forms of the global
//! index, so that every engine can start from the same.

use meshwork_engine::exec::machine::Machine;
use meshwork_engine::exec::number::Number;
use meshwork_engine::exec::pool::Pool;
use meshwork_engine::graph::init::{Values, hash_value};
use meshwork_engine::graph::op::Op;
use meshwork_engine::study::Study;
use std::sync::Arc;

const W1: &str = "dims batch:256 io:1024 hidden:4096
input x[batch io] init:hash(seed:1 scale:1), target[batch io] init:hash(seed:2 scale:1)
param w[io hidden] init:hash(seed:3 scale:0.05), bias[hidden] init:hash(seed:4 scale:0.1)
param v[hidden io] init:hash(seed:5 scale:0.03)
h = relu(einsum(x, w -> batch hidden) + bias)
y = einsum(h, v -> batch io)
loss = mean(square(y - target))
train optimizer:sgd rate:2 steps:10
";

const W2: &str = "model transformer batch:8 length:128 vocab:8192 d_model:256 heads:4 d_kv:64 \
                  d_ff:1024 layers:4 norm:layer epsilon:0.00001 inputs:given
train optimizer:adam rate:0.0002 beta1:0.9 beta2:0.999 epsilon:0.00000001 steps:10
";

/// A network that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Workload {
    /// Two layers.
    #[value(name = "W1")]
    W1,
    /// A Transformer.
    #[value(name = "W2")]
    W2,
}

impl Workload {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::W1 => "W1",
            Self::W2 => "W2",
        }
    }

    /// Operations of the products of a step; the mask of attention saves none.
    pub(super) const fn flops(self) -> f64 {
        match self {
            Self::W1 => 10.0 * 256.0 * 1024.0 * 4096.0,
            Self::W2 => {
                let tokens = 8.0 * 128.0;
                let layer = 4.0 * 256.0 * 256.0 + 2.0 * 256.0 * 1024.0;
                let attention = 4.0 * 2.0 * (2.0 * 8.0 * 4.0 * 128.0 * 128.0 * 64.0);
                6.0 * (4.0 * layer + 256.0 * 8192.0) * tokens + 3.0 * attention
            }
        }
    }

    /// Its layouts by name: `mesh` and `layout` lines.
    pub(super) const fn layouts(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::W1 => &[
                ("1", ""),
                ("dp2", "mesh all:2\nlayout batch:all\n"),
                ("mp2", "mesh all:2\nlayout hidden:all\n"),
                ("2x2", "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\n"),
                ("2x2x2", "mesh rows:2 cols:2 planes:2\nlayout batch:rows hidden:cols io:planes\n"),
            ],
            Self::W2 => &[
                ("1", ""),
                ("dp2", "mesh all:2\nlayout batch:all\n"),
                ("mp2", "mesh all:2\nlayout vocab:all d_ff:all heads:all\n"),
                ("2x2", "mesh rows:2 cols:2\nlayout batch:rows vocab:cols d_ff:cols heads:cols\n"),
            ],
        }
    }

    /// The study in a layout.
    pub(super) fn study(self, layout: &str) -> Option<Study> {
        let lines = self.layouts().iter().find(|l| l.0 == layout)?.1;
        let text = match self {
            Self::W1 => W1,
            Self::W2 => W2,
        };
        Some(Study::new(&format!("{lines}{text}")))
    }

    /// A host whose sources hold the initial values.
    pub(super) fn host<T: Number, P: Pool>(self, study: &Study, pool: P) -> Option<Machine<T, P>> {
        let mut host = Machine::new(Arc::new(study.program()?.clone()), pool);
        for source in host.program().sources.clone() {
            let node = study.graph().node(host.program().values[source].node);
            let Op::Source(init) = &node.op else { continue };
            let values = Values::new(init, 0, &node.name);
            match of_w2(&node.name).filter(|_| self == Self::W2) {
                Some(Initial::Hash(seed, scale)) => {
                    host.set(source, |k| hash_value(k as u32, seed, scale));
                }
                Some(Initial::Tokens(ahead)) => host.set(source, |k| token(k, ahead)),
                None => host.set(source, |k| values.at(k)),
            }
        }
        Some(host)
    }
}

/// How a tensor of W2 begins.
enum Initial {
    /// Seed and scale of the closed form.
    Hash(u32, f64),
    /// Tokens, so many positions ahead.
    Tokens(u64),
}

fn of_w2(name: &str) -> Option<Initial> {
    match name {
        "inputs" => return Some(Initial::Tokens(0)),
        "targets" => return Some(Initial::Tokens(1)),
        "embedding" => return Some(Initial::Hash(11, 1.0)),
        "positions" => return Some(Initial::Hash(12, 1.0)),
        "unembedding" => return Some(Initial::Hash(13, 0.05)),
        _ => {}
    }
    let (layer, tensor) = name.strip_prefix("layer.")?.split_once('.')?;
    let (nth, scale) = match tensor {
        "attention.q" => (1, 0.1),
        "attention.k" => (2, 0.1),
        "attention.v" => (3, 0.1),
        "attention.o" => (4, 0.1),
        "ffn.wi" => (5, 0.1),
        "ffn.wo" => (6, 0.05),
        _ => return None,
    };
    Some(Initial::Hash(100 * (layer.parse::<u32>().ok()? + 1) + nth, scale))
}

fn token(k: u64, ahead: u64) -> f64 {
    ((1237 * (k / 128) + 353 * (k % 128 + ahead)) % 8192) as f64
}
