//! `/runs`: what trains on the server.

use super::extract::{Ask, At, JsonBody, StudyBody};
use crate::convert;
use crate::jobs::prepare::{NotReady, Source, Wishes, prepare};
use crate::jobs::{sample, train};
use crate::problem::Problem;
use crate::state::State;
use crate::store::runs::NewRun;
use axum::Json;
use axum::extract;
use axum::http::{HeaderName, StatusCode, header};
use meshwork_engine::diag::Diagnostic;
use meshwork_engine::study::Study;
use meshwork_wire::api::{self, Run, RunList, RunRequest, RunState, Sample, SampleRequest};
use meshwork_wire::run::{Event, Timeline};
use serde::Deserialize;

/// The most steps of one run.
const MAX_STEPS: u64 = 1_000_000;
/// The most runs that may wait.
const MAX_QUEUED: u64 = 1000;
/// Runs in a list, if nothing else is said.
const LIST: u64 = 50;

/// Asks for a run. It is written down before it is acknowledged, and starts when threads and
/// memory are free.
#[utoipa::path(post, path = "/runs", tag = "runs", operation_id = "create_run",
    request_body(content((RunRequest = "application/json"), (String = "text/plain"))),
    responses((status = 201, body = Run, headers(("Location" = String))),
        (status = 422, body = api::Problem, content_type = "application/problem+json",
            description = "The study has errors, does not go with its data, or needs too much memory"),
        (status = 503, body = api::Problem, content_type = "application/problem+json")))]
pub async fn create(
    extract::State(state): extract::State<State>,
    StudyBody(request): StudyBody<RunRequest>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<Run>), Problem> {
    let app = state.clone();
    let run = state.desk().call(move || add(&app, &request)).await?;
    let place = format!("/api/v1/runs/{}", run.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(run)))
}

fn add(state: &State, request: &RunRequest) -> Result<Run, Problem> {
    let limits = state.config().limits;
    // What is wrong is said about the text that was sent.
    let (text, change) = match &request.data {
        Some(data) => convert::with_data(&request.text, data),
        None => (request.text.clone(), None),
    };
    let said =
        |list: &[Diagnostic]| convert::diagnostics_before(&request.text, change.as_ref(), list);
    let source = Source::Catalog(Some(state.store()));
    let ready = prepare(&text, source, Wishes::within(limits.memory)).map_err(|e| match e {
        NotReady::Study(list) => Problem::BadStudy(said(&list)),
        NotReady::Memory(d) => Problem::TooMuchMemory(said(&[d])),
        NotReady::Store(e) => e.into(),
    })?;
    let steps = train::steps(&ready.study, request.steps);
    if steps > MAX_STEPS {
        let detail = format!("{steps} steps; a run on the server takes at most {MAX_STEPS}.");
        return Err(Problem::BadRequest(detail));
    }
    if state.store().count_runs(RunState::Queued)? >= MAX_QUEUED {
        let detail = format!("{MAX_QUEUED} runs wait already; cancel some, or try again later.");
        return Err(Problem::Busy { detail, seconds: 60 });
    }
    // half of the machine, but cells of a pipeline can only work at the same time on their own
    let cells = ready.study.program().map_or(1, |program| program.ranks() as u64);
    let threads = request.threads.unwrap_or_else(|| cells.max(limits.threads / 2));
    let threads = threads.clamp(1, limits.threads);
    let run = state.store().add_run(&NewRun {
        data: ready.data.as_ref().map(crate::data::catalog::Found::pinned),
        text,
        steps,
        threads,
        memory: ready.memory,
    })?;
    state.queue().knock();
    Ok(run)
}

/// The query of a list.
#[derive(Debug, Deserialize)]
pub struct Page {
    limit: Option<u64>,
    before: Option<String>,
}

/// Runs, newest first.
#[utoipa::path(get, path = "/runs", tag = "runs", operation_id = "list_runs",
    params(("limit" = Option<u64>, Query, description = "At most so many; 50 if absent, 500 at most"),
        ("before" = Option<String>, Query, description = "Only runs older than this one")),
    responses((status = 200, body = RunList)))]
pub async fn list(
    extract::State(state): extract::State<State>,
    Ask(page): Ask<Page>,
) -> Result<Json<RunList>, Problem> {
    let app = state.clone();
    let limit = page.limit.unwrap_or(LIST).min(10 * LIST);
    let find = move || Ok(RunList { runs: app.store().runs(limit, page.before.as_deref())? });
    state.window().call(find).await.map(Json)
}

/// A run.
#[utoipa::path(get, path = "/runs/{id}", tag = "runs", operation_id = "get_run", params(("id" = String, Path)),
    responses((status = 200, body = Run),
        (status = 404, body = api::Problem, content_type = "application/problem+json")))]
pub async fn get(
    extract::State(state): extract::State<State>,
    At(id): At<String>,
) -> Result<Json<Run>, Problem> {
    let app = state.clone();
    state.window().call(move || find(&app, &id)).await.map(Json)
}

