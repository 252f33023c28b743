//! `GET /openapi.json`: the API in words that programs read, made from the handlers themselves.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use utoipa::OpenApi;
use utoipa::openapi;

/// The parts of the document that no handler says.
#[derive(Debug, OpenApi)]
#[openapi(
    info(title = "Meshwork", description = "Plan and train tensor programs on processor meshes."),
    tags(
        (name = "studies", description = "What a study means"),
        (name = "runs", description = "What trains on the server"),
        (name = "data", description = "Tables to train on"),
        (name = "server", description = "The server itself"),
    )
)]
pub struct Document;

/// The document as it is served: with the version, under the address of the API.
pub fn finish(mut document: openapi::OpenApi) -> String {
    env!("CARGO_PKG_VERSION").clone_into(&mut document.info.version);
    document.servers = Some(vec![openapi::Server::new("/api/v1")]);
    document.to_pretty_json().unwrap_or_default()
}

/// Answers with the document.
pub fn serve(document: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], document).into_response()
}
