//! What a trained model of text writes: continuations, by drawing token after token, and
//! translations, by the search for likely ones.
//!
//! ```text
//!   prompt ─▶ [ t h e   c a _ _ ]  forward pass  ─▶ chances of the next token ─▶ draw, append ─┐
//!             └─ the last length−1 tokens ◀───────────────────────────────────────────────────┘
//! ```
//!
//! The beam keeps the `n` likeliest beginnings. A translation's score is the sum of its logarithms of
//! probability over ((5 + tokens)/6)^0.6 (Wu et al. 2016), so that long ones are not put behind.

use crate::data::bleu::Bleu;
use crate::data::feed::row;
use crate::data::score::{largest, log_probability};
use crate::data::vocabulary::{END, PADDING, Vocabulary};
use crate::data::wiring::Wiring;
use crate::diag::{Code, Diagnostic, Hint};
use crate::exec::pool::Pool;
use crate::graph::init::{stream, uniform};
use crate::index::NodeId;
use crate::session::{self, Session, Whole};
use crate::spec::edit;
use crate::study::Study;

/// How a text is to be written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wish {
    /// Tokens to write.
    pub tokens: usize,
    /// Chances are taken to the power of its inverse; at 0 the likeliest token is written.
    pub temperature: f64,
    /// Only so many of the likeliest tokens are drawn from.
    pub top_k: usize,
    /// Of the draws.
    pub seed: u64,
    /// Beginnings of a translation that are kept.
    pub beam: usize,
}

impl Default for Wish {
    fn default() -> Self {
        Self { tokens: 100, temperature: 1.0, top_k: usize::MAX, seed: 0, beam: 1 }
    }
}

/// A trained model that writes.
#[derive(Debug)]
pub struct Author<P> {
    session: Session<P>,
    vocabulary: Vocabulary,
}

/// What writes, of a study that a model of text was trained with: the same on one processor, with
/// a batch of no more rows than are needed, if the study can have it.
fn writer(study: &Study, beam: usize) -> Result<Study, Diagnostic> {
    let alone = study.alone();
    let wiring = Wiring::new(alone.graph(), &alone.data_places()).map_err(|d| study.fitted(d))?;
    if !(wiring.takes_text() && wiring.prediction.is_some()) {
        let message = "This study is no model of text: its target is not rows of ids of tokens";
        let advice = "Sample a run of `transformer` or `encoder_decoder`.";
        let d = Diagnostic::error(Code::Data, study.data_span(), message);
        return Err(d.hint(Hint::new(advice)));
    }
    let smaller = edit::set_size(study.text(), wiring.rows_name(), beam.max(1) as u64);
    let small = Study::new(&smaller).alone();
    let is_same = !small.has_errors() && small.graph().nodes().len() == alone.graph().nodes().len();
    Ok(if is_same { small } else { alone })
}

/// Bytes that a model of text holds at its worst moment while it writes with so wide a beam.
pub fn bytes_needed(study: &Study, beam: usize) -> Result<u64, Diagnostic> {
    session::bytes_to_ask(&writer(study, beam)?)
}

impl<P: Pool + Clone> Author<P> {
    /// The model of a study with these parameters, on one processor; or why it writes nothing.
    pub fn new(
        study: &Study,
        vocabulary: Vocabulary,
        parameters: &[(String, Whole)],
        beam: usize,
        pool: &P,
    ) -> Result<Self, Diagnostic> {
        let fault = || Diagnostic::error(Code::Data, study.data_span(), "The study cannot be run");
        let mut session = Session::asking(&writer(study, beam)?, pool.clone())
            .map_err(|list| list.into_iter().find(Diagnostic::is_error).unwrap_or_else(fault))?;
        for (name, whole) in parameters {
            if !session.set_parameter(name, &whole.values) {
                let message = format!("The parameter `{name}` has other sizes in this study");
                return Err(Diagnostic::error(Code::Data, study.data_span(), message));
            }
        }
        let mut author = Self { session, vocabulary };
        if author.translates() || !author.looks_ahead() {
            return Ok(author);
        }
        let message = "This model looks at the token that it is to guess, so it continues nothing";
        let advice = "Sample a model with `attention:causal` or `attention:local`.";
        let d = Diagnostic::error(Code::Data, study.data_span(), message);
        Err(d.hint(Hint::new(advice)))
    }
}

impl<P: Pool> Author<P> {
    /// Whether it translates, rather than goes on.
    pub fn translates(&self) -> bool {
        self.session.wiring().is_some_and(Wiring::takes_pairs)
    }

