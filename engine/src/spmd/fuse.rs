//! A pass: neighbouring element-wise steps become one tape, so that a chain such as
//! `relu(z + bias)` reads and writes memory once. Values that someone wants to see stay.

use super::program::{Program, Work};
use crate::index::{IdVec, ValueId};
use std::collections::BTreeSet;
use std::mem::take;

/// The longest tape; longer ones no longer fit the registers' cache-sized chunks.
const MAX_CODE: usize = 48;

/// Fuses what can be fused; values in `keep` are still made.
pub fn fuse(program: &mut Program, keep: &BTreeSet<ValueId>) {
    let mut reads: IdVec<ValueId, u32> = program.values.iter().map(|_| 0).collect();
    for step in &program.steps {
        for &input in &step.inputs {
            reads[input] += 1;
        }
    }
    let mut maker: IdVec<ValueId, Option<usize>> = program.values.iter().map(|_| None).collect();
    let mut last_assign = 0;
    let mut dead = vec![false; program.steps.len()];
    for i in 0..program.steps.len() {
        if program.steps[i].work == Work::Assign {
            last_assign = i;
        }
        while let Some((at, made_at)) = fusible(program, i, &maker, &reads, keep, last_assign) {
            absorb(program, i, at, made_at);
            dead[made_at] = true;
        }
        if let (Work::Tape(_), Some(output)) = (&program.steps[i].work, program.steps[i].output()) {
            maker[output] = Some(i);
        }
    }
    let mut index = 0;
    program.steps.retain(|_| {
        index += 1;
        !dead[index - 1]
    });
}

/// An input of step `i` whose tape can be inlined, and the step that makes it.
fn fusible(
    program: &Program,
    i: usize,
    maker: &IdVec<ValueId, Option<usize>>,
    reads: &IdVec<ValueId, u32>,
    keep: &BTreeSet<ValueId>,
    last_assign: usize,
) -> Option<(usize, usize)> {
    let step = &program.steps[i];
    let (Work::Tape(tape), Some(output)) = (&step.work, step.output()) else { return None };
    step.inputs.iter().enumerate().find_map(|(at, &input)| {
        let made_at = maker[input]?;
        let made = &program.steps[made_at];
        let Work::Tape(inner) = &made.work else { return None };
        let (a, b) = (&program.values[input], &program.values[output]);
        let alike = a.shape == b.shape && a.layout.splits() == b.layout.splits();
        let ok = reads[input] == 1
            && alike
            && !keep.contains(&input)
            && program.loss != Some(input)
            && made.phase == step.phase
            && made.body == step.body
            && (last_assign == 0 || last_assign < made_at)
            && tape.code().len() + inner.code().len() <= MAX_CODE;
        ok.then_some((at, made_at))
    })
}

/// Puts the code of step `made_at`, which nobody else reads, into that of step `i`.
fn absorb(program: &mut Program, i: usize, at: usize, made_at: usize) {
    let made = &mut program.steps[made_at];
    let (work, inputs) = (std::mem::replace(&mut made.work, Work::Free), take(&mut made.inputs));
    let step = &mut program.steps[i];
    let (Work::Tape(tape), Work::Tape(inner)) = (&mut step.work, work) else { return };
    *tape = tape.inline(at as u16, inner, step.inputs.len() as u16);
    step.inputs.remove(at);
    step.inputs.extend(inputs);
}
