//! An order as a table of cycles: what runs at once when every slot takes one tick.
//!
//! ```text
//! GPipe's forwards, 3 micro-batches over 3 stages (torchgpipe's `clock_cycles`)
//! 0   (0,0)
//! 1   (1,0) (0,1)
//! 2   (2,0) (1,1) (0,2)
//! 3         (2,1) (1,2)
//! 4               (2,2)
//! ```

use super::needs::When;
use super::order::Order;
use super::simulate::{Stuck, play};
use crate::timeline::{Kind, Slot, Task};

/// The tasks of every cycle, in the order of the stages; a cycle in which all wait is empty.
pub fn cycles(order: &Order) -> Result<Vec<Vec<Task>>, Stuck> {
    let timeline = play(order, When::Early, [0.0; 2], |_| 1.0)?;
    let mut cycles = vec![Vec::new(); timeline.end() as usize];
    for (_, interval) in timeline.intervals() {
        cycles[interval.start as usize].extend(interval.slot.tasks());
    }
    for cycle in &mut cycles {
        cycle.sort();
    }
    Ok(cycles)
}

/// The same of the forward tasks alone.
pub fn forward_cycles(order: &Order) -> Result<Vec<Vec<Task>>, Stuck> {
    let is_forward = |task: &Task| task.kind == Kind::Forward;
    cycles(&order.with(|slots| {
        slots.iter().flat_map(|slot| slot.tasks()).filter(is_forward).map(Slot::One).collect()
    }))
}