    /// What follows the prompt, or its translation; less than was asked for once `goes_on` says no.
    pub fn write(
        &mut self,
        prompt: &str,
        wish: &Wish,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<String, Diagnostic> {
        if self.translates() {
            return self.translation(prompt, wish.beam.max(1));
        }
        let stream = stream(wish.seed, "sample");
        let mut ids = self.vocabulary.encode(prompt);
        let begin = ids.len();
        for i in 0..wish.tokens as u64 {
            if !goes_on() {
                break;
            }
            let known = &ids[ids.len() - ids.len().min(self.length() - 1)..];
            let logits = next(&mut self.session, &[], &[known]).pop().unwrap_or_default();
            ids.push(drawn(self.spoken(&logits), wish, uniform(stream, i)));
        }
        Ok(self.vocabulary.decode(&ids[begin..]))
    }

    /// The likeliest translation that a beam finds.
    fn translation(&mut self, source: &str, beam: usize) -> Result<String, Diagnostic> {
        let width = self.width();
        let needs = self.vocabulary.encode(source).len() + 1;
        if needs > width {
            let message = format!("The prompt has {needs} tokens with its end, the source {width}");
            let d = Diagnostic::error(Code::Data, self.session.study().data_span(), message);
            return Err(d.hint(Hint::new("Translate a shorter one.")));
        }
        let source = row(&self.vocabulary, source, width);
        let normal = |score: f64, tokens: usize| score / ((5.0 + tokens as f64) / 6.0).powf(0.6);
        let mut open: Vec<(f64, Vec<u32>)> = vec![(0.0, Vec::new())];
        let mut done: Vec<(f64, Vec<u32>)> = Vec::new();
        for _ in 0..self.length() {
            let begun: Vec<&[u32]> = open.iter().map(|(_, ids)| &ids[..]).collect();
            let all = next(&mut self.session, &source, &begun);
            let mut longer: Vec<(f64, usize, u32)> = Vec::new();
            for (i, logits) in all.iter().enumerate() {
                let chance =
                    |(id, _): (u32, f64)| (open[i].0 + log_probability(logits, id as usize), i, id);
                longer.extend(self.said(logits).map(chance));
            }
            longer.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            let mut kept = Vec::new();
            for (rank, (score, i, id)) in longer.into_iter().take(2 * beam).enumerate() {
                let ids: Vec<u32> = open[i].1.iter().copied().chain([id]).collect();
                if id != END {
                    kept.push((score, ids));
                } else if rank < beam {
                    done.push((normal(score, ids.len()), ids));
                }
            }
            kept.truncate(beam);
            open = kept;
            // What is still open ends at best as likely as it is now, and as long as can be.
            let hope = open.first().map(|(score, _)| normal(*score, self.length()));
            let best = done.iter().map(|d| d.0).fold(f64::NEG_INFINITY, f64::max);
            let is_greedy = beam == 1 && !done.is_empty();
            if is_greedy || hope.is_none_or(|hope| hope <= best) {
                break;
            }
        }
        if done.is_empty() {
            done = open.into_iter().map(|(score, ids)| (normal(score, ids.len()), ids)).collect();
        }
        let best = done.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a });
        Ok(best.map(|(_, ids)| self.vocabulary.decode(&ids)).unwrap_or_default())
    }

    /// Ids that can stand in a text, and the end, with their logits.
    fn said<'l>(&self, logits: &'l [f64]) -> impl Iterator<Item = (u32, f64)> + use<'l, P> {
        let size = usize::try_from(self.vocabulary.size()).unwrap_or(usize::MAX);
        (0..).zip(logits.iter().copied()).take(size).filter(|(id, _)| *id != PADDING)
    }

    /// Ids that can stand in a text, with their logits.
    fn spoken(&self, logits: &[f64]) -> Vec<(u32, f64)> {
        self.said(logits).filter(|(id, _)| *id != END).collect()
    }

    fn length(&self) -> usize {
        self.session.wiring().map_or(1, |w| w.target_length().max(1))
    }

    fn width(&self) -> usize {
        self.session.wiring().map_or(0, Wiring::source_length)
    }

    /// Whether another last token changes what is guessed up to it.
    fn looks_ahead(&mut self) -> bool {
        let mut piece = vec![b'a'.into(); self.length()];
        let before = self.guesses(&piece);
        if let Some(last) = piece.last_mut() {
            *last = b'b'.into();
        }
        before != self.guesses(&piece)
    }

    fn guesses(&mut self, piece: &[u32]) -> Option<Vec<f64>> {
        let inputs = inputs(&self.session, &[], &[piece]);
        self.session.outputs(&inputs)
    }
}

