//! Adafactor (Shazeer & Stern 2018), as in Mesh-TensorFlow's `AdafactorOptimizer`.
//!
//! A matrix of second moments is kept as its row and column means, so a parameter of n·m elements
//! needs n + m numbers of state. For w`[p q]`, whose largest dimension is q:
//!
//! ```text
//! s  = g² + ε                                            [p q]   ε = 10⁻³⁰
//! vr = d·vr + (1−d)·mean over q of s                     [p]     slot adafactor.vr/w
//! vc = d·vc + (1−d)·mean over p of s                     [q]     slot adafactor.vc/w
//! x  = g · 1/√(vr / mean over p of vr) · 1/√vc           [p q]
//! u  = x / max(1, RMS(x)/c)                              [p q]   c: update clip, 1
//! p −= r · max(RMS(w), 10⁻³) · u                                 RMS(y) = √mean(y²), a scalar
//! ```
//!
//! The decay d is 1 − t^−0.8, or β₂ where one is given. The two largest dimensions are factored, of
//! equal ones the first; further ones stay in both means (w`[h p q]` has vr`[h p]` and vc`[h q]`).
//! Where the second largest has fewer elements than `min_dim_size_to_factor`, there is one slot
//! adafactor.v/w of w's shape and x = g/√v. With β₁ the step is averaged: m = β₁·m + (1−β₁)·step,
//! in the slot adafactor.m/w. Under splits, the means and both RMS are reductions over what is
//! split: at most five small collectives per parameter.

use super::maker::Maker;
use super::{Rate, Update};
use crate::graph::op::{Element, Reduction};
use crate::index::NodeId;
use crate::layout::dims::{Name, Shape};

/// Adafactor's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adafactor {
    /// β₁, decay of the mean of steps; 0: no such mean is kept.
    pub beta1: f64,
    /// β₂, decay of the mean of squares where it is constant.
    pub beta2: Option<f64>,
    /// ε, added to the squares of gradients.
    pub epsilon: f64,
    /// The least size of a factored dimension.
    pub min_dim_size_to_factor: u64,
    /// Whether steps are relative to the size of the parameter.
    pub parameter_scale: bool,
    /// c, the greatest RMS of a step before it is scaled.
    pub update_clip: f64,
}

/// The exponent of the decay 1 − t^−0.8.
const DECAY_EXPONENT: f64 = 0.8;

/// A parameter counts as at least this large, so that one that is zero can leave it.
const LEAST_SCALE: f64 = 1e-3;

impl Adafactor {
    /// The learning rate where the study gives none: of the relative step, its bound above.
    pub const fn default_rate(&self) -> f64 {
        if self.parameter_scale { 0.01 } else { 0.01 * 0.05 }
    }

    /// What is subtracted from the parameter.
    pub(super) fn change(&self, make: &mut Maker<'_>, at: &Update) -> NodeId {
        let x = self.normalised(make, at);
        let size = make.root_mean_square(x);
        let over = make.with(Element::Div, size, self.update_clip);
        let divisor = make.with(Element::Max, over, 1.0);
        let rate = match at.rate {
            Rate::Fixed(rate) => make.number(rate),
            Rate::Scheduled(rate) => rate,
        };
        let mut scale = make.element(Element::Div, &[rate, divisor]);
        if self.parameter_scale {
            let size = make.root_mean_square(at.parameter);
            let size = make.with(Element::Max, size, LEAST_SCALE);
            scale = make.element(Element::Mul, &[scale, size]);
        }
        let change = make.element(Element::Mul, &[x, scale]);
        if self.beta1 == 0.0 {
            return change;
        }
        let m = make.slot("adafactor.m", at.parameter);
        let mean = make.average(m, change, self.beta1);
        make.assign(m, mean);
        mean
    }

    /// The gradient over the root of its second moment.
    fn normalised(&self, make: &mut Maker<'_>, at: &Update) -> NodeId {
        let shape = make.graph.shape(at.parameter).clone();
        let square = make.element(Element::Square, &[at.gradient]);
        let square = make.with(Element::Add, square, self.epsilon);
        let Some([largest, second]) = self.factored(&shape) else {
            let v = make.slot("adafactor.v", at.parameter);
            let v = self.moment(make, v, square, at.step);
            let root = make.element(Element::Rsqrt, &[v]);
            return make.element(Element::Mul, &[at.gradient, root]);
        };
        let rows = shape.filter(|d| d.name != largest);
        let columns = shape.filter(|d| d.name != second);
        let vr = make.slot_of("adafactor.vr", at.parameter, rows.clone());
        let vc = make.slot_of("adafactor.vc", at.parameter, columns.clone());
        let row_mean = make.reduce(square, Reduction::Mean, rows.clone());
        let column_mean = make.reduce(square, Reduction::Mean, columns);
        let vr = self.moment(make, vr, row_mean, at.step);
        let vc = self.moment(make, vc, column_mean, at.step);
        let mean = make.reduce(vr, Reduction::Mean, rows.filter(|d| d.name != second));
        let ratio = make.element(Element::Div, &[vr, mean]);
        let by_row = make.element(Element::Rsqrt, &[ratio]);
        let by_column = make.element(Element::Rsqrt, &[vc]);
        let x = make.element(Element::Mul, &[at.gradient, by_row]);
        make.element(Element::Mul, &[x, by_column])
    }

    /// The names of the two largest dimensions, if both are large enough.
    fn factored(&self, shape: &Shape) -> Option<[Name; 2]> {
        let mut dims: Vec<_> = shape.dims().iter().collect();
        dims.sort_by_key(|d| std::cmp::Reverse(d.size));
        let [largest, second, ..] = dims.as_slice() else { return None };
        (second.size >= self.min_dim_size_to_factor)
            .then(|| [Name::clone(&largest.name), Name::clone(&second.name)])
    }

    /// The slot's new value: d·slot + (1−d)·new.
    fn moment(&self, make: &mut Maker<'_>, slot: NodeId, new: NodeId, step: NodeId) -> NodeId {
        let moment = match self.beta2 {
            Some(decay) => make.average(slot, new, decay),
            None => {
                let share = make.with(Element::Pow, step, -DECAY_EXPONENT);
                let one = make.number(1.0);
                let decay = make.element(Element::Sub, &[one, share]);
                let old = make.element(Element::Mul, &[slot, decay]);
                let new = make.element(Element::Mul, &[new, share]);
                make.element(Element::Add, &[old, new])
            }
        };
        make.assign(slot, moment);
        moment
    }
}
