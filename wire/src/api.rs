//! Bodies of the REST API that are neither plans nor run events.
//!
//! Times are RFC 3339 in UTC (`2026-01-31T12:00:00.000Z`); hashes are SHA-256 in hexadecimal.

use crate::run::Event;
use serde::{Deserialize, Serialize};

/// An error as a problem document (RFC 9457, `application/problem+json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// A relative reference that names the kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened here and how to mend it.
    pub detail: String,
    /// For a bad study or a bad table (422): what is wrong, and where. In a table, the column is
    /// that of the field, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<crate::plan::Diagnostic>,
}

/// A kind of problem: what the API may answer besides success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProblemKind {
    /// The `type` of its problem documents.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
}

/// A study as its text: the JSON form of what may also be sent as `text/plain`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct StudyText {
    /// The study.
    pub text: String,
}

/// A stored study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Study {
    /// Its content hash, shortened to 32 digits.
    pub id: String,
    /// The study.
    pub text: String,
}

/// `POST /api/v1/runs`: what is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunRequest {
    /// The study.
    pub text: String,
    /// Steps, instead of those its `train` line says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Threads that host its processors. The result does not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// A table (`NAME` or `NAME@HASH`), instead of the one its `train` line says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// What has become of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It waits for threads and memory.
    Queued,
    /// It is going on.
    Running,
    /// It went through all its steps.
    Done,
    /// Its loss was no longer a finite number.
    Diverged,
    /// Its user stopped it.
    Cancelled,
    /// It could not go on; `message` says why.
    Failed,
}

impl RunState {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Done, Self::Diverged, Self::Cancelled, Self::Failed];

    /// `queued`, `running`, …
    #[cfg_attr(
        feature = "schema",
        expect(clippy::same_name_method, reason = "the name of the schema is another matter")
    )]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Diverged => "diverged",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Whether nothing more will happen to the run.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// A run on the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Run {
    /// Its name in `/api/v1/runs/{id}` and `/runs/{id}`.
    pub id: String,
    /// What has become of it.
    pub state: RunState,
    /// When it was asked for.
    pub created: String,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// The study.
    pub text: String,
    /// The table it trains on as `NAME@HASH`, if it is not synthetic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Steps it will take.
    pub steps: u64,
    /// Threads that host its processors.
    pub threads: u64,
    /// The latest step known, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_step: Option<u64>,
    /// The loss of that step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_loss: Option<f64>,
    /// How often it began again because the server was restarted.
    pub restarts: u64,
    /// For a run that diverged or failed: why, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Runs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunList {
    /// The runs.
    pub runs: Vec<Run>,
}

/// An event of a run with its number, which rises within the run: the `id` of the server-sent
/// event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NumberedEvent {
    /// Its number.
    pub id: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// Events of a run after some number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EventList {
    /// The events in order.
    pub events: Vec<NumberedEvent>,
    /// Whether no event will follow.
    pub over: bool,
}

/// What the last column of a table holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// A number to predict.
    Number,
    /// One of some classes; the column holds the index of its name.
    Classes {
        /// The names of the classes.
        names: Vec<String>,
    },
}

/// A table to train on, without its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TableInfo {
    /// Its name in `data:NAME`.
    pub name: String,
    /// Its content hash; `data:NAME@HASH` pins it, from 8 digits on.
    pub hash: String,
    /// How many rows.
    pub rows: u64,
    /// Names of the columns, features first, the target last.
    pub columns: Vec<String>,
    /// What the last column holds.
    pub target: Target,
    /// What the table is about.
    pub about: String,
    /// Whether it comes with Meshwork (and cannot be replaced or removed).
    pub shipped: bool,
}

/// A text to train on, without what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TextInfo {
    /// Its name in `data:NAME`.
    pub name: String,
    /// Its content hash; `data:NAME@HASH` pins it, from 8 digits on.
    pub hash: String,
    /// How long it is.
    pub bytes: u64,
    /// How many lines it has.
    pub lines: u64,
    /// What the text is.
    pub about: String,
    /// Whether it comes with Meshwork (and cannot be replaced or removed).
    pub shipped: bool,
}

/// The data at hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TableList {
    /// The tables, shipped ones first, then by name.
    pub tables: Vec<TableInfo>,
    /// The texts, in the same order.
    #[serde(default)]
    pub texts: Vec<TextInfo>,
}

/// What an upload became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum DataInfo {
    /// A table.
    Table(TableInfo),
    /// A text.
    Text(TextInfo),
}

/// A table or a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum DataSet {
    /// A table.
    Table(Table),
    /// A text.
    Text(Text),
}

/// A text with all that it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Text {
    /// Its name in `data:NAME`.
    pub name: String,
    /// Its content hash.
    pub hash: String,
    /// The text.
    pub text: String,
}

/// A byte-pair vocabulary, learnt from a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Vocabulary {
    /// Pairs of ids that become one token, in the order in which they were learnt. Ids 0 to 255 are
    /// bytes; each pair that makes a new token makes the next id.
    pub merges: Vec<(u32, u32)>,
}

/// `POST /api/v1/runs/{id}/sample`: what a trained run is to write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SampleRequest {
    /// What stands before it; for a model that translates, what is to be translated.
    pub prompt: String,
    /// Tokens to write; 100 if absent. A translation ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Chances are taken to the power of 1/temperature: below 1 likely tokens become likelier, at 0
    /// the likeliest is written; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Only so many of the likeliest tokens are drawn from; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    /// Another seed draws another text; 0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// For a model that translates: translations that are kept in mind at each token; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beam: Option<u64>,
}

/// What a trained run has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Sample {
    /// What follows the prompt, or its translation.
    pub text: String,
}

/// A table with its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Table {
    /// Its name in `data:NAME`.
    pub name: String,
    /// Its content hash.
    pub hash: String,
    /// Names of the columns, features first, the target last.
    pub columns: Vec<String>,
    /// All elements row by row, as many per row as there are columns.
    pub rows: Vec<f64>,
    /// What the last column holds.
    pub target: Target,
}

/// A study to begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Example {
    /// Its stable name.
    pub id: String,
    /// A few words.
    pub title: String,
    /// What to look for.
    pub about: String,
    /// The study.
    pub text: String,
    /// Its address in the studio, relative to the server.
    pub link: String,
}

/// The examples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ExampleList {
    /// The examples, simplest first.
    pub examples: Vec<Example>,
}

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Health {
    /// `ok`.
    pub status: String,
    /// Meshwork's version.
    pub version: String,
    /// Threads that runs share.
    pub threads: u64,
    /// Runs going on.
    pub running: u64,
    /// Runs waiting.
    pub queued: u64,
}
