//! Reads requests, and answers with problem documents where they cannot be read.

use crate::problem::Problem;
use crate::routes::MAX_TEXT;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use meshwork_wire::api::{RunRequest, StudyText};
use serde::de::DeserializeOwned;

/// The query of an address.
#[derive(Debug)]
pub struct Ask<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Ask<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(query) = Query::<T>::from_request_parts(parts, state).await?;
        Ok(Self(query))
    }
}

/// A part of the address, such as the id of a run.
#[derive(Debug)]
pub struct At<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(part) = Path::<T>::from_request_parts(parts, state).await?;
        Ok(Self(part))
    }
}

/// A body that holds a study, as plain text or as JSON with the field `text`.
#[derive(Debug)]
pub struct StudyBody<T>(pub T);

/// A body that holds JSON.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if let Kind::Text = Kind::of(request.headers())? {
            let detail = "Text is not read here; send application/json.";
            return Err(Problem::MediaType(detail.to_owned()));
        }
        let bytes = Bytes::from_request(request, state).await?;
        let body = serde_json::from_slice(&bytes);
        body.map(Self)
            .map_err(|e| Problem::BadRequest(format!("The body is not the JSON expected: {e}")))
    }
}

/// What a study's body becomes.
pub trait FromText: DeserializeOwned {
    /// From the text alone.
    fn from_text(text: String) -> Self;
    /// The text.
    fn text(&self) -> &str;
}

impl FromText for StudyText {
    fn from_text(text: String) -> Self {
        Self { text }
    }

    fn text(&self) -> &str {
        &self.text
    }
}

impl FromText for RunRequest {
    fn from_text(text: String) -> Self {
        Self { text, steps: None, threads: None, data: None }
    }

    fn text(&self) -> &str {
        &self.text
    }
}

impl<S: Send + Sync, T: FromText> FromRequest<S> for StudyBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = Kind::of(request.headers())?;
        let bytes = Bytes::from_request(request, state).await?;
        let body = match kind {
            Kind::Json => serde_json::from_slice(&bytes).map_err(|e| {
                Problem::BadRequest(format!("The body is not the JSON expected: {e}"))
            })?,
            Kind::Text => T::from_text(utf8(&bytes)?.to_owned()),
        };
        let length = body.text().len();
        if length > MAX_TEXT {
            let detail = format!("The study has {length} bytes; at most {MAX_TEXT} are read.");
            return Err(Problem::TooLarge(detail));
        }
        Ok(Self(body))
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes)
        .map_err(|e| Problem::BadRequest(format!("The study is not UTF-8 text: {e}")))
}

enum Kind {
    Json,
    Text,
}

impl Kind {
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let kind = headers.get(header::CONTENT_TYPE).map_or("", |v| v.to_str().unwrap_or("?"));
        let kind = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        match kind.as_str() {
            "application/json" => Ok(Self::Json),
            // What curl says of --data-binary, and what it says when told nothing.
            "" | "application/x-www-form-urlencoded" => Ok(Self::Text),
            text if text.starts_with("text/") => Ok(Self::Text),
            other => Err(Problem::MediaType(format!(
                "`{other}` is not read here; send text/plain, or application/json with `text`."
            ))),
        }
    }
}
