//! The numbers themselves, batch by batch: rows of a table or of the teacher, pieces of a text, or
//! pairs of lines. All orders are functions of the study's seed.

use super::Data;
use super::fits::{held_out, pair, wiring};
use super::places::Places;
use super::score::{Score, Validation, Where, largest};
use super::table::{Table, Target};
use super::text::{Text, parts, words_begun};
use super::vocabulary::{END, PADDING, Vocabulary};
use super::wiring::Wiring;
use crate::diag::Diagnostic;
use crate::graph::Graph;
use crate::graph::init::{normal, stream, uniform};
use crate::graph::train::TrainOptions;
use crate::index::NodeId;
use crate::layout::dims::{Name, Shape};

/// Tokens of a text that a validation looks at, at most (and at least one batch).
const LOOKED_AT: usize = 8192;

/// Which tensors of a study are fed, and with what.
#[derive(Debug, Clone)]
pub struct Feed {
    wiring: Wiring,
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
    /// The tokens of a text.
    Running { training: Vec<u32>, held_out: Vec<u32>, vocabulary: Vocabulary },
    /// Rows of tokens, the training part first; both sides end with [`END`] and padding.
    Pairs { sources: Vec<u32>, targets: Vec<u32>, training: usize, vocabulary: Vocabulary },
}

/// The numbers of one batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// Each input with its numbers, row by row; within a row the tensor's other dimensions in their
    /// order.
    rows: Vec<(NodeId, Vec<f64>)>,
    /// Words that begin in it, where it is text.
    words: u64,
}

impl Batch {
    /// The numbers of an input, row by row.
    pub fn of(&self, input: NodeId) -> &[f64] {
        self.rows.iter().find(|(id, _)| *id == input).map_or(&[], |(_, numbers)| numbers)
    }
}

impl Feed {
    /// How a study is fed: by the data if some is given, else as its `train` says; `Ok(None)` if
    /// its inputs keep their initial values.
    pub fn new(
        graph: &Graph,
        train: &TrainOptions,
        data: Option<&Data>,
        places: &Places<'_>,
    ) -> Result<Option<Self>, Diagnostic> {
        let Some(mut wiring) = wiring(graph, train, data, places)? else { return Ok(None) };
        let (source, classes) = match data {
            None => {
                let (inputs, outputs) = (wiring.width() as usize, wiring.choices() as usize);
                let classes = wiring.is_product || wiring.labels.is_some();
                (teacher(inputs, outputs, train.seed), classes)
            }
            Some(Data::Table(table)) => {
                let named = matches!(table.target, Target::Classes(_));
                let classes = named && (wiring.labels.is_some() || wiring.outputs() > 1);
                if named && !classes {
                    // A single number that stands for the class is neither right nor near.
                    wiring.prediction = None;
                }
                (rows(table, &wiring, train.seed), classes)
            }
            Some(Data::Text(text)) if wiring.takes_pairs() => (pairs(text, &wiring), true),
            Some(Data::Text(text)) => (running(text), true),
        };
        Ok(Some(Self { wiring, classes, source, seed: train.seed }))
    }

    /// The inputs, and what is compared.
    pub const fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// The batch of a training step, from 0.
    pub fn batch(&self, step: u64) -> Batch {
        let rows = self.wiring.rows();
        match &self.source {
            Source::Teacher { weights, inputs, outputs } => {
                let stream = stream(self.seed, "teacher/x");
                let first = step * (rows * inputs) as u64;
                let features: Vec<f64> =
                    (0..rows * inputs).map(|i| normal(stream, first + i as u64)).collect();
                let each = features.chunks(*inputs);
                let targets = each.flat_map(|row| self.teach(row, weights, *outputs)).collect();
                self.of(features, targets)
            }
            Source::Rows { training, .. } | Source::Pairs { training, .. } => {
                let per_epoch = (training / rows) as u64;
                let order = order(*training, self.seed, step / per_epoch);
                let first = (step % per_epoch) as usize * rows;
                self.rows(order[first..first + rows].iter().copied())
            }
            Source::Running { training, .. } => {
                let stream = stream(self.seed, "text/begin");
                let places = (training.len() - self.length() + 1) as f64;
                let first = step * rows as u64;
                let begin = |row: u64| (uniform(stream, first + row) * places) as usize;
                self.pieces(training, (0..rows as u64).map(begin))
            }
        }
    }

