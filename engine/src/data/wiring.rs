//! Which inputs of a study data goes to, what its loss compares with the target, and whether a
//! table goes with that: all that is known before a number is looked at, with the mends.

use super::{Table, Target};
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::Graph;
use crate::graph::op::{Element, Op, Phase, Role};
use crate::graph::train::TrainOptions;
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Shape};
use std::collections::BTreeMap;

/// The share of rows held out.
const HELD_OUT: f64 = 0.2;

/// Where a study speaks of its data, for messages and mends.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The name of the data; the `train` line where there is none.
    pub name: Span,
    /// The option `data:NAME`, where there is one.
    pub option: Option<Span>,
    /// Where each tensor dimension got its size.
    pub sizes: &'a BTreeMap<String, Span>,
}

impl Places<'_> {
    fn fault(&self, message: String) -> Diagnostic {
        Diagnostic::error(Code::Data, self.name, message)
    }

    /// The mend that gives a dimension another size.
    fn resize(&self, dim: &str, size: u64) -> Option<Hint> {
        self.sizes.get(dim).map(|&place| Hint::size(place, dim, size))
    }

    /// With the mends that hold whatever the data.
    fn or_other_data(&self, d: Diagnostic) -> Diagnostic {
        match self.option {
            Some(_) => {
                d.hint(Hint::edit("Train on the synthetic teacher instead.", self.name, "teacher"))
            }
            None => d,
        }
    }

    fn or_no_data(&self, d: Diagnostic) -> Diagnostic {
        let advice = "Leave `data` out: inputs then keep their initial values.";
        match self.option {
            Some(option) => d.hint(Hint::edit(advice, option, "")),
            None => d,
        }
    }
}

/// Which tensors of a study data goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wiring {
    /// The input that gets the features.
    pub features: NodeId,
    /// The input that gets the targets.
    pub target: NodeId,
    /// The output to compare with the targets, if the loss compares one.
    pub prediction: Option<NodeId>,
    /// Whether the loss is a product with the target, as a cross-entropy is.
    pub(super) is_product: bool,
    /// The dimension along which the target's numbers are positions, where they are that.
    pub(super) labels: Option<Dimension>,
    pub(super) features_shape: Shape,
    pub(super) target_shape: Shape,
    /// The dimension that counts rows.
    pub(super) batch: Dimension,
}

impl Wiring {
    /// Finds out what data goes to, or why it can go nowhere.
    pub fn new(graph: &Graph, places: &Places<'_>) -> Result<Self, Diagnostic> {
        let (features, target) = ends(graph).map_err(|inputs| {
            let has = if inputs == 0 { "none" } else { "one" };
            let message =
                format!("Data feeds two inputs, the features and the target; this study has {has}");
            let advice = "Declare both: `input x[batch io], target[batch io]`.";
            places.or_no_data(places.fault(message).hint(Hint::new(advice)))
        })?;
        let (x, t) = (&graph.whole_shape(features), &graph.whole_shape(target));
        let batch = x.dims().iter().find(|d| t.has(&d.name)).cloned().ok_or_else(|| {
            let names = (&graph.node(features).name, &graph.node(target).name);
            let message = format!(
                "The inputs `{}{x}` and `{}{t}` share no dimension to count rows along",
                names.0, names.1
            );
            let advice = "Give both a dimension of the same name, such as `batch`.";
            places.or_no_data(places.fault(message).hint(Hint::new(advice)))
        })?;
        let Compared { prediction, is_product, labels } = compared(graph, target);
        Ok(Self {
            features,
            target,
            prediction,
            is_product,
            labels,
            features_shape: x.clone(),
            target_shape: t.clone(),
            batch,
        })
    }

    /// Numbers of one row of features.
    pub(super) fn width(&self) -> u64 {
        self.features_shape.elements() / self.batch.size
    }

    /// Numbers of one row of targets.
    pub(super) fn outputs(&self) -> u64 {
        self.target_shape.elements() / self.batch.size
    }

