//! What a study means before it runs: `meshwork plan --json`, `POST /api/v1/plan`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The whole plan. On a study with errors only `diagnostics` (and what could be made) is filled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Plan {
    /// What is wrong or odd, in text order.
    pub diagnostics: Vec<Diagnostic>,
    /// Mesh dimensions in order: name and size.
    pub mesh: Vec<(String, u64)>,
    /// Number of processors.
    pub processors: u64,
    /// Every tensor of the study.
    pub tensors: Vec<Tensor>,
    /// Every collective of one step, in the order of execution.
    pub collectives: Vec<Collective>,
    /// Sums over one step.
    pub totals: Totals,
    /// The pipeline, if the study is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
}

/// A diagnostic; see the engine's `diag`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Diagnostic {
    /// Stable kebab-case name of the rule.
    pub code: String,
    /// `error` or `warning`.
    pub severity: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong, with the values that clash.
    pub message: String,
    /// How to mend it, best first.
    pub hints: Vec<String>,
}

/// One tensor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Tensor {
    /// Its name in the study; derived ones as `h/1`, `grad/w`, `adam.m/w`.
    pub name: String,
    /// `input`, `parameter`, `activation`, `gradient`, `slot` or `loss`.
    pub role: String,
    /// Dimensions in storage order: name and size.
    pub dims: Vec<(String, u64)>,
    /// Split dimensions of the settled value: tensor dimension to mesh dimensions, outermost first.
    pub layout: BTreeMap<String, Vec<String>>,
    /// Mesh dimensions over which its producer left partial values.
    pub partial: Vec<String>,
    /// Mesh dimensions along which all processors compute it alike: neither what it is made of nor
    /// itself is split over them. The work is done as often as they have processors.
    #[serde(default)]
    pub repeated: Vec<String>,
    /// Sizes of one processor's slice.
    pub slice_shape: Vec<u64>,
    /// Bytes one processor holds of it.
    pub bytes_per_processor: u64,
    /// With `--slices`: per processor the index of the slice's first element, or null where the
    /// tensor does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_begin: Option<Vec<Option<Vec<u64>>>>,
}

/// One collective of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Collective {
    /// `allreduce`, `allgather`, `alltoall`, `allsplit`, `reducescatter` or `receive`.
    pub kind: String,
    /// The mesh dimensions its groups span.
    pub mesh_dims: Vec<String>,
    /// The tensors it carries.
    pub tensors: Vec<String>,
    /// The tensor dimensions that caused it: summed, gathered or moved.
    pub dims: Vec<String>,
    /// `forward`, `backward` or `update`.
    pub phase: String,
    /// Bytes of one processor's slice before it.
    pub slice_bytes: u64,
    /// How often a step executes it: once for each micro-batch, or once.
    pub times: u64,
    /// Bytes one processor sends in a step, all times together, by the ring formulas.
    pub sent_bytes_per_processor: f64,
    /// Why it is there, as a sentence.
    pub why: String,
}

/// Sums over one step, per processor; in a pipeline, of the cell that has the most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Totals {
    /// Floating point operations.
    pub flops_per_processor: f64,
    /// How often the average operation is done: operations of all processors together, over those
    /// if no processor did what another does, too.
    #[serde(default)]
    pub duplication: f64,
    /// Bytes sent.
    pub sent_bytes_per_processor: f64,
    /// The most bytes held at once.
    pub peak_bytes_per_processor: u64,
}

/// How a pipeline spends a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Pipeline {
    /// K: how many cells it runs over.
    pub cells: u64,
    /// M: in how many micro-batches it takes the batch.
    pub micro_batches: u64,
    /// Stages of each cell.
    pub chunks: u64,
    /// `gpipe`, `1f1b`, …
    pub schedule: String,
    /// `off`, `on` or `except_last`.
    pub remat: String,
    /// The unit of costs and times: `flop`, floating point operations of one processor, or
    /// `units` where the study says what each layer costs.
    pub unit: String,
    /// From the first task of any cell to the last of any.
    pub makespan: f64,
    /// Idle time over all time of all cells.
    pub bubble_of_makespan: f64,
    /// Idle time over the time without idling.
    pub bubble_of_ideal: f64,
    /// The longest time from a cell's own first task to its own last.
    pub stage_span: f64,
    /// How long each cell idles within the makespan.
    pub idle: Vec<f64>,
    /// The most bytes that a processor of each cell holds at once.
    pub peak_bytes: Vec<u64>,
    /// The stages, in the order of the model.
    pub stages: Vec<Stage>,
    /// What each cell does, in order: `0F0 0F1 0B0 …`, the stage, then F forward, R recompute, B
    /// backward, I input gradient or W weight gradient, then the micro-batch; pairs that overlap are
    /// `(0F1;0B0)`. Where micro-batches go both ways, `a0` is the first of the one, `b0` of the other.
    pub order: Vec<String>,
}

/// A stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Stage {
    /// The cell that has it; where there are two copies of the model, its first.
    pub cell: u64,
    /// The cell that has its second copy, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_cell: Option<u64>,
    /// Its layers by name.
    pub layers: Vec<String>,
    /// What a micro-batch costs, forward and backward.
    pub cost: f64,
}
