//! Why a run cannot go on: a cell of a pipeline has died, or waits for ever.

use crate::index::{Idx as _, Rank};
use crate::layout::dims::Name;
use crate::timeline::Task;
use std::fmt;
use std::time::Duration;

/// Where in a training step a cell was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// It had not begun.
    Start,
    /// Before the first micro-batch.
    Begin,
    /// In a task.
    Task(Task),
    /// After the last micro-batch.
    End,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// It panicked, with this message: a bug.
    Died(String),
    /// It waited for a tensor of another, and nobody moved.
    Waited {
        /// How long nobody did.
        limit: Duration,
        /// The tensor.
        value: Name,
        /// Who was to send it.
        from: Rank,
        /// Where that one was.
        which: Spot,
    },
    /// It did not move, and nobody else did.
    Stuck {
        /// How long.
        limit: Duration,
    },
    /// The system gave no thread for it.
    NoThread(String),
}

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The cell.
    pub cell: Rank,
    /// The training step, from 0; nothing in a forward pass beside the training.
    pub step: Option<u64>,
    /// Where in it.
    pub spot: Spot,
    /// What went wrong.
    pub kind: Kind,
}

impl fmt::Display for Fault {
    /// `cell 1 died in step 3 at 2F0 (stage 2, forward of micro-batch 0): index out of bounds`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, step, spot, kind } = self;
        let cell = cell.index();
        let step = step.map_or("a forward pass".to_owned(), |step| format!("step {step}"));
        match kind {
            Kind::Died(message) => write!(f, "cell {cell} died in {step} {spot}: {message}"),
            Kind::Waited { limit, value, from, which } => write!(
                f,
                "cell {cell} waited {} s in {step} {spot} for `{value}` from cell {}, which was \
                 {which}; nobody moved in that time",
                limit.as_secs_f64(),
                from.index()
            ),
            Kind::Stuck { limit } => write!(
                f,
                "cell {cell} did not move for {} s in {step} {spot}, nor did any other",
                limit.as_secs_f64()
            ),
            Kind::NoThread(message) => {
                write!(f, "the system gives no thread for cell {cell}: {message}")
            }
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("at its start"),
            Self::Begin => f.write_str("before the first micro-batch"),
            Self::End => f.write_str("after the last micro-batch"),
            Self::Task(task) => {
                let Task { stage, kind, micro_batch } = task;
                let (stage, micro_batch) = (stage.0, micro_batch.0);
                let kind = kind.name();
                write!(f, "at {task} (stage {stage}, {kind} of micro-batch {micro_batch})")
            }
        }
    }
}
