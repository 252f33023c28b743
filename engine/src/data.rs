//! Data for training: tables of rows, and a synthetic teacher.
//!
//! A table's columns are standardised (mean 0, deviation 1, over the training part), a fifth of the
//! rows is held out for validation, and every epoch takes the rest in another order. All orders are
//! functions of the study's seed. The engine reads no files: a table is an argument.

use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::Graph;
use crate::graph::init::{normal, stream, uniform};
use crate::graph::op::{Element, Op, Role};
use crate::graph::train::TrainOptions;
use crate::index::NodeId;
use crate::layout::dims::{Name, Shape};

/// A table of numbers: features, and one target column at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Names of the columns; the last is the target.
    pub columns: Vec<String>,
    /// Row-major numbers, as many per row as there are columns.
    pub rows: Vec<f64>,
    /// What the target column holds.
    pub target: Target,
}

/// What a table's target column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A number to predict.
    Number,
    /// The index of a class; the classes' names.
    Classes(Vec<String>),
}

impl Table {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len() / self.columns.len().max(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Quality on the rows held out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Validation {
    /// Mean loss.
    pub loss: f64,
    /// Share of rows whose largest output is at the right class (classification).
    pub accuracy: Option<f64>,
    /// Root of the mean square error in deviations of the target (regression).
    pub error: Option<f64>,
}

/// Which tensors of a study are fed, and with what.
#[derive(Debug, Clone)]
pub struct Feed {
    /// The input that gets the features.
    pub features: NodeId,
    /// The input that gets the targets.
    pub target: NodeId,
    /// The output to compare with the targets, if the loss compares one.
    pub prediction: Option<NodeId>,
    batch_dim: Name,
    batch: usize,
    classes: bool,
    source: Source,
    seed: u64,
}

#[derive(Debug, Clone)]
enum Source {
    /// Features standard normal; targets the tanh of a fixed random linear map of them.
    Teacher { weights: Vec<f64>, inputs: usize, outputs: usize },
    /// Standardised rows of features and targets, the training part first.
    Rows { features: Vec<f64>, targets: Vec<f64>, width: usize, outputs: usize, training: usize },
}

/// The numbers of one batch, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    features: Vec<f64>,
    targets: Vec<f64>,
}

/// The share of rows held out.
const HELD_OUT: f64 = 0.2;

impl Feed {
    /// How a study is fed; `Ok(None)` if its inputs keep their initial values.
    pub fn new(
        graph: &Graph,
        train: &TrainOptions,
        table: Option<&Table>,
        place: Span,
    ) -> Result<Option<Self>, Diagnostic> {
        let Some(name) = &train.data else { return Ok(None) };
        let fault = |message: String| Diagnostic::error(Code::Data, place, message);
        let (features, target) = ends(graph).ok_or_else(|| {
            fault(
                "Data feeds two inputs, the features and the target; this study has not two"
                    .to_owned(),
            )
        })?;
        let (x, t) = (graph.shape(features), graph.shape(target));
        let batch_dim = x.dims().iter().find(|d| t.has(&d.name)).ok_or_else(|| {
            fault(format!("The inputs {x} and {t} share no dimension to count rows along"))
        })?;
        let batch = batch_dim.size;
        let (width, outputs) = (x.elements() / batch, t.elements() / batch);
        let (prediction, is_product) = prediction(graph, target);
        let source = match table {
            _ if name == "teacher" => teacher(width as usize, outputs as usize, train.seed),
            Some(table) => {
                let need = Need { batch, width, outputs };
                rows(table, &need, train.seed).map_err(|m| fault(m).hint(teacher_hint(place)))?
            }
            None => {
                let message = format!("The data set `{name}` is not at hand here");
                return Err(fault(message).hint(teacher_hint(place)));
            }
        };
        let classes = match table {
            Some(table) if name != "teacher" => matches!(table.target, Target::Classes(_)),
            _ => is_product,
        };
        Ok(Some(Self {
            features,
            target,
            prediction,
            batch_dim: Name::clone(&batch_dim.name),
            batch: batch as usize,
            classes,
            source,
            seed: train.seed,
        }))
    }

