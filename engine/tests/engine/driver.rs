//! A study whose inputs and parameters are set from outside, for tests of what a step does with
//! given gradients: with `loss = sum(w*g)` the gradient by `w` is the input `g`.

use crate::common::study;
use meshwork_engine::exec::machine::Machine;
use meshwork_engine::exec::number::Number;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::graph::init::Values;
use meshwork_engine::graph::op::{Op, Phase};
use meshwork_engine::index::NodeId;
use meshwork_engine::spmd::check::check;
use meshwork_engine::study::Study;
use std::sync::Arc;

/// For the dimensions h:2 p:4 q:6.
pub(crate) const LAYOUTS: [&str; 7] = [
    "",
    "mesh all:2\nlayout p:all\n",
    "mesh all:3\nlayout q:all\n",
    "mesh rows:2 cols:3\nlayout p:rows q:cols\n",
    "mesh rows:2 cols:2\nlayout p:rows+cols\n",
    "mesh rows:2 cols:2 planes:2\nlayout h:planes p:cols q:rows\n",
    "mesh rows:2 idle:2\nlayout q:rows\n",
];

/// A study whose inputs and parameters are set from outside.
pub(crate) struct Driver<T> {
    study: Study,
    host: Machine<T, Alone>,
}

impl<T: Number> Driver<T> {
    pub(crate) fn new(text: &str, keep: &[&str]) -> Self {
        let study = study(text);
        let keep: Vec<NodeId> = keep.iter().map(|n| study.graph().find(n).unwrap()).collect();
        let program = study.program_keeping(&keep).unwrap();
        check(&program).unwrap();
        let mut host = Machine::new(Arc::new(program), Alone);
        for source in host.program().sources.clone() {
            let node = study.graph().node(host.program().values[source].node);
            let Op::Source(init) = &node.op else { unreachable!() };
            let values = Values::new(init, 0, &node.name);
            host.set(source, |index| values.at(index));
        }
        Self { study, host }
    }

    pub(crate) fn set(&mut self, name: &str, at: impl Fn(u64) -> f64) {
        let node = self.study.graph().find(name).unwrap();
        let source = self.host.program().of_node[node].unwrap();
        self.host.set(source, at);
    }

    /// Runs a step; its loss, before the update.
    pub(crate) fn step(&mut self) -> Option<f64> {
        self.host.step(Phase::Update)
    }

    /// Runs the forward pass alone, as validating does.
    pub(crate) fn look(&mut self) -> Option<f64> {
        self.host.look()
    }

    pub(crate) fn value(&self, name: &str) -> Vec<f64> {
        let node = self.study.graph().find(name).unwrap();
        self.host.whole(self.host.program().of_node[node].unwrap()).unwrap()
    }

    pub(crate) fn assert_traffic(&self) {
        let predicted = self.study.tally().unwrap().traffic().times(self.host.step_number());
        assert_eq!(self.host.counted(), predicted, "{}", self.study.text());
    }
}

/// The closed form of the golden file.
pub(crate) fn det(k: u64, seed: u32, scale: f64) -> f64 {
    let k = k as u32;
    let mut h = k.wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503)) + 12_345;
    h ^= h >> 15;
    h = h.wrapping_mul(2_246_822_519);
    h ^= h >> 13;
    f64::from(((f64::from(h) / 4_294_967_296.0 - 0.5) * 2.0 * scale) as f32)
}

/// A parameter `w` whose gradient is `g`.
pub(crate) fn given_gradient(layout: &str, dims: &str, train: &str) -> String {
    let names: Vec<&str> = dims.split(' ').map(|d| d.split(':').next().unwrap()).collect();
    let names = names.join(" ");
    format!(
        "{layout}dims {dims}\ninput g[{names}]\nparam w[{names}]\nloss = sum(w * g)\ntrain {train}\n"
    )
}

/// How many collectives the update has.
pub(crate) fn in_update(text: &str) -> usize {
    study(text).collectives().iter().filter(|c| c.phase == Phase::Update).count()
}

/// The first values that the golden files state.
#[test]
fn the_closed_form() {
    let first = [0.703_336_775, 0.482_973_695, 0.749_167_442, 0.307_009_816];
    for (k, expected) in first.iter().enumerate() {
        assert!((det(k as u64, 1, 1.0) - expected).abs() < 1e-8);
    }
}
