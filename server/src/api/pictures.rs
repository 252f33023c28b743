//! `GET /picture.svg`: the pictures of the studio, for documents and chats.

use super::extract::Ask;
use crate::convert;
use crate::data::hash::sha256;
use crate::picture::{Colours, What, svg};
use crate::problem::Problem;
use crate::state::State;
use axum::extract::{self, RawQuery};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use meshwork_engine::spec::url;
use meshwork_engine::study::Study;
use meshwork_wire::api;
use serde::Deserialize;

/// The part of the query that is not the study written out.
#[derive(Debug, Deserialize)]
pub struct Wanted {
    study: Option<String>,
    tensor: Option<String>,
    timeline: Option<bool>,
    theme: Option<Theme>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Theme {
    Light,
    Dark,
}

/// The mesh and the tensors of a study, or one of them, as SVG. The study is named by its link or
/// written out: `?mesh=rows:2,cols:2&layout=batch:rows&model=two_layer`.
#[utoipa::path(get, path = "/picture.svg", tag = "studies", operation_id = "draw_picture",
    params(("study" = Option<String>, Query,
            description = "What follows `#1=` in a link, or the id of a stored study"),
        ("mesh" = Option<String>, Query), ("layout" = Option<String>, Query),
        ("model" = Option<String>, Query), ("dims" = Option<String>, Query),
        ("tensor" = Option<String>, Query, description = "Only this tensor"),
        ("timeline" = Option<bool>, Query, description = "`true`: the timeline of the pipeline"),
        ("theme" = Option<String>, Query, description = "`light` or `dark`; else the reader's")),
    responses((status = 200, body = String, content_type = "image/svg+xml"), (status = 304),
        (status = 404, body = api::Problem, content_type = "application/problem+json"),
        (status = 422, body = api::Problem, content_type = "application/problem+json")))]
pub async fn picture(
    extract::State(state): extract::State<State>,
    Ask(wanted): Ask<Wanted>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let app = state.clone();
    let make = move || {
        let text = text(&app, wanted.study.as_deref(), query.as_deref().unwrap_or(""))?;
        let study = Study::new(&text);
        if study.has_errors() {
            let diagnostics = convert::diagnostics(&text, study.diagnostics());
            return Err(Problem::BadStudy(diagnostics));
        }
        let colours = match wanted.theme {
            None => Colours::Preferred,
            Some(Theme::Light) => Colours::Light,
            Some(Theme::Dark) => Colours::Dark,
        };
        let what = match &wanted.tensor {
            Some(name) => What::Tensor(name),
            None if wanted.timeline == Some(true) => What::Timeline,
            None => What::All,
        };
        svg(&study, what, colours).map_err(Problem::NotFound)
    };
    let picture = state.desk().call(make).await?;
    Ok(answer(picture, &headers))
}

fn text(state: &State, link: Option<&str>, query: &str) -> Result<String, Problem> {
    let decoded = match link {
        Some(id) if is_id(id) => {
            let detail = || format!("No study is stored here as `{id}`.");
            return state.store().study(id)?.ok_or_else(|| Problem::NotFound(detail()));
        }
        Some(link) => url::decode(&format!("#1={}", link.trim_start_matches("1="))),
        None => url::decode(&format!("?{}", without_ours(query))),
    };
    let decoded = decoded.map_err(|d| Problem::BadStudy(convert::diagnostics("", &[d])))?;
    decoded.ok_or_else(|| {
        let detail = "Name a study by `study=` (what follows `#1=` in a link, or its id), or \
                      write it out: `?mesh=rows:2,cols:2&layout=batch:rows&model=two_layer`.";
        Problem::BadRequest(detail.to_owned())
    })
}

/// Whether it is the id of a stored study (no link is that short and hexadecimal only).
fn is_id(link: &str) -> bool {
    link.len() == 32 && link.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The query without what says how to draw.
fn without_ours(query: &str) -> String {
    let is_ours =
        |key: &&str| ["tensor=", "timeline=", "theme="].iter().any(|k| key.starts_with(k));
    let ours = |part: &&str| !is_ours(part);
    query.split('&').filter(ours).collect::<Vec<_>>().join("&")
}

fn answer(picture: String, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", &sha256(picture.as_bytes())[..32]);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).unwrap_or("");
    let cache =
        [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, "public, max-age=3600".to_owned())];
    if known.split(',').any(|k| k.trim().trim_start_matches("W/") == tag || k.trim() == "*") {
        return (StatusCode::NOT_MODIFIED, cache).into_response();
    }
    let kind = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (cache, kind, picture).into_response()
}