    /// The batches that are held out. Of a table, together they hold each such row once; of a text,
    /// as many rows as `LOOKED_AT` allows, evenly apart.
    pub fn held_out(&self) -> Vec<Batch> {
        let rows = self.wiring.rows();
        let most = (LOOKED_AT / (rows * self.length().max(1))).max(1);
        match &self.source {
            Source::Teacher { .. } => Vec::new(),
            Source::Rows { targets, outputs, training, .. } => {
                let all = targets.len() / outputs;
                let starts = (*training..all).step_by(rows);
                starts.map(|s| self.rows(s..s + rows)).collect()
            }
            Source::Pairs { targets, training, .. } => {
                let held = targets.len() / self.length() - training;
                let batches = (held / rows).min(most);
                let at = |i: usize| training + i * held / (batches * rows);
                (0..batches).map(|b| self.rows((b * rows..(b + 1) * rows).map(at))).collect()
            }
            Source::Running { held_out, .. } => {
                let all = held_out.len() / self.length();
                let batches = (all / rows).min(most);
                let at = |i: usize| i * all / (batches * rows) * self.length();
                let batch = |b: usize| (b * rows..(b + 1) * rows).map(at);
                (0..batches).map(|b| self.pieces(held_out, batch(b))).collect()
            }
        }
    }

    /// The inputs and their numbers in the order of the tensors' elements.
    pub fn inputs(&self, batch: &Batch) -> Vec<(NodeId, Vec<f64>)> {
        let Wiring { target, target_shape, source, source_shape, batch: rows, .. } = &self.wiring;
        let source = source.zip(source_shape.as_ref());
        let inputs = source.into_iter().chain([(*target, target_shape)]);
        inputs.map(|(id, shape)| (id, in_order(shape, &rows.name, batch.of(id)))).collect()
    }

    /// Whether what is held out are pairs of lines.
    pub const fn is_pairs(&self) -> bool {
        matches!(self.source, Source::Pairs { .. })
    }

    /// How the text it reads is cut into tokens.
    pub const fn vocabulary(&self) -> Option<&Vocabulary> {
        match &self.source {
            Source::Running { vocabulary, .. } | Source::Pairs { vocabulary, .. } => {
                Some(vocabulary)
            }
            Source::Teacher { .. } | Source::Rows { .. } => None,
        }
    }

    fn of(&self, source: Vec<f64>, target: Vec<f64>) -> Batch {
        let source = self.wiring.source.map(|id| (id, source));
        let rows = source.into_iter().chain([(self.wiring.target, target)]).collect();
        Batch { rows, words: 0 }
    }

    fn rows(&self, rows: impl Iterator<Item = usize> + Clone) -> Batch {
        match &self.source {
            Source::Rows { features, targets, width, outputs, .. } => self.of(
                rows.clone().flat_map(|r| &features[r * width..(r + 1) * width]).copied().collect(),
                rows.flat_map(|r| &targets[r * outputs..(r + 1) * outputs]).copied().collect(),
            ),
            Source::Pairs { sources, targets, vocabulary, .. } => {
                let (width, length) = (self.wiring.width() as usize, self.length());
                let of = |ids: &[u32], width: usize| -> Vec<f64> {
                    let each = rows.clone().flat_map(|r| &ids[r * width..(r + 1) * width]);
                    each.map(|&id| f64::from(id)).collect()
                };
                let said = |r: usize| vocabulary.bytes(&targets[r * length..(r + 1) * length]);
                let words = rows.clone().map(|r| words_begun(&[], &said(r))).sum();
                Batch { words, ..self.of(of(sources, width), of(targets, length)) }
            }
            Source::Teacher { .. } | Source::Running { .. } => Batch::default(),
        }
    }

    /// Pieces of a text, and the same moved by one for the model that is given them.
    fn pieces(&self, text: &[u32], begins: impl Iterator<Item = usize>) -> Batch {
        let (mut source, mut target, mut words) = (Vec::new(), Vec::new(), 0);
        for begin in begins {
            let piece = &text[begin..begin + self.length()];
            let ids = piece.iter().map(|&id| f64::from(id));
            source.push(f64::from(PADDING));
            source.extend(ids.clone().take(self.length() - 1));
            target.extend(ids);
            if let Source::Running { vocabulary, .. } = &self.source {
                let before = &text[begin.saturating_sub(1)..begin];
                words += words_begun(&vocabulary.bytes(before), &vocabulary.bytes(piece));
            }
        }
        Batch { words, ..self.of(source, target) }
    }