    /// Numbers from which the teacher chooses a row of targets.
    pub(super) fn choices(&self) -> u64 {
        self.outputs().saturating_mul(self.labels.as_ref().map_or(1, |d| d.size))
    }

    /// The only dimension of a shape beside that of the rows.
    fn only<'s>(&self, shape: &'s Shape) -> Option<&'s Dimension> {
        let mut others = shape.dims().iter().filter(|d| d.name != self.batch.name);
        others.next().filter(|_| others.next().is_none())
    }

    /// Bytes that the numbers of the data take.
    pub fn bytes(&self, table: Option<&Table>) -> u64 {
        let numbers = match table {
            None => self.width().saturating_mul(self.choices()),
            // The columns stand there twice while they are standardised.
            Some(table) => {
                let row = self.width().saturating_mul(2).saturating_add(self.outputs());
                row.saturating_mul(table.len() as u64)
            }
        };
        numbers.saturating_mul(size_of::<f64>() as u64)
    }

    /// Checks that a table goes with the study.
    pub fn fits(&self, table: &Table, places: &Places<'_>) -> Result<(), Diagnostic> {
        self.misfit(table, places).map_or(Ok(()), |d| Err(places.or_other_data(d)))
    }

    fn misfit(&self, table: &Table, places: &Places<'_>) -> Option<Diagnostic> {
        let name = &table.name;
        let width = table.columns.len().saturating_sub(1) as u64;
        if width != self.width() {
            let message = format!(
                "`{name}` has {width} features, the study's input holds {} per row",
                self.width()
            );
            let mend = self.only(&self.features_shape).filter(|d| !self.target_shape.has(&d.name));
            return Some(self.sized(places, message, mend, width, &self.features_shape));
        }
        let outputs = self.outputs();
        match (&table.target, &self.labels) {
            (Target::Number, Some(dim)) => {
                let message = format!(
                    "`{name}` has a number to predict; the study's target names positions of `{}`",
                    dim.name
                );
                let advice = "Compare an output with the target: `loss = mean_square(y, target)`.";
                return Some(places.fault(message).hint(Hint::new(advice)));
            }
            (Target::Classes(names), Some(dim)) if names.len() as u64 > dim.size => {
                let classes = names.len() as u64;
                let message = format!(
                    "`{name}` has {classes} classes, `{}` has {} elements",
                    dim.name, dim.size
                );
                let resize = places.resize(&dim.name, classes);
                return Some(resize.into_iter().fold(places.fault(message), Diagnostic::hint));
            }
            _ => {}
        }
        let (values, message) = match &table.target {
            Target::Number => (
                1,
                format!(
                    "`{name}` has one number to predict per row, the study's target holds {outputs}"
                ),
            ),
            Target::Classes(names) => (
                names.len() as u64,
                format!(
                    "`{name}` has {} classes, the study's target holds {outputs} per row",
                    names.len()
                ),
            ),
        };
        if outputs != values && outputs != 1 {
            let mend = self.only(&self.target_shape).filter(|d| !self.features_shape.has(&d.name));
            return Some(self.sized(places, message, mend, values, &self.target_shape));
        }
        let (batch, all) = (self.batch.size, table.len() as u64);
        if all < held_out(all, batch).saturating_add(batch) {
            let message = format!(
                "`{name}` has {all} rows: too few for a batch of {batch} and as many held out"
            );
            // The greatest that leaves as many, of those that meshes are made of.
            let less = (all / 2).checked_ilog2().map(|power| 1 << power);
            let resize = less.and_then(|size| places.resize(&self.batch.name, size));
            return Some(resize.into_iter().fold(places.fault(message), Diagnostic::hint));
        }
        None
    }

    /// A misfit of sizes, with the size that would fit.
    fn sized(
        &self,
        places: &Places<'_>,
        message: String,
        dim: Option<&Dimension>,
        size: u64,
        shape: &Shape,
    ) -> Diagnostic {
        let d = places.fault(message);
        if let Some(hint) = dim.and_then(|dim| places.resize(&dim.name, size)) {
            return d.hint(hint);
        }
        d.hint(Hint::new(format!(
            "The dimensions of {shape} other than `{}` must hold {size} elements together.",
            self.batch.name
        )))
    }
}

