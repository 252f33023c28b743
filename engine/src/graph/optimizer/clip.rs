//! Clipping by global norm (Pascanu et al. 2013): with ‖g‖ the norm of all gradients together, each
//! gradient is multiplied by min(1, clip/‖g‖).
//!
//! ‖g‖² is the sum of one scalar per gradient. Where a gradient is split, its scalar is a partial
//! sum over the mesh dimensions that split it, and two partial sums over the *same* mesh dimensions
//! may be added before they are settled. Which gradients these are follows from their dimensions
//! alone, so the scalars are added in groups of equal dimensions first: a network of a hundred equal
//! layers settles as often as one of two. Then the groups are added, those of many dimensions
//! first: they tend to be split over the same mesh dimensions, and settle together where they
//! are. Partial sums over different mesh dimensions cannot be added, so each settles by an
//! Allreduce of its own.

use super::maker::Maker;
use crate::diag::Span;
use crate::graph::Graph;
use crate::graph::op::{Element, Reduction, Role};
use crate::index::NodeId;
use crate::layout::dims::{Name, Shape};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// min(1, clip/‖g‖), a scalar; ‖g‖ is called `grad_norm` if the study has no tensor of that name.
/// There is at least one gradient.
pub(super) fn scale(graph: &mut Graph, clip: f64, span: Span) -> NodeId {
    let gradients = graph.gradients.clone();
    let mut make = Maker::shared(graph, "update/grad_norm", Role::Gradient, span);
    let mut groups: BTreeMap<(Reverse<usize>, Vec<Name>), NodeId> = BTreeMap::new();
    for (_, gradient) in gradients {
        let shape = make.graph.shape(gradient);
        let mut names: Vec<Name> = shape.dims().iter().map(|d| Name::clone(&d.name)).collect();
        names.sort_unstable();
        let square = make.element(Element::Square, &[gradient]);
        let sum = make.reduce(square, Reduction::Sum, Shape::scalar());
        let group = (Reverse(names.len()), names);
        let sum = match groups.get(&group) {
            Some(&before) => make.element(Element::Add, &[before, sum]),
            None => sum,
        };
        groups.insert(group, sum);
    }
    let total = groups.into_values().reduce(|a, b| make.element(Element::Add, &[a, b]));
    let total = total.unwrap_or_else(|| make.number(0.0));
    let norm = make.element(Element::Sqrt, &[total]);
    make.name(norm, "grad_norm");
    let clip = make.number(clip);
    let ratio = make.element(Element::Div, &[clip, norm]);
    make.with(Element::Min, ratio, 1.0)
}
