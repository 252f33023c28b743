//! What a run says while it goes: one JSON object per line of `meshwork run --json`, per
//! server-sent event of `/api/v1/runs/{id}/events`, and per message of the browser's worker.

use serde::{Deserialize, Serialize};

/// One event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A step is done; `loss` is the loss of its forward pass, before its update.
    Step {
        /// Number of the step, from 0.
        step: u64,
        /// The loss.
        loss: f64,
    },
    /// The held-out part of the data was looked at.
    Validation {
        /// Steps done.
        step: u64,
        /// The loss on the part held out.
        loss: f64,
        /// Share of rows classified rightly (classification).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accuracy: Option<f64>,
        /// Root of the mean square error, in standard deviations of the target (regression).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<f64>,
        /// Perplexity per token (text): the exponential of the mean nats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        perplexity: Option<f64>,
        /// Perplexity per word (text): the nats are divided by the words that begin in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        word_perplexity: Option<f64>,
        /// BLEU of greedy translations, from 0 to 100, after the last step (pairs).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bleu: Option<f64>,
    },
    /// A whole tensor after the last step, as asked by `--print`.
    Value {
        /// Its name.
        name: String,
        /// Its dimensions: name and size.
        dims: Vec<(String, u64)>,
        /// Its elements, row-major; those that are not finite as `"NaN"`, `"Infinity"` and
        /// `"-Infinity"`.
        #[serde(with = "crate::number::list")]
        #[cfg_attr(feature = "schema", schema(value_type = Vec<crate::number::Numeral>))]
        values: Vec<f64>,
    },
    /// What the trained model has written, as asked by `--sample`.
    Sample {
        /// What it was given.
        prompt: String,
        /// What follows it, or its translation.
        text: String,
    },
    /// The run is over and went well.
    Done {
        /// The last loss, if the study has one.
        loss: Option<f64>,
        /// Steps per second of wall time.
        steps_per_second: f64,
        /// Messages and bytes counted while it ran, all processors together.
        counted: Traffic,
        /// The same as predicted from the layouts.
        predicted: Traffic,
        /// The most bytes that one processor held at once; absent where no step was taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<Held>,
        /// With `--check`: the largest difference of a loss, a printed value or a parameter from
        /// the run on one processor; `"NaN"` where one is no number.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::number::option")]
        #[cfg_attr(feature = "schema", schema(value_type = Option<crate::number::Numeral>))]
        max_difference: Option<f64>,
        /// With `--check`: the largest difference of a loss, of those above.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::number::option")]
        #[cfg_attr(feature = "schema", schema(value_type = Option<crate::number::Numeral>))]
        loss_difference: Option<f64>,
        /// Of a pipeline: what its cells did in the last step, measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeline: Option<Timeline>,
    },
    /// The loss was no longer a finite number; the run stopped after `step`.
    Diverged {
        /// The step, from 0.
        step: u64,
        /// What to do.
        message: String,
    },
    /// The run was cancelled by its user after `step` steps.
    Cancelled {
        /// Steps done.
        step: u64,
    },
    /// The server was restarted while the run was going on: it begins again at step 0, and what
    /// was said before no longer counts. It is never said by the command line or the browser.
    Restarted {
        /// How often this has happened to the run.
        times: u64,
        /// What happened, as a sentence.
        message: String,
    },
    /// The run could not go on: its data, or a cell of its pipeline that died or hung.
    Failed {
        /// Why, and what to do.
        message: String,
    },
}

impl Event {
    /// The tag: `step`, `validation`, `value`, `sample`, `done`, …; the name of the server-sent event.
    #[cfg_attr(
        feature = "schema",
        expect(clippy::same_name_method, reason = "the name of the schema is another matter")
    )]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Step { .. } => "step",
            Self::Validation { .. } => "validation",
            Self::Value { .. } => "value",
            Self::Sample { .. } => "sample",
            Self::Done { .. } => "done",
            Self::Diverged { .. } => "diverged",
            Self::Cancelled { .. } => "cancelled",
            Self::Restarted { .. } => "restarted",
            Self::Failed { .. } => "failed",
        }
    }

    /// Whether no event follows.
    pub fn is_last(&self) -> bool {
        matches!(
            self,
            Self::Done { .. }
                | Self::Diverged { .. }
                | Self::Cancelled { .. }
                | Self::Failed { .. }
        )
    }
}

/// Messages and bytes of all processors together. One message is one collective executed on one
/// processor; bytes follow the ring formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Traffic {
    /// Collectives × processors.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
}

/// The most bytes that one processor holds at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Held {
    /// As it was counted while it ran.
    pub counted: u64,
    /// As predicted from the layouts.
    pub predicted: u64,
}

/// Who did what when: a lane of tasks for each cell of a pipeline. A gap in a lane is time in which
/// the cell waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Timeline {
    /// The unit of time: `s`.
    pub unit: String,
    /// From the first task of any cell to the end of the last of any.
    pub makespan: f64,
    /// The share of the makespan that cells idle on average.
    pub bubble_of_makespan: f64,
    /// Idle time over the time without any idling.
    pub bubble_of_ideal: f64,
    /// What each cell did, in order.
    pub lanes: Vec<Vec<Interval>>,
    /// How long a micro-batch took in each layer, forward and backward; in the order of the layers,
    /// as the option `costs` of `pipeline` takes them.
    #[serde(default)]
    pub layers: Vec<f64>,
}

/// A stretch of time in which a cell works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Interval {
    /// What it does: `2F0` is the forward pass (F) of micro-batch 0 through stage 2. The others are
    /// R, activations computed again; B, the backward pass, or of it I, the gradient of the input,
    /// and W, that of the weights.
    pub task: String,
    /// When it begins; 0 is when the first task does.
    pub start: f64,
    /// When it is over.
    pub end: f64,
}