/// Rows of `all` that are held out: whole batches, at least one.
pub(super) fn held_out(all: u64, batch: u64) -> u64 {
    ((all as f64 * HELD_OUT) as u64 / batch).max(1).saturating_mul(batch)
}

/// What data goes to; `Ok(None)` where there is none.
pub fn wiring(
    graph: &Graph,
    train: &TrainOptions,
    table: Option<&Table>,
    places: &Places<'_>,
) -> Result<Option<Wiring>, Diagnostic> {
    match (table, train.data.as_deref()) {
        (Some(table), _) => {
            let wiring = Wiring::new(graph, places)?;
            wiring.fits(table, places)?;
            Ok(Some(wiring))
        }
        (None, None) => Ok(None),
        (None, Some("teacher")) => Wiring::new(graph, places).map(Some),
        (None, Some(name)) => {
            let message = format!("The data set `{name}` is not at hand here");
            Err(places.or_other_data(places.fault(message)))
        }
    }
}

/// The inputs for features and target: the one called `target` or `labels` (else the last declared)
/// and the first of the others; or how many inputs there are.
fn ends(graph: &Graph) -> Result<(NodeId, NodeId), usize> {
    let inputs: Vec<NodeId> =
        graph.nodes().entries().filter(|(_, n)| n.role == Role::Input).map(|(id, _)| id).collect();
    let called = |id: &&NodeId| matches!(&*graph.node(**id).name, "target" | "labels");
    let target = *inputs.iter().find(called).or_else(|| inputs.last()).ok_or(0_usize)?;
    let features = *inputs.iter().find(|&&id| id != target).ok_or(1_usize)?;
    Ok((features, target))
}

/// What the loss compares with the target.
struct Compared {
    /// The other operand of the difference or the product.
    prediction: Option<NodeId>,
    /// Whether it is a product, as in a cross-entropy.
    is_product: bool,
    /// The dimension along which the target's numbers are positions.
    labels: Option<Dimension>,
}

fn compared(graph: &Graph, target: NodeId) -> Compared {
    let rank = graph.shape(target).rank();
    if let Some((hit, dim)) = labelled(graph, target) {
        // logits − …, logits · one_hot(labels), or the logits that `one_hot(labels)` selects.
        let prediction = graph.nodes().iter().find_map(|node| {
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
                && shape.filter(|d| d.name != dim.name).union(graph.shape(target)).rank() == rank;
            (goes && node.phase == Phase::Forward).then_some(other)
        });
        return Compared { prediction, is_product: false, labels: Some(dim) };
    }
    for node in graph.nodes() {
        let is_product = node.op == Op::Elementwise(Element::Mul);
        let compares = is_product || node.op == Op::Elementwise(Element::Sub);
        if compares && node.inputs.contains(&target) {
            let other = node.inputs.iter().copied().find(|&i| i != target);
            let same = |o: &NodeId| graph.shape(*o).union(graph.shape(target)).rank() == rank;
            return Compared { prediction: other.filter(same), is_product, labels: None };
        }
    }
    Compared { prediction: None, is_product: false, labels: None }
}

/// Where the target's numbers are compared with the positions along a dimension, as `one_hot` and
/// `cross_entropy` of labels do: that node, and the dimension.
fn labelled(graph: &Graph, target: NodeId) -> Option<(NodeId, Dimension)> {
    graph.nodes().entries().find_map(|(id, node)| {
        let is_equal = node.op == Op::Elementwise(Element::Equal) && node.inputs.contains(&target);
        let index = *node.inputs.iter().find(|&&i| is_equal && graph.node(i).op == Op::Index)?;
        match graph.shape(index).dims() {
            [dim] if !graph.shape(target).has(&dim.name) => Some((id, dim.clone())),
            _ => None,
        }
    })
}
