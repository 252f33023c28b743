//! Which inputs of a study data goes to and what its loss compares with the target: all that the
//! graph says, before any data is looked at.
//!
//! The **target** is the input called `target`, `targets` or `labels`, else the last declared; the
//! **source** is the first of the others, if there are any. What they get depends on the data:
//!
//! | data | target | source |
//! |---|---|---|
//! | a table, the teacher | the target column | the features |
//! | a text | pieces of it, as ids of tokens | the same moved right by one, 0 in front |
//! | a text of pairs | what stands after the tab | what stands before it |
//!
//! A text is read as pairs where the source's positions lie along another dimension than the
//! target's. The first dimension that both have counts rows.

use super::places::Places;
use crate::diag::{Diagnostic, Hint};
use crate::graph::Graph;
use crate::graph::op::{Element, Init, Op, Phase, Role};
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Shape};
use std::collections::BTreeSet;

/// Which tensors of a study data goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wiring {
    /// The input that gets what is to be predicted.
    pub target: NodeId,
    /// The input that gets what it is predicted from.
    pub source: Option<NodeId>,
    /// The output to compare with the targets, if the loss compares one.
    pub prediction: Option<NodeId>,
    /// How much each position's loss counts: what it is multiplied by.
    pub weights: Option<NodeId>,
    /// Whether the loss is a product with the target, as a cross-entropy is.
    pub(super) is_product: bool,
    /// The dimension along which the target's numbers are positions, where they are that.
    pub(super) labels: Option<Dimension>,
    pub(super) target_shape: Shape,
    pub(super) source_shape: Option<Shape>,
    /// The dimension that counts rows.
    pub(super) batch: Dimension,
    /// The target's ids are below this.
    pub(super) ids: u64,
}

impl Wiring {
    /// Finds out what data goes to, or why it can go nowhere.
    pub fn new(graph: &Graph, places: &Places<'_>) -> Result<Self, Diagnostic> {
        let inputs: Vec<NodeId> = graph
            .nodes()
            .entries()
            .collect::<Vec<_>>()
            .into_iter()
            .filter(|(_, n)| n.role == Role::Input)
            .map(|(id, _)| id)
            .collect();
        let called =
            |id: &&NodeId| matches!(&*graph.node(**id).name, "target" | "targets" | "labels");
        let Some(&target) = inputs.iter().find(called).or_else(|| inputs.last()) else {
            return Err(few(places, "none"));
        };
        let source = inputs.iter().copied().find(|&id| id != target);
        let t = &graph.whole_shape(target);
        let batch = match source {
            None => t.dims().first().cloned(),
            Some(source) => {
                let s = graph.whole_shape(source);
                s.dims().iter().find(|d| t.has(&d.name)).cloned()
            }
        };
        let Some(batch) = batch else { return Err(apart(graph, source, target, places)) };
        let Compared { prediction, is_product, labels, weights } = compared(graph, target);
        if source.is_none() && labels.is_none() {
            return Err(few(places, "one"));
        }
        let below = match &graph.node(target).op {
            Op::Source(Init::Integers { high, .. }) => *high as u64,
            _ => u64::MAX,
        };
        Ok(Self {
            target,
            source,
            prediction,
            weights,
            is_product,
            ids: labels.as_ref().map_or(0, |d| d.size.min(below)),
            labels,
            target_shape: t.clone(),
            source_shape: source.map(|id| graph.whole_shape(id)),
            batch,
        })
    }

    /// Numbers of one row of the source.
    pub(super) fn width(&self) -> u64 {
        self.source_shape.as_ref().map_or(0, |shape| shape.elements() / self.batch.size)
    }

    /// Numbers of one row of targets.
    pub(super) fn outputs(&self) -> u64 {
        self.target_shape.elements() / self.batch.size
    }

    /// Numbers from which the teacher chooses a row of targets.
    pub(super) fn choices(&self) -> u64 {
        self.outputs().saturating_mul(self.labels.as_ref().map_or(1, |d| d.size))
    }

    /// Rows of a batch.
    pub const fn rows(&self) -> usize {
        self.batch.size as usize
    }

    /// The name of the dimension that counts rows.
    pub fn rows_name(&self) -> &str {
        &self.batch.name
    }

    /// Tokens of one row of the target, where that is text.
    pub fn target_length(&self) -> usize {
        self.outputs() as usize
    }

    /// Tokens of one row of the source.
    pub fn source_length(&self) -> usize {
        self.width() as usize
    }

    /// The only dimension of a shape beside that of the rows.
    pub(super) fn only<'s>(&self, shape: &'s Shape) -> Option<&'s Dimension> {
        let mut others = shape.dims().iter().filter(|d| d.name != self.batch.name);
        others.next().filter(|_| others.next().is_none())
    }

    /// How many ids the target knows, where its numbers are ids: as many entries as a vocabulary
    /// that is trained for it has.
    pub fn ids(&self) -> Option<u64> {
        self.labels.as_ref().map(|_| self.ids)
    }

    /// Whether it is text that goes to the target: rows of ids.
    pub fn takes_text(&self) -> bool {
        self.labels.is_some() && self.only(&self.target_shape).is_some()
    }

    /// Whether a text is read as pairs: the source is another sequence.
    pub fn takes_pairs(&self) -> bool {
        let lies = |shape: &Shape| self.only(shape).map(|d| d.name.clone());
        self.source_shape.as_ref().is_some_and(|s| lies(s) != lies(&self.target_shape))
    }
}

