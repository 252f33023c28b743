//! Adam (Kingma & Ba 2015) and `AdamW` (Loshchilov & Hutter 2019).
//!
//! ```text
//! m = β₁·m + (1−β₁)·g                      slot adam.m/p, shape of p
//! v = β₂·v + (1−β₂)·g²                     slot adam.v/p, shape of p
//! m̂ = m/(1−β₁ᵗ)   v̂ = v/(1−β₂ᵗ)            bias correction; without it m̂ = m, v̂ = v
//! p −= r·( m̂/(√v̂ + ε) + λ·p )              λ: weight decay, of `AdamW`
//! ```
//!
//! The decay is decoupled: λ·p is no part of the gradient, so m and v do not see it, and it is
//! scaled by the rate alone. It acts on parameters of two dimensions and more; biases, gains and
//! other vectors do not decay. Mesh-TensorFlow's `AdamWeightDecayOptimizer` is this without bias
//! correction and with ε = 10⁻⁶, where all parameters decay but those excluded by name.

use super::Update;
use super::maker::Maker;
use crate::graph::op::Element;
use crate::index::NodeId;

/// Adam's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam {
    /// β₁, decay of the mean of gradients.
    pub beta1: f64,
    /// β₂, decay of the mean of their squares.
    pub beta2: f64,
    /// ε, added to the root, against division by zero.
    pub epsilon: f64,
    /// Whether the means are corrected for having started at zero.
    pub bias_correction: bool,
    /// λ; 0 for plain Adam.
    pub weight_decay: f64,
}

/// Parameters of fewer dimensions do not decay.
const LEAST_RANK: usize = 2;

impl Adam {
    /// What is subtracted from the parameter.
    pub(super) fn change(&self, make: &mut Maker<'_>, at: &Update) -> NodeId {
        let m = make.slot("adam.m", at.parameter);
        let v = make.slot("adam.v", at.parameter);
        let square = make.element(Element::Square, &[at.gradient]);
        let m_new = make.average(m, at.gradient, self.beta1);
        let v_new = make.average(v, square, self.beta2);
        make.assign(m, m_new);
        make.assign(v, v_new);
        let m_hat = self.corrected(make, m_new, at.step, self.beta1);
        let v_hat = self.corrected(make, v_new, at.step, self.beta2);
        let root = make.element(Element::Sqrt, &[v_hat]);
        let floor = make.with(Element::Add, root, self.epsilon);
        let mut direction = make.element(Element::Div, &[m_hat, floor]);
        if self.weight_decay > 0.0 && make.graph.shape(at.parameter).rank() >= LEAST_RANK {
            let decay = make.scaled(at.parameter, self.weight_decay);
            direction = make.element(Element::Add, &[direction, decay]);
        }
        make.times_rate(direction, at.rate)
    }

    /// x / (1 − decayᵗ)
    fn corrected(&self, make: &mut Maker<'_>, x: NodeId, step: NodeId, decay: f64) -> NodeId {
        if !self.bias_correction {
            return x;
        }
        let divisor = make.element(Element::OneMinusPower(decay), &[step]);
        make.element(Element::Div, &[x, divisor])
    }
}
