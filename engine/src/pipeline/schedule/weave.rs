//! The pattern that most schedules share: some forwards, then forward and backward in turn, then
//! the remaining backwards.
//!
//! ```text
//! warm-up 2:   F0 F1 │ F2 B0  F3 B1 │ B2 B3
//! ```

use crate::timeline::{Kind, Slot, Task};

/// Forwards and backwards woven together after `warm_up` forwards.
pub(super) fn weave(forwards: &[Task], backwards: &[Task], warm_up: usize) -> Vec<Slot> {
    let (first, rest) = forwards.split_at(warm_up.min(forwards.len()));
    let mut slots: Vec<Slot> = first.iter().map(|task| Slot::One(*task)).collect();
    for (forward, backward) in rest.iter().zip(backwards) {
        slots.extend([Slot::One(*forward), Slot::One(*backward)]);
    }
    slots.extend(backwards.iter().skip(rest.len()).map(|task| Slot::One(*task)));
    slots
}

/// The same, where after each input gradient but the first `late` ones a weight gradient follows,
/// in the order of the input gradients; the last ones stand at the end.
pub(super) fn weave_weights(slots: &[Slot], late: usize) -> Vec<Slot> {
    let weight = |slot: &Slot| match *slot {
        Slot::One(task) if task.kind == Kind::InputGradient => {
            Some(Slot::One(Task { kind: Kind::WeightGradient, ..task }))
        }
        Slot::One(_) | Slot::Pair(..) => None,
    };
    let mut weights = slots.iter().filter_map(weight);
    let mut seen = 0;
    let mut woven = Vec::with_capacity(slots.len() * 3 / 2);
    for slot in slots {
        woven.push(*slot);
        if weight(slot).is_some() {
            if seen >= late {
                woven.extend(weights.next());
            }
            seen += 1;
        }
    }
    woven.extend(weights);
    woven
}

/// One kind of task of a stage for the micro-batches in the order given.
pub(super) fn tasks(
    stage: u32,
    kind: Kind,
    micro_batches: impl IntoIterator<Item = u32>,
) -> Vec<Task> {
    micro_batches.into_iter().map(|m| Task::new(stage, kind, m)).collect()
}
