//! `GET /health` and `GET /problems`: the server about itself.

use crate::problem::Problem;
use crate::state::State;
use axum::{Json, extract};
use meshwork_wire::api::{Health, ProblemKind, RunState};

/// Whether the server is well, and how busy.
#[utoipa::path(get, path = "/health", tag = "server", operation_id = "get_health", responses((status = 200, body = Health)))]
pub async fn health(extract::State(state): extract::State<State>) -> Result<Json<Health>, Problem> {
    let app = state.clone();
    let look = move || {
        Ok(Health {
            status: "ok".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            threads: app.config().limits.threads,
            running: app.store().count_runs(RunState::Running)?,
            queued: app.store().count_runs(RunState::Queued)?,
        })
    };
    state.window().call(look).await.map(Json)
}

/// Every kind of problem that the API may answer.
#[utoipa::path(get, path = "/problems", tag = "server", operation_id = "list_problems",
    responses((status = 200, body = Vec<ProblemKind>)))]
pub async fn problems() -> Json<Vec<ProblemKind>> {
    let kind = |(name, title, status): (&str, &str, axum::http::StatusCode)| ProblemKind {
        kind: Problem::kind(name),
        title: title.to_owned(),
        status: status.as_u16(),
    };
    Json(Problem::KINDS.into_iter().map(kind).collect())
}
