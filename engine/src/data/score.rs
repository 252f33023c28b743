//! How good outputs are on what is held out: the share of right classes, the error of numbers, the
//! perplexity of text.
//!
//! ```text
//!   per token = exp(nats / tokens)      nats = −Σ log p(token)
//!   per word  = exp(nats / words)       words begun in the text that is scored
//! ```

use super::wiring::Wiring;
use crate::layout::dims::{Name, Shape};
use std::collections::BTreeMap;

/// Quality on what is held out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Validation {
    /// Mean loss.
    pub loss: f64,
    /// Share of rows whose largest output is at the right class (classification).
    pub accuracy: Option<f64>,
    /// Root of the mean square error in deviations of the target (regression).
    pub error: Option<f64>,
    /// Perplexity per token (text).
    pub perplexity: Option<f64>,
    /// Perplexity per word (text of which every token is predicted).
    pub word_perplexity: Option<f64>,
}

/// What outputs add up to over batches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Score {
    /// Right rows, square errors, or nats.
    sum: f64,
    /// Rows, or tokens that count.
    count: f64,
    /// Tokens that are there.
    tokens: u64,
    words: u64,
}

impl Score {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            count: self.count + other.count,
            tokens: self.tokens + other.tokens,
            words: self.words + other.words,
        }
    }

    /// Over rows: the share of a row's labels that the largest output names (one label per row: 1
    /// if it is right), or the square error averaged over the row.
    pub(super) fn of_rows(
        wiring: &Wiring,
        is_classes: bool,
        outputs: &[f64],
        targets: &[f64],
    ) -> Self {
        let width = wiring.outputs() as usize;
        let classes = wiring.labels.as_ref().map_or(1, |d| d.size as usize);
        let rows = outputs.chunks(width * classes).zip(targets.chunks(width));
        let each = rows.map(|(y, t)| {
            if wiring.labels.is_some() {
                let right = |(y, label): &(&[f64], &f64)| largest(y) == **label as usize;
                y.chunks(classes).zip(t).filter(right).count() as f64 / width as f64
            } else if is_classes {
                f64::from(u8::from(largest(y) == largest(t)))
            } else {
                y.iter().zip(t).map(|(y, t)| (y - t) * (y - t)).sum::<f64>() / width as f64
            }
        });
        Self { sum: each.sum(), count: wiring.rows() as f64, ..Self::default() }
    }

    /// Over tokens: nats, weighted as the loss weights them; padding does not count.
    pub(super) fn of_tokens(
        logits: &[f64],
        targets: &[f64],
        weights: Option<&[f64]>,
        classes: usize,
        words: u64,
    ) -> Self {
        let mut score = Self { words, ..Self::default() };
        for (i, (logits, &id)) in logits.chunks(classes).zip(targets).enumerate() {
            if id > 0.0 {
                let weight = weights.map_or(1.0, |w| w[i]);
                score.tokens += 1;
                score.count += weight;
                score.sum -= weight * log_probability(logits, id as usize);
            }
        }
        score
    }

    pub(super) fn share(self, loss: f64, is_classes: bool) -> Validation {
        let share = Some(self.sum / self.count);
        Validation {
            loss,
            accuracy: share.filter(|_| is_classes),
            error: share.filter(|_| !is_classes).map(f64::sqrt),
            ..Validation::default()
        }
    }

    pub(super) fn perplexities(self, loss: f64) -> Validation {
        let all_count = (self.count - self.tokens as f64).abs() < 0.5;
        Validation {
            loss,
            perplexity: (self.count > 0.0).then(|| (self.sum / self.count).exp()),
            word_perplexity: (self.words > 0 && all_count)
                .then(|| (self.sum / self.words as f64).exp()),
            ..Validation::default()
        }
    }
}

/// The position of the greatest number, the first of equals.
pub fn largest(numbers: &[f64]) -> usize {
    let mut best = 0;
    for (i, x) in numbers.iter().enumerate() {
        if *x > numbers[best] {
            best = i;
        }
    }
    best
}

/// The logarithm of the probability that logits give to a position.
pub fn log_probability(logits: &[f64], at: usize) -> f64 {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logits.iter().map(|x| (x - most).exp()).sum();
    logits.get(at).map_or(f64::NEG_INFINITY, |x| x - most - total.ln())
}

/// Where the elements of an output stand when rows come first, then the target's other dimensions,
/// then the classes.
#[derive(Debug)]
pub struct Where {
    /// For each dimension of the output, the last first: its size, and how far its elements are
    /// apart.
    strides: Vec<(u64, u64)>,
    elements: usize,
}

impl Where {
    /// For an output of this shape: the target's dimensions, or one other in place of the only one
    /// it has beside the rows, and the classes.
    pub fn new(wiring: &Wiring, shape: &Shape) -> Self {
        let Wiring { batch, labels, target_shape, .. } = wiring;
        let labels = labels.as_ref().filter(|d| shape.has(&d.name));
        let mut stride = labels.map_or(1, |d| d.size);
        let mut of: BTreeMap<&Name, u64> = BTreeMap::new();
        of.extend(labels.iter().map(|d| (&d.name, 1)));
        let other = stride;
        for d in target_shape.dims().iter().rev().filter(|d| d.name != batch.name) {
            of.insert(&d.name, stride);
            stride *= d.size;
        }
        of.insert(&batch.name, stride);
        let single = if wiring.only(target_shape).is_some() { other } else { 0 };
        let dims = shape.dims().iter().rev();
        let strides = dims.map(|d| (d.size, of.get(&d.name).copied().unwrap_or(single))).collect();
        Self { strides, elements: (stride * batch.size) as usize }
    }

    /// The numbers in that order.
    pub fn row_by_row(&self, numbers: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.elements];
        for (i, &x) in numbers.iter().enumerate() {
            let (mut index, mut at) = (i as u64, 0);
            for (size, stride) in &self.strides {
                at += (index % size) * stride;
                index /= size;
            }
            out[at as usize] = x;
        }
        out
    }
}
