//! Whether data goes with a study, and what to change where it does not: known from the sizes of
//! both, before a number is made.

use super::Data;
use super::places::Places;
use super::table::{Table, Target};
use super::text::{Text, parts};
use super::vocabulary::BYTES;
use super::wiring::Wiring;
use crate::diag::{Diagnostic, Hint};
use crate::graph::Graph;
use crate::graph::train::{Tokens, TrainOptions};
use crate::layout::dims::{Dimension, Shape};

/// The share of rows held out.
const HELD_OUT: f64 = 0.2;

/// What data goes to; `Ok(None)` where there is none.
pub fn wiring(
    graph: &Graph,
    train: &TrainOptions,
    data: Option<&Data>,
    places: &Places<'_>,
) -> Result<Option<Wiring>, Diagnostic> {
    match (data, train.data.as_deref()) {
        (Some(data), _) => {
            let wiring = Wiring::new(graph, places)?;
            let misfit = match data {
                Data::Table(table) => match no_source(&wiring, places) {
                    Some(few) => return Err(few),
                    None => of_table(&wiring, table, places),
                },
                Data::Text(text) => of_text(&wiring, train, text, places),
            };
            misfit.map_or(Ok(Some(wiring)), |d| Err(places.or_other_data(d)))
        }
        (None, None) => Ok(None),
        (None, Some("teacher")) => {
            let wiring = Wiring::new(graph, places)?;
            no_source(&wiring, places).map_or(Ok(Some(wiring)), Err)
        }
        (None, Some(name)) => {
            let message = format!("The data set `{name}` is not at hand here");
            Err(places.or_other_data(places.fault(message)))
        }
    }
}

/// What is wrong with a study that rows are to go to and that has one input.
pub fn no_source(wiring: &Wiring, places: &Places<'_>) -> Option<Diagnostic> {
    if wiring.source.is_some() {
        return None;
    }
    let message = "Rows feed two inputs, the features and the target; this study has one";
    let advice = "Name a text to train on, such as `data:sources`.";
    let d = places.fault(message.to_owned());
    let d = match places.option {
        Some(_) => d.hint(Hint::edit(advice, places.name, "sources")),
        None => d.hint(Hint::new(advice)),
    };
    Some(places.or_no_data(d))
}

fn of_table(wiring: &Wiring, table: &Table, places: &Places<'_>) -> Option<Diagnostic> {
    let name = &table.name;
    let source = wiring.source_shape.as_ref()?;
    let target = &wiring.target_shape;
    let width = table.columns.len().saturating_sub(1) as u64;
    if width != wiring.width() {
        let message = format!(
            "`{name}` has {width} features, the study's input holds {} per row",
            wiring.width()
        );
        let mend = wiring.only(source).filter(|d| !target.has(&d.name));
        let d = places.fault(message);
        return Some(sized(wiring, d, places, mend, width, source));
    }
    let outputs = wiring.outputs();
    match (&table.target, &wiring.labels) {
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
            let message =
                format!("`{name}` has {classes} classes, `{}` has {} elements", dim.name, dim.size);
            return Some(places.resized(places.fault(message), &dim.name, classes));
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
        let mend = wiring.only(target).filter(|d| !source.has(&d.name));
        return Some(sized(wiring, places.fault(message), places, mend, values, target));
    }
    let (batch, all) = (wiring.batch.size, table.len() as u64);
    if all < held_out(all, batch).saturating_add(batch) {
        let message =
            format!("`{name}` has {all} rows: too few for a batch of {batch} and as many held out");
        return Some(smaller(places.fault(message), places, &wiring.batch, all / 2));
    }
    None
}

/// With the size that would fit.
fn sized(
    wiring: &Wiring,
    d: Diagnostic,
    places: &Places<'_>,
    dim: Option<&Dimension>,
    size: u64,
    shape: &Shape,
) -> Diagnostic {
    if let Some(hint) = dim.and_then(|dim| places.resize(&dim.name, size)) {
        return d.hint(hint);
    }
    d.hint(Hint::new(format!(
        "The dimensions of {shape} other than `{}` must hold {size} elements together.",
        wiring.batch.name
    )))
}

/// With the greatest size of a dimension up to `most`, of those that meshes are made of.
fn smaller(d: Diagnostic, places: &Places<'_>, dim: &Dimension, most: u64) -> Diagnostic {
    match most.checked_ilog2() {
        Some(power) if 1 << power < dim.size => places.resized(d, &dim.name, 1 << power),
        _ => d,
    }
}

/// Rows of `all` that are held out: whole batches, at least one.
pub(super) fn held_out(all: u64, batch: u64) -> u64 {
    ((all as f64 * HELD_OUT) as u64 / batch).max(1).saturating_mul(batch)
}

fn of_text(
    wiring: &Wiring,
    train: &TrainOptions,
    text: &Text,
    places: &Places<'_>,
) -> Option<Diagnostic> {
    let name = &text.name;
    let rows_first =
        |shape: &Shape| shape.dims().first() == Some(&wiring.batch) && wiring.only(shape).is_some();
    let shapes = [Some(&wiring.target_shape), wiring.source_shape.as_ref()];
    if let Some(shape) = shapes.into_iter().flatten().find(|shape| !rows_first(shape)) {
        let message =
            format!("`{name}` is a text: it goes to rows of ids, not to an input {shape}");
        let advice = "Declare `input targets[batch length]`, a row for each piece of text.";
        return Some(places.fault(message).hint(Hint::new(advice)));
    }
    let Some(dim) = &wiring.labels else {
        let message =
            format!("`{name}` is a text: its target is ids, which the loss does not name");
        let advice = "Compare logits with the ids: `cross_entropy(logits, targets, dim:vocab)`.";
        return Some(places.fault(message).hint(Hint::new(advice)));
    };
    entries(wiring, train, text, dim, places).or_else(|| match wiring.takes_pairs() {
        true => pairs(wiring, text, places),
        false => running(wiring, text, places),
    })
}

