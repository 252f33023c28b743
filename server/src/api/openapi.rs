//! `GET /openapi.json`: the API in words that programs read, made from the handlers themselves.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{self, Content, Ref, RefOr, ResponseBuilder};

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
    for path in document.paths.paths.values_mut() {
        let changes = [&mut path.post, &mut path.delete];
        for operation in changes.into_iter().flatten() {
            answers(operation, &[(403, "It comes from a page of another site")]);
        }
        for operation in [&mut path.get, &mut path.post, &mut path.delete].into_iter().flatten() {
            requests(operation);
        }
    }
    document.servers = Some(vec![openapi::Server::new("/api/v1")]);
    document.to_pretty_json().unwrap_or_default()
}

/// What reading the request and waiting for a thread may answer.
fn requests(operation: &mut Operation) {
    let reads = operation.parameters.as_ref().is_some_and(|p| !p.is_empty());
    if reads || operation.request_body.is_some() {
        answers(operation, &[(400, "The request cannot be read")]);
    }
    let body = operation.request_body.as_ref().and_then(|body| match body {
        RefOr::T(body) => Some(&body.content),
        RefOr::Ref(_) => None,
    });
    if let Some(content) = body {
        let kinds = content.contains_key("application/json");
        answers(operation, &[(413, "The body is too large")]);
        if kinds {
            answers(operation, &[(415, "The body is of a kind that is not read")]);
        }
    }
    if !matches!(operation.operation_id.as_deref(), Some("list_problems" | "list_examples")) {
        answers(operation, &[(503, "The server is busy; Retry-After says when to try again")]);
    }
}

/// Adds answers that the handler does not name itself.
fn answers(operation: &mut Operation, list: &[(u16, &str)]) {
    for &(status, description) in list {
        let problem = Content::new(Some(Ref::from_schema_name("Problem")));
        let response = ResponseBuilder::new()
            .description(description)
            .content("application/problem+json", problem)
            .build();
        let responses = &mut operation.responses.responses;
        responses.entry(status.to_string()).or_insert(RefOr::T(response));
    }
}

/// Answers with the document.
pub fn serve(document: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], document).into_response()
}
