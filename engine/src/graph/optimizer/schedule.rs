//! The learning rate over time: a warm-up, then a decay. One scalar subgraph over the step number.
//!
//! With t the step number from 1, N the steps of the warm-up, T the step at which the decay ends,
//! r the rate, f the final rate, and P = max(N, 1) the step of the full rate:
//!
//! | | r(t) |
//! |---|---|
//! | warm-up, while t ≤ N | r·t/N: step 1 takes r/N, step N the full rate |
//! | constant | r |
//! | linear | r − (r−f)·u, where u = (t−P)/(T−P), within 0..1 |
//! | cosine | f + (r−f)·½(1 + cos πu) (Loshchilov & Hutter 2017, without restarts) |
//! | inverse square root | r·√P/√max(t, P): with the warm-up, the schedule of Vaswani et al. 2017. (T5's holds r while t ≤ N instead of rising to it.) |
//! | relative step | min(r, 100·r/√t): Adafactor's own, min(10⁻², 1/√t) where r is 10⁻² |
//!
//! After step T the rate stays at f.

use super::maker::Maker;
use crate::diag::Span;
use crate::graph::Graph;
use crate::graph::op::{Element, Role};
use crate::index::NodeId;
use std::f64::consts::PI;

/// The learning rate over time, as factors of its base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// N, steps of the warm-up; 0 for none.
    pub warmup: u64,
    /// What follows.
    pub decay: Decay,
}

/// How the rate goes down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decay {
    /// It does not.
    Constant,
    /// On a straight line.
    Linear(End),
    /// Along half a wave of the cosine.
    Cosine(End),
    /// With one over the root of the step number.
    InverseSqrt,
    /// Adafactor's relative step.
    RelativeStep,
}

/// Where a decay ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// T, the step that takes the final rate.
    pub step: u64,
    /// f.
    pub rate: f64,
}

impl Schedule {
    /// The same rate at every step.
    pub const CONSTANT: Self = Self { warmup: 0, decay: Decay::Constant };

    /// The scalar r(t), called `rate` if the study has no tensor of that name.
    pub(super) fn node(self, graph: &mut Graph, rate: f64, step: NodeId, span: Span) -> NodeId {
        let mut make = Maker::shared(graph, "update/rate", Role::Slot, span);
        let peak = self.warmup.max(1) as f64;
        let decayed = match self.decay {
            Decay::Constant => None,
            Decay::Linear(end) => {
                let u = progress(&mut make, step, peak, end);
                let drop = make.scaled(u, end.rate - rate);
                Some(make.with(Element::Add, drop, rate))
            }
            Decay::Cosine(end) => {
                let u = progress(&mut make, step, peak, end);
                let angle = make.scaled(u, PI);
                let cosine = make.element(Element::Cos, &[angle]);
                let wave = make.scaled(cosine, 0.5 * (rate - end.rate));
                Some(make.with(Element::Add, wave, 0.5 * (rate + end.rate)))
            }
            Decay::InverseSqrt => {
                let t = make.with(Element::Max, step, peak);
                let root = make.element(Element::Rsqrt, &[t]);
                Some(make.scaled(root, rate * peak.sqrt()))
            }
            Decay::RelativeStep => {
                let root = make.element(Element::Rsqrt, &[step]);
                let falling = make.scaled(root, 100.0 * rate);
                Some(make.with(Element::Min, falling, rate))
            }
        };
        let result = if self.warmup == 0 {
            decayed.unwrap_or_else(|| make.number(rate))
        } else {
            let share = make.scaled(step, 1.0 / peak);
            let share = make.with(Element::Min, share, 1.0);
            match decayed {
                Some(decayed) => make.element(Element::Mul, &[decayed, share]),
                None => make.scaled(share, rate),
            }
        };
        make.name(result, "rate");
        result
    }
}

/// u = (t−P)/(T−P), within 0..1.
fn progress(make: &mut Maker<'_>, step: NodeId, peak: f64, end: End) -> NodeId {
    let length = (end.step as f64 - peak).max(1.0);
    let since = make.with(Element::Sub, step, peak);
    let share = make.with(Element::Div, since, length);
    let share = make.with(Element::Max, share, 0.0);
    make.with(Element::Min, share, 1.0)
}