/// What the cells of a pipeline did in the last step of a run that is done, measured: who worked
/// when, on which task.
#[utoipa::path(get, path = "/runs/{id}/timeline", tag = "runs", operation_id = "get_timeline", params(("id" = String, Path)),
    responses((status = 200, body = Timeline),
        (status = 404, body = api::Problem, content_type = "application/problem+json",
            description = "There is no such run, or nothing was measured, since it is no pipeline"),
        (status = 409, body = api::Problem, content_type = "application/problem+json",
            description = "The run is not done")))]
pub async fn timeline(
    extract::State(state): extract::State<State>,
    At(id): At<String>,
) -> Result<Json<Timeline>, Problem> {
    let app = state.clone();
    let read = move || {
        let run = find(&app, &id)?;
        let Some(Event::Done { timeline, .. }) = app.store().last_event(&id)? else {
            let detail =
                format!("The run is {}; of a run that is done, it is known.", run.state.name());
            return Err(Problem::Conflict(detail));
        };
        let detail =
            "Of this run nothing was measured: its study is no pipeline, or it took no step.";
        timeline.ok_or_else(|| Problem::NotFound(detail.to_owned()))
    };
    state.window().call(read).await.map(Json)
}

/// Cancels a run: at once if it waits, after its current step if it is going on. A run that is
/// over stays as it is.
#[utoipa::path(post, path = "/runs/{id}/cancel", tag = "runs", operation_id = "cancel_run", params(("id" = String, Path)),
    responses((status = 200, body = Run),
        (status = 404, body = api::Problem, content_type = "application/problem+json")))]
pub async fn cancel(
    extract::State(state): extract::State<State>,
    At(id): At<String>,
) -> Result<Json<Run>, Problem> {
    let app = state.clone();
    let cancel = move || {
        find(&app, &id)?;
        app.queue().cancel(&id)?;
        find(&app, &id)
    };
    state.window().call(cancel).await.map(Json)
}

/// Lets a run that is done write: what follows a prompt, or its translation. The same request has
/// the same answer.
#[utoipa::path(post, path = "/runs/{id}/sample", tag = "runs", operation_id = "sample_run", params(("id" = String, Path)),
    request_body = SampleRequest,
    responses((status = 200, body = Sample),
        (status = 404, body = api::Problem, content_type = "application/problem+json"),
        (status = 409, body = api::Problem, content_type = "application/problem+json",
            description = "The run is not done, or is not of a model of text"),
        (status = 422, body = api::Problem, content_type = "application/problem+json")))]
pub async fn sample(
    extract::State(state): extract::State<State>,
    At(id): At<String>,
    JsonBody(request): JsonBody<SampleRequest>,
) -> Result<Json<Sample>, Problem> {
    let app = state.clone();
    let write = move || {
        let run = find(&app, &id)?;
        if run.state != RunState::Done {
            let detail =
                format!("The run is {}; only a run that is done writes.", run.state.name());
            return Err(Problem::Conflict(detail));
        }
        let wish = sample::wish(&request).map_err(Problem::BadRequest)?;
        let Some(parameters) = app.store().parameters(&id)? else {
            let detail = "Of this run no parameters are kept: its study is no model of text, or it \
                          ran before they were. Run a study of text again to sample it.";
            return Err(Problem::Conflict(detail.to_owned()));
        };
        let study = Study::new(&run.text);
        let room = app.config().limits.memory;
        let text = sample::has_room(&study, &wish, room)
            .and_then(|()| sample::write(&study, parameters, &request.prompt, &wish))
            .map_err(|d| Problem::BadStudy(convert::diagnostics(&run.text, &[d])))?;
        Ok(Sample { text })
    };
    state.desk().call(write).await.map(Json)
}

/// Removes a run that is over, with its events and parameters.
#[utoipa::path(delete, path = "/runs/{id}", tag = "runs", operation_id = "remove_run", params(("id" = String, Path)),
    responses((status = 204),
        (status = 404, body = api::Problem, content_type = "application/problem+json"),
        (status = 409, body = api::Problem, content_type = "application/problem+json")))]
pub async fn remove(
    extract::State(state): extract::State<State>,
    At(id): At<String>,
) -> Result<StatusCode, Problem> {
    let app = state.clone();
    let remove = move || {
        let run = find(&app, &id)?;
        if app.store().remove_run(&id)? {
            return Ok(StatusCode::NO_CONTENT);
        }
        let state = run.state.name();
        Err(Problem::Conflict(format!("The run is {state}; cancel it before you remove it.")))
    };
    state.window().call(remove).await
}

/// The run with this id.
pub(super) fn find(state: &State, id: &str) -> Result<Run, Problem> {
    let run = state.store().run(id)?;
    run.ok_or_else(|| Problem::NotFound(format!("There is no run `{id}` on this server.")))
}
