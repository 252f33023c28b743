//! `POST /plan`: what a study means.

use super::extract::{Ask, StudyBody};
use crate::convert;
use crate::problem::Problem;
use crate::state::State;
use axum::{Json, extract};
use meshwork_engine::study::Study;
use meshwork_wire::api::{self, StudyText};
use meshwork_wire::plan::Plan;
use serde::Deserialize;

/// The query.
#[derive(Debug, Deserialize)]
pub struct Options {
    /// Whether tensors say where each processor's slice begins.
    #[serde(default)]
    slices: bool,
}

/// Plans a study: its tensors with their slices, its collectives with their reasons, its costs.
/// A study with errors is answered too, with its diagnostics.
#[utoipa::path(post, path = "/plan", tag = "studies", operation_id = "plan_study",
    params(("slices" = Option<bool>, Query, description = "With where each slice begins")),
    request_body(content((StudyText = "application/json"), (String = "text/plain"))),
    responses((status = 200, body = Plan),
        (status = 413, body = api::Problem, content_type = "application/problem+json")))]
pub async fn plan(
    extract::State(state): extract::State<State>,
    Ask(options): Ask<Options>,
    StudyBody(study): StudyBody<StudyText>,
) -> Result<Json<Plan>, Problem> {
    let plan = move || Ok(convert::plan(&Study::new(&study.text), options.slices));
    state.desk().call(plan).await.map(Json)
}