    /// The batch of a training step, from 0.
    pub fn batch(&self, step: u64) -> Batch {
        match &self.source {
            Source::Teacher { weights, inputs, outputs } => {
                let stream = stream(self.seed, "teacher/x");
                let first = step * (self.batch * inputs) as u64;
                let features: Vec<f64> =
                    (0..self.batch * inputs).map(|i| normal(stream, first + i as u64)).collect();
                let rows = features.chunks(*inputs);
                let targets = rows.flat_map(|row| self.teach(row, weights, *outputs)).collect();
                Batch { features, targets }
            }
            Source::Rows { training, .. } => {
                let per_epoch = (training / self.batch) as u64;
                let order = order(*training, self.seed, step / per_epoch);
                let first = (step % per_epoch) as usize * self.batch;
                self.rows(order[first..first + self.batch].iter().copied())
            }
        }
    }

    /// The batches of the rows held out; together they hold each such row once.
    pub fn held_out(&self) -> Vec<Batch> {
        let Source::Rows { targets, outputs, training, .. } = &self.source else {
            return Vec::new();
        };
        let all = targets.len() / outputs;
        let starts = (*training..all).step_by(self.batch);
        starts.map(|s| self.rows(s..s + self.batch)).collect()
    }

    fn rows(&self, rows: impl Iterator<Item = usize>) -> Batch {
        let mut batch = Batch { features: Vec::new(), targets: Vec::new() };
        if let Source::Rows { features, targets, width, outputs, .. } = &self.source {
            for row in rows {
                batch.features.extend(&features[row * width..(row + 1) * width]);
                batch.targets.extend(&targets[row * outputs..(row + 1) * outputs]);
            }
        }
        batch
    }

    fn teach(&self, row: &[f64], weights: &[f64], outputs: usize) -> Vec<f64> {
        let scale = 1.0 / (row.len() as f64).sqrt();
        let answer: Vec<f64> = (0..outputs)
            .map(|o| {
                let sum: f64 =
                    row.iter().enumerate().map(|(i, x)| x * weights[i * outputs + o]).sum();
                (sum * scale).tanh()
            })
            .collect();
        if !self.classes {
            return answer;
        }
        let best = largest(&answer);
        (0..outputs).map(|o| f64::from(u8::from(o == best))).collect()
    }

    /// The batch's number at a row-major index of the features' or the target's tensor.
    pub fn at(&self, shape: &Shape, batch: &Batch, is_target: bool, index: u64) -> f64 {
        let (row, column) = self.place(shape, index);
        let (numbers, width) = if is_target {
            (&batch.targets, batch.targets.len() / self.batch)
        } else {
            (&batch.features, batch.features.len() / self.batch)
        };
        numbers[row * width + column]
    }

    /// Row and position within the row of an element.
    fn place(&self, shape: &Shape, mut index: u64) -> (usize, usize) {
        let (mut row, mut column, mut stride) = (0, 0, 1);
        for d in shape.dims().iter().rev() {
            let coordinate = index % d.size;
            index /= d.size;
            if d.name == self.batch_dim {
                row = coordinate;
            } else {
                column += coordinate * stride;
                stride *= d.size;
            }
        }
        (row as usize, column as usize)
    }

    /// Whether the target names classes.
    pub const fn is_classes(&self) -> bool {
        self.classes
    }

    /// Rows of a batch.
    pub const fn rows_per_batch(&self) -> usize {
        self.batch
    }