    /// Numbers of one row of targets.
    fn length(&self) -> usize {
        self.wiring.outputs() as usize
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

    /// What an output, and the weights of its positions, say about a batch.
    pub fn score(
        &self,
        batch: &Batch,
        output: (&Shape, &[f64]),
        weights: Option<(&Shape, &[f64])>,
    ) -> Score {
        let targets = batch.of(self.wiring.target);
        let row_by_row = |(shape, numbers): (&Shape, &[f64])| {
            Where::new(&self.wiring, shape).row_by_row(numbers)
        };
        let outputs = row_by_row(output);
        match &self.source {
            Source::Running { .. } | Source::Pairs { .. } => {
                let weights = weights.map(row_by_row);
                let classes = self.wiring.labels.as_ref().map_or(1, |d| d.size as usize);
                Score::of_tokens(&outputs, targets, weights.as_deref(), classes, batch.words)
            }
            Source::Teacher { .. } | Source::Rows { .. } => {
                Score::of_rows(&self.wiring, self.classes, &outputs, targets)
            }
        }
    }

    /// What the mean loss and the scores of the batches held out come to.
    pub fn validation(&self, loss: f64, score: Option<Score>) -> Validation {
        match (&self.source, score) {
            (_, None) => Validation { loss, ..Validation::default() },
            (Source::Running { .. } | Source::Pairs { .. }, Some(score)) => {
                score.perplexities(loss)
            }
            (Source::Teacher { .. } | Source::Rows { .. }, Some(score)) => {
                score.share(loss, self.classes)
            }
        }
    }
}

/// Numbers that stand row by row, in the order of a tensor that may have its rows elsewhere.
fn in_order(shape: &Shape, rows: &Name, numbers: &[f64]) -> Vec<f64> {
    if shape.dims().first().is_some_and(|d| d.name == *rows) {
        return numbers.to_vec();
    }
    let size = shape.dims().iter().find(|d| d.name == *rows).map_or(1, |d| d.size);
    let width = shape.elements() / size;
    let at = |mut index: u64| {
        let (mut row, mut column, mut stride) = (0, 0, 1);
        for d in shape.dims().iter().rev() {
            let coordinate = index % d.size;
            index /= d.size;
            if d.name == *rows {
                row = coordinate;
            } else {
                column += coordinate * stride;
                stride *= d.size;
            }
        }
        numbers[(row * width + column) as usize]
    };
    (0..shape.elements()).map(at).collect()
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

/// A text that fits, in tokens.
fn running(text: &Text) -> Source {
    let parts = parts(&text.text);
    let vocabulary = text.vocabulary.clone();
    let [training, held_out] =
        [&parts.training, &parts.held_out].map(|part| vocabulary.encode(part));
    Source::Running { training, held_out, vocabulary }
}

/// The pairs of a text that fits, in rows of tokens.
fn pairs(text: &Text, wiring: &Wiring) -> Source {
    let parts = parts(&text.text);
    let (width, length) = (wiring.width() as usize, wiring.outputs() as usize);
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for (from, to) in parts.training.lines().chain(parts.held_out.lines()).filter_map(pair) {
        sources.extend(row(&text.vocabulary, from, width));
        targets.extend(row(&text.vocabulary, to, length));
    }
    let training = parts.training.lines().count();
    Source::Pairs { sources, targets, training, vocabulary: text.vocabulary.clone() }
}

/// A sentence as one row of ids: its end marked, padded to the width.
pub fn row(vocabulary: &Vocabulary, sentence: &str, width: usize) -> Vec<u32> {
    let mut ids = vocabulary.encode(sentence);
    ids.push(END);
    ids.resize(width, PADDING);
    ids
}

/// The numbers 0..n in an order that depends on seed and epoch.
fn order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let stream = stream(seed, &format!("epoch/{epoch}"));
    let mut keyed: Vec<(f64, usize)> = (0..n).map(|i| (uniform(stream, i as u64), i)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, i)| i).collect()
}
