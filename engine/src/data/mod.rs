//! Data for training: tables of rows, and a synthetic teacher.
//!
//! A table's columns are standardised (mean 0, deviation 1, over the training part), a fifth of the
//! rows is held out for validation, and every epoch takes the rest in another order. All orders are
//! functions of the study's seed. The engine reads no files: a table is an argument.
//!
//! ```text
//!   Wiring: which inputs are fed, what is compared      known from the graph
//!   Wiring::fits: whether a table goes with it          known from the table's shape
//!   Feed: the numbers themselves, batch by batch
//! ```

pub mod wiring;

use crate::diag::Diagnostic;
use crate::graph::Graph;
use crate::graph::init::{normal, stream, uniform};
use crate::graph::train::TrainOptions;
use crate::layout::dims::{Name, Shape};
use std::collections::BTreeMap;
use wiring::{Places, Wiring, held_out, wiring};

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
    /// The inputs, and what is compared.
    pub wiring: Wiring,
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

impl Feed {
    /// How a study is fed: by the table if one is given, else as its `train` says; `Ok(None)` if
    /// its inputs keep their initial values.
    pub fn new(
        graph: &Graph,
        train: &TrainOptions,
        table: Option<&Table>,
        places: &Places<'_>,
    ) -> Result<Option<Self>, Diagnostic> {
        let Some(mut wiring) = wiring(graph, train, table, places)? else { return Ok(None) };
        let (source, classes) = match table {
            None => {
                let (inputs, outputs) = (wiring.width() as usize, wiring.choices() as usize);
                let classes = wiring.is_product || wiring.labels.is_some();
                (teacher(inputs, outputs, train.seed), classes)
            }
            Some(table) => {
                let named = matches!(table.target, Target::Classes(_));
                let classes = named && (wiring.labels.is_some() || wiring.outputs() > 1);
                if named && !classes {
                    // A single number that stands for the class is neither right nor near.
                    wiring.prediction = None;
                }
                (rows(table, &wiring, train.seed), classes)
            }
        };
        Ok(Some(Self { wiring, classes, source, seed: train.seed }))
    }

    /// The batch of a training step, from 0.
    pub fn batch(&self, step: u64) -> Batch {
        match &self.source {
            Source::Teacher { weights, inputs, outputs } => {
                let stream = stream(self.seed, "teacher/x");
                let first = step * (self.rows_per_batch() * inputs) as u64;
                let features: Vec<f64> = (0..self.rows_per_batch() * inputs)
                    .map(|i| normal(stream, first + i as u64))
                    .collect();
                let rows = features.chunks(*inputs);
                let targets = rows.flat_map(|row| self.teach(row, weights, *outputs)).collect();
                Batch { features, targets }
            }
            Source::Rows { training, .. } => {
                let per_epoch = (training / self.rows_per_batch()) as u64;
                let order = order(*training, self.seed, step / per_epoch);
                let first = (step % per_epoch) as usize * self.rows_per_batch();
                self.rows(order[first..first + self.rows_per_batch()].iter().copied())
            }
        }
    }

    /// The batches of the rows held out; together they hold each such row once.
    pub fn held_out(&self) -> Vec<Batch> {
        let Source::Rows { targets, outputs, training, .. } = &self.source else {
            return Vec::new();
        };
        let all = targets.len() / outputs;
        let starts = (*training..all).step_by(self.rows_per_batch());
        starts.map(|s| self.rows(s..s + self.rows_per_batch())).collect()
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
        if let Some(dim) = &self.wiring.labels {
            return answer.chunks(dim.size as usize).map(|a| largest(a) as f64).collect();
        }
        if !self.classes {
            return answer;
        }
        let best = largest(&answer);
        (0..outputs).map(|o| f64::from(u8::from(o == best))).collect()
    }

    /// The batch's number at a row-major index of the features' or the target's tensor.
    pub fn at(&self, batch: &Batch, is_target: bool, index: u64) -> f64 {
        let (shape, numbers) = if is_target {
            (&self.wiring.target_shape, &batch.targets)
        } else {
            (&self.wiring.features_shape, &batch.features)
        };
        let width = numbers.len() / self.rows_per_batch();
        let (mut index, mut row, mut column, mut stride) = (index, 0, 0, 1);
        for d in shape.dims().iter().rev() {
            let coordinate = index % d.size;
            index /= d.size;
            if d.name == self.wiring.batch.name {
                row = coordinate;
            } else {
                column += coordinate * stride;
                stride *= d.size;
            }
        }
        numbers[row as usize * width + column as usize]
    }

