//! Types of the HTTP API under `/api/v1`, of its server-sent events, of the browser's run worker,
//! and of `meshwork plan --json` and `meshwork run --json`: all are the same JSON.
//!
//! They are apart from the engine's own types, so that the engine stays free to change.

pub mod number;
pub mod plan;
pub mod run;
pub mod api;
