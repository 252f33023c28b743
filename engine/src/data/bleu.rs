//! BLEU, the share of a translation's runs of words that a reference has too (Papineni et al. 2002).
//!
//! As sacreBLEU computes it by default (Post 2018): over a corpus, up to four words, tokens after the
//! script `mteval-v13a`, exponential smoothing where no run of some length is right.
//!
//! ```text
//!   BLEU = 100 · BP · (p₁ p₂ p₃ p₄)^¼      BP = min(1, exp(1 − length of references / of translations))
//! ```

use std::collections::BTreeMap;

/// The longest runs of words that are compared.
const ORDER: usize = 4;

/// Counts over a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bleu {
    right: [u64; ORDER],
    all: [u64; ORDER],
    translated: u64,
    reference: u64,
}

impl Bleu {
    /// Takes a translation and its reference.
    pub fn add(&mut self, translation: &str, reference: &str) {
        let (translation, reference) = (tokens(translation), tokens(reference));
        self.translated += translation.len() as u64;
        self.reference += reference.len() as u64;
        for (order, (right, all)) in (1..).zip(self.right.iter_mut().zip(&mut self.all)) {
            let known = runs(&reference, order);
            for (run, count) in runs(&translation, order) {
                *all += count;
                *right += count.min(known.get(run).copied().unwrap_or(0));
            }
        }
    }

    /// The score, from 0 to 100.
    pub fn score(&self) -> f64 {
        if self.right.iter().all(|&n| n == 0) {
            return 0.0;
        }
        let (mut logs, mut smooth, mut orders) = (0.0, 1.0, 0);
        for (&right, &all) in self.right.iter().zip(&self.all) {
            // Translations shorter than this all together have no such runs.
            if all == 0 {
                break;
            }
            orders += 1;
            let share = if right == 0 {
                smooth *= 2.0;
                1.0 / (smooth * all as f64)
            } else {
                right as f64 / all as f64
            };
            logs += share.ln();
        }
        if orders < ORDER {
            return 0.0;
        }
        let (translated, reference) = (self.translated as f64, self.reference as f64);
        let brevity =
            if translated < reference { (1.0 - reference / translated).exp() } else { 1.0 };
        100.0 * brevity * (logs / ORDER as f64).exp()
    }
}

/// How often each run of so many words occurs.
fn runs(words: &[String], order: usize) -> BTreeMap<&[String], u64> {
    let mut counts = BTreeMap::new();
    for run in words.windows(order) {
        *counts.entry(run).or_insert(0) += 1;
    }
    counts
}

/// The words of a line after `mteval-v13a`: signs stand alone, but not a point or a comma within a
/// number, and a hyphen only after a digit.
pub fn tokens(line: &str) -> Vec<String> {
    let line = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let line = ["&quot;", "&amp;", "&lt;", "&gt;"]
        .into_iter()
        .zip(["\"", "&", "<", ">"])
        .fold(line, |line, (name, sign)| line.replace(name, sign));
    let line: Vec<char> = format!(" {line} ").chars().collect();
    let mut apart: Vec<char> = Vec::with_capacity(2 * line.len());
    for &c in &line {
        match c {
            '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/' => {
                apart.extend([' ', c, ' ']);
            }
            c => apart.push(c),
        }
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let apart =
        pairs(&apart, |a, b| !is_digit(a) && matches!(b, '.' | ','), |a, b| vec![a, ' ', b, ' ']);
    let apart =
        pairs(&apart, |a, b| matches!(a, '.' | ',') && !is_digit(b), |a, b| vec![' ', a, ' ', b]);
    let apart = pairs(&apart, |a, b| is_digit(a) && b == '-', |a, b| vec![a, ' ', b, ' ']);
    let text: String = apart.into_iter().collect();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Replaces pairs of neighbours from left to right, none of which overlap, as a regular expression
/// does.
fn pairs(
    text: &[char],
    fits: impl Fn(char, char) -> bool,
    becomes: impl Fn(char, char) -> Vec<char>,
) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&a) = text.get(at) {
        match text.get(at + 1) {
            Some(&b) if fits(a, b) => {
                out.extend(becomes(a, b));
                at += 2;
            }
            _ => {
                out.push(a);
                at += 1;
            }
        }
    }
    out
}
