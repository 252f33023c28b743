//! A pass: every value that is not a source, the loss or wanted afterwards is freed after its last
//! use, so that the bytes held at each step are those of the values alive.

use super::program::{Program, Step, Work};
use crate::index::{IdVec, ValueId};
use std::collections::BTreeSet;

/// Inserts the `Free` steps; values in `keep` stay to the end.
pub fn free(program: &mut Program, keep: &BTreeSet<ValueId>) {
    let mut last: IdVec<ValueId, Option<usize>> = program.values.iter().map(|_| None).collect();
    for (i, step) in program.steps.iter().enumerate() {
        for &value in step.inputs.iter().chain(&step.outputs) {
            last[value] = Some(i);
        }
    }
    for &source in program.sources.iter().chain(&program.loss).chain(keep) {
        last[source] = None;
    }
    let mut out = Vec::with_capacity(program.steps.len() * 2);
    for (i, step) in std::mem::take(&mut program.steps).into_iter().enumerate() {
        let Step { phase, node, span, .. } = step;
        let mut touched: Vec<ValueId> = step.inputs.iter().chain(&step.outputs).copied().collect();
        touched.sort_unstable();
        touched.dedup();
        out.push(step);
        for value in touched.into_iter().filter(|&v| last[v] == Some(i)) {
            let inputs = vec![value];
            out.push(Step { work: Work::Free, inputs, outputs: Vec::new(), phase, node, span });
        }
    }
    program.steps = out;
}
