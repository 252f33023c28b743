//! A pass: every value that is not a source, the loss or wanted afterwards is freed after its last
//! use, so that the bytes held at each step are those of the values alive.
//!
//! What is there once and last read for a micro-batch is read for all of them, and freed when they
//! are done.

use super::program::{BodyKind, Program, Step, ValueIds, Varies, Work};
use crate::index::{IdVec, ValueId};
use smallvec::smallvec;
use std::collections::BTreeSet;

/// What a step makes for its own processors; what it sends is let go where it is received.
fn made_here(step: &Step) -> &[ValueId] {
    if step.work == Work::Send { &[] } else { &step.outputs }
}

/// Inserts the `Free` steps; values in `keep` stay to the end.
pub fn free(program: &mut Program, keep: &BTreeSet<ValueId>) {
    let mut last: IdVec<ValueId, Option<usize>> = program.values.iter().map(|_| None).collect();
    for (i, step) in program.steps.iter().enumerate() {
        for &value in step.inputs.iter().chain(made_here(step)) {
            last[value] = Some(i);
        }
    }
    for &source in program.sources.iter().chain(&program.loss).chain(keep) {
        last[source] = None;
    }
    let end = program.bodies.entries().find(|(_, b)| b.kind == BodyKind::End).map(|e| e.0);
    let mut out = Vec::with_capacity(program.steps.len() * 2);
    let mut later: Vec<Step> = Vec::new();
    for (i, step) in std::mem::take(&mut program.steps).into_iter().enumerate() {
        let Step { phase, body, node, span, .. } = step;
        if Some(body) == end {
            out.append(&mut later);
        }
        let mut touched: ValueIds = step.inputs.iter().chain(made_here(&step)).copied().collect();
        touched.sort_unstable();
        touched.dedup();
        out.push(step);
        let repeats = program.repeats(body);
        for value in touched.into_iter().filter(|&v| last[v] == Some(i)) {
            let (inputs, outputs) = (smallvec![value], ValueIds::new());
            let free = Step { work: Work::Free, inputs, outputs, phase, body, node, span };
            match end.filter(|_| repeats && program.values[value].varies == Varies::No) {
                Some(end) => later.push(Step { body: end, ..free }),
                None => out.push(free),
            }
        }
    }
    out.append(&mut later);
    program.steps = out;
}