    /// Whether the target names classes.
    pub const fn is_classes(&self) -> bool {
        self.classes
    }

    /// Rows of a batch.
    pub const fn rows_per_batch(&self) -> usize {
        self.wiring.batch.size as usize
    }

    /// Sum over a batch's rows of: the share of its labels that the largest output names (one label
    /// per row: 1 if it is right), or the square error averaged over the row. The output has the
    /// target's dimensions and, where labels are positions, theirs.
    pub fn score(&self, shape: &Shape, output: &[f64], batch: &Batch) -> f64 {
        let width = batch.targets.len() / self.rows_per_batch();
        let classes = self.wiring.labels.as_ref().map_or(1, |d| d.size as usize);
        let mut outputs = vec![0.0; batch.targets.len() * classes];
        let steps = self.steps(shape);
        for (i, &y) in output.iter().enumerate() {
            let (mut index, mut at) = (i as u64, 0);
            for (size, step) in &steps {
                at += (index % size) * step;
                index /= size;
            }
            outputs[at as usize] = y;
        }
        let rows = outputs.chunks(width * classes).zip(batch.targets.chunks(width));
        rows.map(|(y, t)| {
            if self.wiring.labels.is_some() {
                let right = |(y, label): &(&[f64], &f64)| largest(y) == **label as usize;
                y.chunks(classes).zip(t).filter(right).count() as f64 / width as f64
            } else if self.classes {
                f64::from(u8::from(largest(y) == largest(t)))
            } else {
                y.iter().zip(t).map(|(y, t)| (y - t) * (y - t)).sum::<f64>() / width as f64
            }
        })
        .sum()
    }

    /// For each dimension of an output, the last first: its size, and how far its elements are
    /// apart where rows come first, then the target's other dimensions, then the classes.
    fn steps(&self, shape: &Shape) -> Vec<(u64, u64)> {
        let Wiring { batch, labels, target_shape, .. } = &self.wiring;
        let mut step = labels.as_ref().map_or(1, |d| d.size);
        let mut of: BTreeMap<&Name, u64> = BTreeMap::new();
        of.extend(labels.iter().map(|d| (&d.name, 1)));
        for d in target_shape.dims().iter().rev().filter(|d| d.name != batch.name) {
            of.insert(&d.name, step);
            step *= d.size;
        }
        of.insert(&batch.name, step);
        let dims = shape.dims().iter().rev();
        dims.map(|d| (d.size, of.get(&d.name).copied().unwrap_or(0))).collect()
    }
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

fn teacher(inputs: usize, outputs: usize, seed: u64) -> Source {
    let stream = stream(seed, "teacher/weights");
    let weights = (0..inputs * outputs).map(|i| 2.0 * normal(stream, i as u64)).collect();
    Source::Teacher { weights, inputs, outputs }
}

/// The rows of a table that fits.
fn rows(table: &Table, wiring: &Wiring, seed: u64) -> Source {
    let columns = table.columns.len();
    let (width, all) = (columns.saturating_sub(1), table.len());
    let training = all - held_out(all as u64, wiring.batch.size) as usize;
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
    let outputs = wiring.outputs() as usize;
    let targets = match &table.target {
        Target::Number => scaled(width),
        Target::Classes(_) if outputs == 1 => (0..all).map(|r| number(r, width)).collect(),
        Target::Classes(_) => (0..all)
            .flat_map(|r| (0..outputs).map(move |c| (r, c)))
            .map(|(r, c)| f64::from(u8::from(number(r, width) as usize == c)))
            .collect(),
    };
    Source::Rows { features, targets, width, outputs, training }
}

/// The numbers 0..n in an order that depends on seed and epoch.
fn order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let stream = stream(seed, &format!("epoch/{epoch}"));
    let mut keyed: Vec<(f64, usize)> = (0..n).map(|i| (uniform(stream, i as u64), i)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, i)| i).collect()
}