/// The token that a number in [0, 1) draws; of equals the first is the likelier.
fn drawn(mut logits: Vec<(u32, f64)>, wish: &Wish, at: f64) -> u32 {
    logits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let Some(&(best, most)) = logits.first() else { return PADDING };
    if wish.temperature <= 0.0 {
        return best;
    }
    logits.truncate(wish.top_k.max(1));
    let weight = |x: f64| ((x - most) / wish.temperature).exp();
    let total: f64 = logits.iter().map(|l| weight(l.1)).sum();
    let mut left = at * total;
    for &(id, x) in &logits {
        left -= weight(x);
        if left < 0.0 {
            return id;
        }
    }
    best
}

/// The logits of what follows each beginning; `source` is a row of the source, or nothing.
fn next<P: Pool>(session: &mut Session<P>, source: &[u32], begun: &[&[u32]]) -> Vec<Vec<f64>> {
    let Some((rows, length)) = session.wiring().map(|w| (w.rows(), w.target_length())) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for some in begun.chunks(rows.max(1)) {
        let given = inputs(session, source, some);
        let outputs = session.outputs(&given).unwrap_or_default();
        let classes = outputs.len() / (rows * length).max(1);
        for (r, ids) in some.iter().enumerate() {
            let at = (r * length + ids.len().min(length - 1)) * classes;
            all.push(outputs[at..at + classes].to_vec());
        }
    }
    all
}

/// The inputs for rows that begin so; rows that are not used are padding.
fn inputs<P>(session: &Session<P>, source: &[u32], begun: &[&[u32]]) -> Vec<(NodeId, Vec<f64>)>
where
    P: Pool,
{
    let Some(wiring) = session.wiring() else { return Vec::new() };
    let (rows, length) = (wiring.rows(), wiring.target_length());
    let mut target = vec![f64::from(PADDING); rows * length];
    for (row, ids) in target.chunks_mut(length).zip(begun) {
        for (place, &id) in row.iter_mut().zip(*ids) {
            *place = f64::from(id);
        }
    }
    let given = wiring.source.map(|id| {
        let numbers = if source.is_empty() {
            let moved = |row: &[f64]| [&[f64::from(PADDING)], &row[..length - 1]].concat();
            target.chunks(length).flat_map(moved).collect()
        } else {
            (0..rows).flat_map(|_| source.iter().map(|&id| f64::from(id))).collect()
        };
        (id, numbers)
    });
    given.into_iter().chain([(wiring.target, target)]).collect()
}

/// BLEU of the likeliest tokens, one after the other, on the pairs held out; nothing for a study of
/// anything else.
pub fn bleu<P: Pool>(session: &mut Session<P>) -> Option<f64> {
    let feed = session.feed()?;
    let vocabulary = feed.vocabulary().filter(|_| feed.is_pairs())?.clone();
    let wiring = feed.wiring().clone();
    let (source, length) = (wiring.source?, wiring.target_length());
    let mut bleu = Bleu::default();
    for batch in feed.held_out() {
        let mut target = vec![f64::from(PADDING); wiring.rows() * length];
        let mut ended = vec![false; wiring.rows()];
        for at in 0..length {
            let given = vec![(source, batch.of(source).to_vec()), (wiring.target, target.clone())];
            let outputs = session.outputs(&given)?;
            let classes = outputs.len() / target.len();
            let rows = outputs.chunks(length * classes).zip(&mut ended);
            for ((logits, ended), row) in rows.zip(target.chunks_mut(length)) {
                // The first is padding, which nobody says.
                let logits = &logits[at * classes + 1..(at + 1) * classes];
                let id = 1 + largest(logits);
                *ended |= id == END as usize;
                row[at] = if *ended { f64::from(PADDING) } else { id as f64 };
            }
            if ended.iter().all(|ended| *ended) {
                break;
            }
        }
        let said =
            |row: &[f64]| vocabulary.decode(&row.iter().map(|&id| id as u32).collect::<Vec<_>>());
        for (row, reference) in target.chunks(length).zip(batch.of(wiring.target).chunks(length)) {
            bleu.add(&said(row), &said(reference));
        }
    }
    Some(bleu.score())
}