fn few(places: &Places<'_>, has: &str) -> Diagnostic {
    let message =
        format!("Data feeds two inputs, the features and the target; this study has {has}");
    let advice = "Declare both: `input x[batch io], target[batch io]`.";
    places.or_no_data(places.fault(message).hint(Hint::new(advice)))
}

fn apart(graph: &Graph, source: Option<NodeId>, target: NodeId, places: &Places<'_>) -> Diagnostic {
    let shown = |id: NodeId| format!("`{}{}`", graph.node(id).name, graph.shape(id));
    let message = match source {
        Some(source) => format!(
            "The inputs {} and {} share no dimension to count rows along",
            shown(source),
            shown(target)
        ),
        None => format!("The input {} has no dimension to count rows along", shown(target)),
    };
    let advice = "Give both a dimension of the same name, such as `batch`.";
    places.or_no_data(places.fault(message).hint(Hint::new(advice)))
}

/// What the loss compares with the target.
#[derive(Default)]
struct Compared {
    /// The other operand of the difference or the product.
    prediction: Option<NodeId>,
    /// Whether it is a product, as in a cross-entropy.
    is_product: bool,
    /// The dimension along which the target's numbers are positions.
    labels: Option<Dimension>,
    /// What the loss of each position is multiplied by.
    weights: Option<NodeId>,
}

fn compared(graph: &Graph, target: NodeId) -> Compared {
    let names = renamed(graph, target);
    if let Some((hit, target, dim)) = names.iter().find_map(|&id| labelled(graph, id)) {
        let prediction = by_label(graph, hit, graph.shape(target), &dim);
        let weights = prediction.and_then(|p| weights(graph, hit, p, graph.shape(target)));
        return Compared { prediction, is_product: false, labels: Some(dim), weights };
    }
    let rank = graph.shape(target).rank();
    for node in graph.nodes() {
        let is_product = node.op == Op::Elementwise(Element::Mul);
        let compares = is_product || node.op == Op::Elementwise(Element::Sub);
        if compares && node.inputs.contains(&target) {
            let other = node.inputs.iter().copied().find(|&i| i != target);
            let same = |o: &NodeId| graph.shape(*o).union(graph.shape(target)).rank() == rank;
            let prediction = other.filter(same);
            return Compared { prediction, is_product, ..Compared::default() };
        }
    }
    Compared::default()
}

/// A tensor and the same under other dimension names.
fn renamed(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    let mut names = vec![id];
    for (other, node) in graph.nodes().entries() {
        if node.op == Op::Rename && node.inputs.iter().any(|i| names.contains(i)) {
            names.push(other);
        }
    }
    names
}

/// The logits: logits − …, logits · `one_hot(labels)`, or what `one_hot(labels)` selects.
fn by_label(graph: &Graph, hit: NodeId, target: &Shape, dim: &Dimension) -> Option<NodeId> {
    graph.nodes().iter().find_map(|node| {
        let compares = matches!(node.op, Op::Elementwise(Element::Sub | Element::Mul));
        let selects = node.op == Op::Elementwise(Element::Select);
        let other = if compares && node.inputs.contains(&hit) {
            node.inputs.iter().copied().find(|&i| i != hit)?
        } else if selects && node.inputs.first() == Some(&hit) {
            *node.inputs.get(1)?
        } else {
            return None;
        };
        let shape = graph.shape(other);
        let goes = shape.has(&dim.name)
            && shape.filter(|d| d.name != dim.name).union(target).rank() == target.rank();
        (goes && node.phase == Phase::Forward).then_some(other)
    })
}

/// What the loss of each position is multiplied by: it has the target's dimensions and does not
/// depend on the logits.
fn weights(graph: &Graph, hit: NodeId, logits: NodeId, target: &Shape) -> Option<NodeId> {
    let mut learnt: BTreeSet<NodeId> = [logits].into();
    let mut losses: BTreeSet<NodeId> = [hit].into();
    let is_like = |id: NodeId| {
        let shape = graph.shape(id);
        shape.rank() == target.rank() && shape.union(target).rank() == target.rank()
    };
    for (id, node) in graph.nodes().entries().filter(|(_, n)| n.phase == Phase::Forward) {
        let of = |set: &BTreeSet<NodeId>| node.inputs.iter().any(|i| set.contains(i));
        if let (Op::Elementwise(Element::Mul), &[a, b]) = (&node.op, &*node.inputs) {
            for (loss, weight) in [(a, b), (b, a)] {
                let is_loss = losses.contains(&loss) && learnt.contains(&loss) && is_like(loss);
                if is_loss && is_like(weight) && !learnt.contains(&weight) {
                    return Some(weight);
                }
            }
        }
        if of(&learnt) {
            learnt.insert(id);
        }
        if of(&losses) {
            losses.insert(id);
        }
    }
    None
}

/// Where a tensor's numbers are compared with the positions along a dimension, as `one_hot` and
/// `cross_entropy` of labels do: that node, the tensor, and the dimension.
fn labelled(graph: &Graph, target: NodeId) -> Option<(NodeId, NodeId, Dimension)> {
    graph.nodes().entries().find_map(|(id, node)| {
        let is_equal = node.op == Op::Elementwise(Element::Equal) && node.inputs.contains(&target);
        let index = *node.inputs.iter().find(|&&i| is_equal && graph.node(i).op == Op::Index)?;
        match graph.shape(index).dims() {
            [dim] if !graph.shape(target).has(&dim.name) => Some((id, target, dim.clone())),
            _ => None,
        }
    })
}
