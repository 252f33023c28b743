//! `/studies`: texts stored under their hash, for links too long for a chat.

use super::extract::{At, StudyBody};
use crate::problem::Problem;
use crate::state::State;
use axum::Json;
use axum::extract;
use axum::http::{HeaderName, StatusCode, header};
use meshwork_wire::api::{self, Study, StudyText};

/// Stores a study under its content hash. The same text always has the same id.
#[utoipa::path(post, path = "/studies", tag = "studies", operation_id = "store_study",
    request_body(content((StudyText = "application/json"), (String = "text/plain"))),
    responses((status = 201, body = Study),
        (status = 413, body = api::Problem, content_type = "application/problem+json")))]
pub async fn put(
    extract::State(state): extract::State<State>,
    StudyBody(StudyText { text }): StudyBody<StudyText>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<Study>), Problem> {
    let app = state.clone();
    let study =
        state.window().call(move || Ok(Study { id: app.store().put_study(&text)?, text })).await?;
    let place = format!("/api/v1/studies/{}", study.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(study)))
}

/// A stored study.
#[utoipa::path(get, path = "/studies/{id}", tag = "studies", operation_id = "get_study",
    params(("id" = String, Path, description = "Its content hash, 32 digits")),
    responses((status = 200, body = Study),
        (status = 404, body = api::Problem, content_type = "application/problem+json")))]
pub async fn get(
    extract::State(state): extract::State<State>,
    At(id): At<String>,
) -> Result<Json<Study>, Problem> {
    let app = state.clone();
    let find = move || match app.store().study(&id)? {
        Some(text) => Ok(Study { id, text }),
        None => Err(Problem::NotFound(format!(
            "No study is stored here as `{id}`. It may be stored on another server; ask the \
             sender of the link for the text."
        ))),
    };
    state.window().call(find).await.map(Json)
}
