//! A pass: Allreduces that wait for nobody travel together.
//!
//! An Allreduce is put off until something reads what it makes. Those over the same mesh dimensions
//! that wait at the same time become one step, so the gradients of a whole backward pass settle in
//! one message instead of one each; bytes and results stay what they were.
//!
//! ```text
//! grad/v = …                                    grad/v = …
//! grad/v = Allreduce over rows                  grad/w = …
//! grad/w = …                            ⇒       grad/v, grad/w = Allreduce over rows
//! grad/w = Allreduce over rows                  w ← w − rate · grad/w
//! w ← w − rate · grad/w
//! ```

use super::collective::{Collective, CollectiveKind};
use super::program::{Program, Step, Work};
use crate::index::{Stage, ValueId};
use std::collections::BTreeSet;
use std::mem::take;

/// The most bytes of one processor's slices in one Allreduce of several, the size that PyTorch's
/// `DistributedDataParallel` takes: what waits is held twice when it settles.
const MAX_BYTES: u64 = 25 << 20;

/// Combines what can be combined. The list is written anew in its own place: what waits has left
/// room for what comes later.
pub fn combine(program: &mut Program) {
    let mut steps = take(&mut program.steps);
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut written = 0;
    for i in 0..steps.len() {
        let step = &steps[i];
        let goes = |w: &mut Waiting| {
            w.step.body != step.body
                || w.step.phase != step.phase
                || step.inputs.iter().any(|v| w.makes.contains(v))
        };
        let mut gone: Vec<Step> = waiting.extract_if(.., goes).map(|w| w.step).collect();
        let waits = matches!(
            step.work,
            Work::Collective(Collective { kind: CollectiveKind::Allreduce(_), .. })
        );
        if waits {
            let bytes = step.inputs.iter().map(|&v| program.slice_bytes(v)).sum();
            gone.extend(join(&mut waiting, (step.clone(), program.stage(step)), bytes));
        }
        for step in gone {
            steps[written] = step;
            written += 1;
        }
        if !waits {
            steps.swap(written, i);
            written += 1;
        }
    }
    for Waiting { step, .. } in waiting {
        steps[written] = step;
        written += 1;
    }
    steps.truncate(written);
    program.steps = steps;
}

/// An Allreduce that nobody has asked for yet.
struct Waiting {
    step: Step,
    stage: Stage,
    makes: BTreeSet<ValueId>,
    bytes: u64,
}

/// Lets an Allreduce wait with those of its kind; returns these where there is no room with them.
fn join(waiting: &mut Vec<Waiting>, (step, stage): (Step, Stage), bytes: u64) -> Option<Step> {
    let place = waiting.iter().position(|w| w.step.work == step.work && w.stage == stage);
    let is_full = |i: &usize| waiting[*i].bytes.saturating_add(bytes) > MAX_BYTES;
    let full = place.filter(is_full).map(|i| waiting.remove(i).step);
    match place.filter(|_| full.is_none()) {
        Some(i) => {
            let with = &mut waiting[i];
            with.bytes += bytes;
            with.makes.extend(&step.outputs);
            with.step.inputs.extend(step.inputs);
            with.step.outputs.extend(step.outputs);
        }
        None => {
            let makes = step.outputs.iter().copied().collect();
            waiting.push(Waiting { step, stage, makes, bytes });
        }
    }
    full
}
