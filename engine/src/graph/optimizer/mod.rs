//! Optimizers as graph nodes: from parameters and gradients to new parameters.
//!
//! | optimizer | update of a parameter p with gradient g, step number t from 1, rate r(t) |
//! |---|---|
//! | sgd | p −= r·g |
//! | momentum | m = momentum·m + g; p −= r·m |
//! | adam, adamw | `adam.rs` |
//! | adafactor | `adafactor.rs` |
//!
//! r(t) is one scalar that all parameters share (`schedule.rs`); with clipping, g stands for the
//! gradient times another such scalar (`clip.rs`). Slots start at zero; their dimensions are all or
//! some of their parameter's, and so they are laid out alike. Everything here is a node like those
//! of the forward pass: what an optimizer reduces is right under any layout, and the collectives
//! that this takes stand in the plan.

mod maker;
pub mod schedule;
mod clip;
pub mod adam;
pub mod adafactor;

use self::adafactor::Adafactor;
use self::adam::Adam;
use self::maker::Maker;
use self::schedule::Schedule;
use super::Graph;
use super::op::{Element, Op, Role};
use crate::diag::Span;
use crate::index::NodeId;
use crate::layout::dims::Shape;

/// The optimizer of a study with its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimizer {
    /// Plain gradient descent.
    Sgd,
    /// With heavy-ball momentum (Polyak 1964): the step takes the new m. In Mesh-TensorFlow it
    /// takes the m before, so that every step lags by one.
    Momentum {
        /// Share of the last step that is kept.
        momentum: f64,
    },
    /// Adam and `AdamW`.
    Adam(Adam),
    /// Adafactor.
    Adafactor(Adafactor),
}

/// All that an update needs to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// From gradients to steps.
    pub optimizer: Optimizer,
    /// The learning rate that the schedule starts from.
    pub rate: f64,
    /// How it goes on.
    pub schedule: Schedule,
    /// The greatest norm that all gradients together may have.
    pub clip: Option<f64>,
    /// The `train` line.
    pub span: Span,
}

/// What one update starts from.
#[derive(Debug, Clone, Copy)]
struct Update {
    parameter: NodeId,
    /// Its gradient, clipped.
    gradient: NodeId,
    rate: Rate,
    step: NodeId,
}

/// The learning rate.
#[derive(Debug, Clone, Copy)]
enum Rate {
    /// The same at every step.
    Fixed(f64),
    /// A scalar of the graph.
    Scheduled(NodeId),
}

/// Appends the update of every parameter that has a gradient.
pub fn update(graph: &mut Graph, recipe: &Recipe) {
    let gradients = graph.gradients.clone();
    if gradients.is_empty() {
        return;
    }
    let cx = maker::context("update/step", Role::Slot, recipe.span);
    let step = graph.add(&cx, Op::StepNumber, Vec::new(), Shape::scalar());
    let rate = if recipe.schedule == Schedule::CONSTANT {
        Rate::Fixed(recipe.rate)
    } else {
        Rate::Scheduled(recipe.schedule.node(graph, recipe.rate, step, recipe.span))
    };
    let scale = recipe.clip.map(|clip| clip::scale(graph, clip, recipe.span));
    for (parameter, gradient) in gradients {
        let mut make = Maker::of(graph, parameter);
        let gradient = match scale {
            Some(scale) => make.element(Element::Mul, &[gradient, scale]),
            None => gradient,
        };
        let at = Update { parameter, gradient, rate, step };
        let change = match recipe.optimizer {
            Optimizer::Sgd => make.times_rate(gradient, rate),
            Optimizer::Momentum { momentum } => {
                let m = make.slot("momentum.m", parameter);
                let kept = make.scaled(m, momentum);
                let new = make.element(Element::Add, &[kept, gradient]);
                make.assign(m, new);
                make.times_rate(new, rate)
            }
            Optimizer::Adam(adam) => adam.change(&mut make, &at),
            Optimizer::Adafactor(adafactor) => adafactor.change(&mut make, &at),
        };
        let new = make.element(Element::Sub, &[parameter, change]);
        make.assign(parameter, new);
    }
}
