//! Bodies of the REST API that are neither plans nor run events.

use serde::{Deserialize, Serialize};

/// An error as a problem document (RFC 9457, `application/problem+json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// For a bad study (422): its diagnostics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<crate::plan::Diagnostic>,
}
