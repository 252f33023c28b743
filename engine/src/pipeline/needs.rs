//! What a task waits for: the one place that knows the dependencies of a pipeline.
//!
//! ```text
//! activation of stage s−1 ──▶ F(s) ──▶ activation of s ──▶ R(s), B(s), I(s)
//! gradient of stage s+1 ──────────────────────────────────▶ B(s), I(s) ──▶ gradient of s ──▶ W(s)
//! ```

use crate::index::{MicroBatch, Stage};
use crate::timeline::{Kind, Task};

/// What a task hands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Made {
    /// The output of a stage, made by its forward task.
    Activation,
    /// The gradient of a stage's input, made by its backward or input-gradient task.
    Gradient,
}

/// Something that must be there before a task begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Need {
    /// What it is.
    pub made: Made,
    /// The stage that makes it.
    pub stage: Stage,
    /// Of which micro-batch.
    pub micro_batch: MicroBatch,
}

/// When activations are computed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum When {
    /// As soon as the rank has nothing else to do before the backward task, even while the
    /// gradient is on its way.
    #[default]
    Early,
    /// Only when the gradient is there.
    Late,
}

/// What a task of a pipeline of `stages` stages waits for.
pub fn needs(task: Task, stages: u32, when: When) -> impl Iterator<Item = Need> {
    let Task { stage, kind, micro_batch } = task;
    let need = |made, stage| Need { made, stage, micro_batch };
    let before = stage.0.checked_sub(1).map(|s| need(Made::Activation, Stage(s)));
    let own = Some(need(Made::Activation, stage));
    let after = (stage.0 + 1 < stages).then(|| need(Made::Gradient, Stage(stage.0 + 1)));
    let (first, second) = match kind {
        Kind::Forward => (before, None),
        Kind::Recompute => match when {
            When::Early => (own, None),
            When::Late => (own, after),
        },
        Kind::Backward | Kind::InputGradient => (own, after),
        Kind::WeightGradient => (Some(need(Made::Gradient, stage)), None),
    };
    first.into_iter().chain(second)
}

/// What a task makes for others, if anything.
pub const fn makes(task: Task) -> Option<Need> {
    let Task { stage, kind, micro_batch } = task;
    let made = match kind {
        Kind::Forward => Made::Activation,
        Kind::Backward | Kind::InputGradient => Made::Gradient,
        Kind::Recompute | Kind::WeightGradient => return None,
    };
    Some(Need { made, stage, micro_batch })
}