/// What is wrong with the size of the vocabulary.
fn entries(
    wiring: &Wiring,
    train: &TrainOptions,
    text: &Text,
    dim: &Dimension,
    places: &Places<'_>,
) -> Option<Diagnostic> {
    // Where the last id is the model's own, such as a mask, a dimension of one more has room.
    let own = dim.size - wiring.ids.min(dim.size);
    if dim.size < BYTES {
        let what = match train.tokens {
            Tokens::Bytes => "Bytes are 256 tokens",
            Tokens::Bpe => "A byte-pair vocabulary begins with the 256 bytes",
        };
        let message = format!("{what}; `{}` has {} elements", dim.name, dim.size);
        let size = if train.tokens == Tokens::Bpe { 2 * BYTES } else { BYTES };
        return Some(places.resized(places.fault(message), &dim.name, size));
    }
    let size = text.vocabulary.size();
    if train.tokens == Tokens::Bpe && size < wiring.ids {
        let message = format!(
            "The part of `{}` that is trained on gives a byte-pair vocabulary of {size} tokens and \
             no more; `{}` has {} elements",
            text.name, dim.name, dim.size
        );
        return Some(places.resized(places.fault(message), &dim.name, size + own));
    }
    None
}

/// What is wrong with the length of a text that is cut into pieces.
fn running(wiring: &Wiring, text: &Text, places: &Places<'_>) -> Option<Diagnostic> {
    let parts = parts(&text.text);
    let count = |part: &str| text.vocabulary.encode(part).len() as u64;
    let (training, held) = (count(&parts.training), count(&parts.held_out));
    let (batch, length) = (&wiring.batch, wiring.only(&wiring.target_shape)?);
    let needs = batch.size.saturating_mul(length.size);
    if training.min(held) >= needs {
        return None;
    }
    let message = format!(
        "`{}` has {training} tokens to train on and {held} held out: too few for a batch of {} × {}",
        text.name, batch.size, length.size
    );
    let least = training.min(held);
    let d = smaller(places.fault(message), places, batch, least / length.size.max(1));
    Some(smaller(d, places, length, least / batch.size.max(1)))
}

/// What is wrong with a text whose lines are to be pairs.
fn pairs(wiring: &Wiring, text: &Text, places: &Places<'_>) -> Option<Diagnostic> {
    let name = &text.name;
    let (source, target) = (wiring.source_shape.as_ref()?, &wiring.target_shape);
    let (source, target) = (wiring.only(source)?, wiring.only(target)?);
    let mut longest = (0, 0);
    for (number, line) in (1..).zip(text.text.lines()) {
        let Some((from, to)) = pair(line) else {
            let tabs = line.matches('\t').count();
            let message = format!(
                "Line {number} of `{name}` has {tabs} tabs; this study takes pairs, with one tab \
                 between `{}` and `{}`",
                source.name, target.name
            );
            let advice = "Write each pair on a line of its own: the source, a tab, the target.";
            return Some(places.fault(message).hint(Hint::new(advice)));
        };
        let count = |side: &str| text.vocabulary.encode(side).len() as u64 + 1;
        longest = (longest.0.max(count(from)), longest.1.max(count(to)));
    }
    for (dim, most) in [(source, longest.0), (target, longest.1)] {
        if most > dim.size {
            let message = format!(
                "The longest line of `{name}` has {most} tokens with its end for `{}`, which has \
                 {} elements",
                dim.name, dim.size
            );
            return Some(places.resized(places.fault(message), &dim.name, most));
        }
    }
    let parts = parts(&text.text);
    let count = |part: &str| part.lines().count() as u64;
    let (training, held) = (count(&parts.training), count(&parts.held_out));
    let batch = &wiring.batch;
    if training.min(held) < batch.size {
        let message = format!(
            "`{name}` has {training} pairs to train on and {held} held out: too few for a batch of {}",
            batch.size
        );
        return Some(smaller(places.fault(message), places, batch, training.min(held)));
    }
    None
}

/// The two sides of a line, with one tab between them.
pub(super) fn pair(line: &str) -> Option<(&str, &str)> {
    line.split_once('\t').filter(|(_, to)| !to.contains('\t'))
}

/// Bytes that the numbers of the data take.
pub fn bytes(wiring: &Wiring, data: Option<&Data>) -> u64 {
    let numbers = match data {
        None => wiring.width().saturating_mul(wiring.choices()),
        // The columns stand there twice while they are standardised.
        Some(Data::Table(table)) => {
            let row = wiring.width().saturating_mul(2).saturating_add(wiring.outputs());
            row.saturating_mul(table.len() as u64)
        }
        // The text, its parts, and an id of 4 bytes for each byte at most.
        Some(Data::Text(text)) => text.text.len() as u64,
    };
    numbers.saturating_mul(size_of::<f64>() as u64)
}