    /// Sum over a batch's rows of: 1 where the largest output is at the right class, or the square
    /// error averaged over the row. The output has the target's dimensions.
    pub fn score(&self, shape: &Shape, output: &[f64], batch: &Batch) -> f64 {
        let width = batch.targets.len() / self.batch;
        let mut outputs = vec![0.0; batch.targets.len()];
        for (i, &y) in output.iter().enumerate() {
            let (row, column) = self.place(shape, i as u64);
            outputs[row * width + column] = y;
        }
        let rows = outputs.chunks(width).zip(batch.targets.chunks(width));
        rows.map(|(y, t)| {
            if self.classes {
                f64::from(u8::from(largest(y) == largest(t)))
            } else {
                y.iter().zip(t).map(|(y, t)| (y - t) * (y - t)).sum::<f64>() / width as f64
            }
        })
        .sum()
    }
}

fn teacher_hint(place: Span) -> Hint {
    Hint::edit("Train on the synthetic teacher instead.", place, "teacher")
}

fn largest(numbers: &[f64]) -> usize {
    let mut best = 0;
    for (i, x) in numbers.iter().enumerate() {
        if *x > numbers[best] {
            best = i;
        }
    }
    best
}

/// The inputs for features and target: the one called `target` or `labels` (else the last declared)
/// and the first of the others.
fn ends(graph: &Graph) -> Option<(NodeId, NodeId)> {
    let inputs: Vec<NodeId> =
        graph.nodes().entries().filter(|(_, n)| n.role == Role::Input).map(|(id, _)| id).collect();
    let called = |id: &&NodeId| matches!(&*graph.node(**id).name, "target" | "labels");
    let target = *inputs.iter().find(called).or_else(|| inputs.last())?;
    let features = *inputs.iter().find(|&&id| id != target)?;
    Some((features, target))
}

/// What the loss compares with the target: the other operand of the difference, or of the product
/// in a cross-entropy (true).
fn prediction(graph: &Graph, target: NodeId) -> (Option<NodeId>, bool) {
    for node in graph.nodes() {
        let is_product = node.op == Op::Elementwise(Element::Mul);
        let compares = is_product || node.op == Op::Elementwise(Element::Sub);
        if compares && node.inputs.contains(&target) {
            let other = node.inputs.iter().copied().find(|&i| i != target);
            let same = |o: &NodeId| {
                graph.shape(*o).union(graph.shape(target)).rank() == graph.shape(target).rank()
            };
            return (other.filter(same), is_product);
        }
    }
    (None, false)
}

fn teacher(inputs: usize, outputs: usize, seed: u64) -> Source {
    let stream = stream(seed, "teacher/weights");
    let weights = (0..inputs * outputs).map(|i| 2.0 * normal(stream, i as u64)).collect();
    Source::Teacher { weights, inputs, outputs }
}

struct Need {
    batch: u64,
    width: u64,
    outputs: u64,
}

fn rows(table: &Table, need: &Need, seed: u64) -> Result<Source, String> {
    let columns = table.columns.len();
    let (width, all) = (columns.saturating_sub(1), table.len());
    let name = &table.name;
    if width as u64 != need.width {
        return Err(format!(
            "`{name}` has {width} features, the study's input holds {} per row",
            need.width
        ));
    }
    let classes = match &table.target {
        Target::Number => 1,
        Target::Classes(names) => names.len(),
    };
    if need.outputs != classes as u64 && need.outputs != 1 {
        return Err(format!(
            "`{name}` has {classes} target value(s) per row, the study's target holds {}",
            need.outputs
        ));
    }
    let batch = need.batch as usize;
    let held_out = ((all as f64 * HELD_OUT) as usize / batch).max(1) * batch;
    if all < held_out + batch {
        return Err(format!(
            "`{name}` has {all} rows: too few for a batch of {batch} and as many held out"
        ));
    }
    let training = all - held_out;
    let order = order(all, seed, u64::MAX);
    let number = |row: usize, column: usize| table.rows[order[row] * columns + column];
    let scaled = |column: usize| -> Vec<f64> {
        let n = training as f64;
        let mean = (0..training).map(|r| number(r, column)).sum::<f64>() / n;
        let square: f64 = (0..training).map(|r| (number(r, column) - mean).powi(2)).sum();
        let deviation = (square / n).sqrt();
        let deviation = if deviation > 0.0 { deviation } else { 1.0 };
        (0..all).map(|r| (number(r, column) - mean) / deviation).collect()
    };
    let by_column: Vec<Vec<f64>> = (0..width).map(scaled).collect();
    let features = (0..all).flat_map(|r| by_column.iter().map(move |c| c[r])).collect();
    let outputs = need.outputs as usize;
    let targets = match &table.target {
        Target::Number => scaled(width),
        Target::Classes(_) if outputs == 1 => (0..all).map(|r| number(r, width)).collect(),
        Target::Classes(_) => (0..all)
            .flat_map(|r| (0..outputs).map(move |c| (r, c)))
            .map(|(r, c)| f64::from(u8::from(number(r, width) as usize == c)))
            .collect(),
    };
    Ok(Source::Rows { features, targets, width, outputs, training })
}

/// The numbers 0..n in an order that depends on seed and epoch.
fn order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let stream = stream(seed, &format!("epoch/{epoch}"));
    let mut keyed: Vec<(f64, usize)> = (0..n).map(|i| (uniform(stream, i as u64), i)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, i)| i).collect()
}
