//! All that the API may answer besides success, as problem documents (RFC 9457).

use crate::store::StoreError;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use meshwork_wire::api;
use meshwork_wire::plan::Diagnostic;

/// What went wrong with a request.
#[derive(Debug)]
pub enum Problem {
    /// The address or what stands for is not there.
    NotFound(String),
    /// The address does not know this method.
    MethodNotAllowed,
    /// The request cannot be read: its JSON, its query, a value out of range.
    BadRequest(String),
    /// The study has errors, or does not go with its data.
    BadStudy(Vec<Diagnostic>),
    /// The uploaded table has errors.
    BadTable(Vec<Diagnostic>),
    /// The uploaded text has errors.
    BadText(Vec<Diagnostic>),
    /// The body is longer than the address takes.
    TooLarge(String),
    /// The run would need more memory than the server may use.
    TooMuchMemory(Vec<Diagnostic>),
    /// The body is of a kind that the address does not read.
    MediaType(String),
    /// The request comes from a page of another site.
    CrossOrigin(String),
    /// The thing is in no state for it.
    Conflict(String),
    /// The server cannot take it now: too much waits already, or the database is locked.
    Busy {
        /// What is in the way.
        detail: String,
        /// When to try again.
        seconds: u64,
    },
    /// Not the user's fault; the log says more.
    Internal,
}

impl Problem {
    /// Name, title and status of every kind.
    pub const KINDS: [(&'static str, &'static str, StatusCode); 13] = [
        ("not-found", "There is nothing here", StatusCode::NOT_FOUND),
        (
            "method-not-allowed",
            "The address does not know this method",
            StatusCode::METHOD_NOT_ALLOWED,
        ),
        ("bad-request", "The request cannot be read", StatusCode::BAD_REQUEST),
        ("bad-study", "The study has errors", StatusCode::UNPROCESSABLE_ENTITY),
        ("bad-table", "The table has errors", StatusCode::UNPROCESSABLE_ENTITY),
        ("bad-text", "The text cannot be read", StatusCode::UNPROCESSABLE_ENTITY),
        ("too-large", "The body is too large", StatusCode::PAYLOAD_TOO_LARGE),
        ("too-much-memory", "The run needs too much memory", StatusCode::UNPROCESSABLE_ENTITY),
        ("media-type", "The body is of the wrong kind", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("cross-origin", "The request comes from another site", StatusCode::FORBIDDEN),
        ("conflict", "It is in no state for this", StatusCode::CONFLICT),
        ("busy", "The server is busy", StatusCode::SERVICE_UNAVAILABLE),
        ("internal", "Something went wrong inside", StatusCode::INTERNAL_SERVER_ERROR),
    ];

    /// The `type` of the kind with this name.
    pub fn kind(name: &str) -> String {
        format!("/api/v1/problems#{name}")
    }

    fn name(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not-found",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::BadRequest(_) => "bad-request",
            Self::BadStudy(_) => "bad-study",
            Self::BadTable(_) => "bad-table",
            Self::BadText(_) => "bad-text",
            Self::TooLarge(_) => "too-large",
            Self::TooMuchMemory(_) => "too-much-memory",
            Self::MediaType(_) => "media-type",
            Self::CrossOrigin(_) => "cross-origin",
            Self::Conflict(_) => "conflict",
            Self::Busy { .. } => "busy",
            Self::Internal => "internal",
        }
    }

    /// The document.
    pub fn document(self) -> api::Problem {
        let name = self.name();
        let (_, title, status) =
            Self::KINDS.into_iter().find(|k| k.0 == name).unwrap_or(Self::KINDS[12]);
        let (detail, diagnostics) = match self {
            Self::NotFound(detail)
            | Self::BadRequest(detail)
            | Self::TooLarge(detail)
            | Self::MediaType(detail)
            | Self::CrossOrigin(detail)
            | Self::Conflict(detail)
            | Self::Busy { detail, .. } => (detail, Vec::new()),
            Self::MethodNotAllowed => {
                ("See /api/v1/openapi.json for what the address knows.".to_owned(), Vec::new())
            }
            Self::BadStudy(list)
            | Self::BadTable(list)
            | Self::BadText(list)
            | Self::TooMuchMemory(list) => (summary(&list), list),
            Self::Internal => {
                let detail = "The server's log says what. Please report it with the request.";
                (detail.to_owned(), Vec::new())
            }
        };
        api::Problem {
            kind: Self::kind(name),
            title: title.to_owned(),
            status: status.as_u16(),
            detail,
            diagnostics,
        }
    }
}

/// The first error in words, and how many follow.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let errors = || diagnostics.iter().filter(|d| d.severity == "error");
    let Some(first) = errors().next() else { return String::new() };
    let mut text = format!("line {}, column {}: {}", first.line, first.column, first.message);
    if let Some(hint) = first.hints.first() {
        text.push_str(". ");
        text.push_str(hint);
    }
    match errors().count() - 1 {
        0 => {}
        1 => text.push_str(" (and one more error)"),
        more => text.extend([" (and ", &more.to_string(), " more errors)"]),
    }
    text
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let again = match self {
            Self::Busy { seconds, .. } => Some([(header::RETRY_AFTER, seconds.to_string())]),
            _ => None,
        };
        let document = self.document();
        let status =
            StatusCode::from_u16(document.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&document).unwrap_or_default();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        match again {
            Some(again) => (status, again, kind, body).into_response(),
            None => (status, kind, body).into_response(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Locked) {
            tracing::warn!("{error}");
            return Self::Busy { detail: format!("{error}; try again."), seconds: 1 };
        }
        tracing::error!("{error}");
        Self::Internal
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::BadRequest(rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::BadRequest(rejection.body_text())
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            let detail = "A study may have 1 MiB, a table or a text 16 MiB.";
            return Self::TooLarge(detail.to_owned());
        }
        Self::BadRequest(rejection.body_text())
    }
}
