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

/// The most bytes of one processor's slices in one Allreduce of several, the size that PyTorch's
/// `DistributedDataParallel` takes: what waits is held twice when it settles.
const MAX_BYTES: u64 = 25 << 20;

/// Combines what can be combined.
pub fn combine(program: &mut Program) {
    let mut out: Vec<Step> = Vec::with_capacity(program.steps.len());
    let mut waiting: Vec<Waiting> = Vec::new();
    for step in std::mem::take(&mut program.steps) {
        let stage = program.stage(&step);
        let goes = |w: &Waiting| {
            w.step.body != step.body
                || w.step.phase != step.phase
                || step.inputs.iter().any(|v| w.makes.contains(v))
        };
        if !waiting.is_empty() {
            settle(&mut waiting, goes, &mut out);
        }
        if let Work::Collective(Collective { kind: CollectiveKind::Allreduce(_), .. }) = step.work {
            let bytes = step.inputs.iter().map(|&v| program.slice_bytes(v)).sum();
            join(&mut waiting, (step, stage), bytes, &mut out);
        } else {
            out.push(step);
        }
    }
    settle(&mut waiting, |_| true, &mut out);
    program.steps = out;
}

/// An Allreduce that nobody has asked for yet.
struct Waiting {
    step: Step,
    stage: Stage,
    makes: BTreeSet<ValueId>,
    bytes: u64,
}

/// Lets an Allreduce wait with those of its kind, as far as there is room with them.
fn join(waiting: &mut Vec<Waiting>, (step, stage): (Step, Stage), bytes: u64, out: &mut Vec<Step>) {
    let place = waiting.iter().position(|w| w.step.work == step.work && w.stage == stage);
    let Some(i) = place else {
        let makes = step.outputs.iter().copied().collect();
        return waiting.push(Waiting { step, stage, makes, bytes });
    };
    if waiting[i].bytes.saturating_add(bytes) > MAX_BYTES {
        out.push(waiting.remove(i).step);
        return join(waiting, (step, stage), bytes, out);
    }
    let with = &mut waiting[i];
    with.bytes += bytes;
    with.makes.extend(&step.outputs);
    with.step.inputs.extend(step.inputs);
    with.step.outputs.extend(step.outputs);
}

fn settle(waiting: &mut Vec<Waiting>, goes: impl Fn(&Waiting) -> bool, out: &mut Vec<Step>) {
    let (gone, stay): (Vec<_>, Vec<_>) = std::mem::take(waiting).into_iter().partition(goes);
    *waiting = stay;
    out.extend(gone.into_iter().map(|w| w.step));
}
