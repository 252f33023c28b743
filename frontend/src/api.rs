//! The server's API under `/api/v1`, as the studio uses it. Bodies are the types of the wire crate.

use leptos::prelude::window;
use meshwork_wire::api::{
    DataInfo, DataSet, Problem, Run, RunList, RunRequest, Sample, SampleRequest, Study, StudyText,
    TableList, Vocabulary,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, Headers, RequestInit, Response};

/// Why a request has no answer to work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// No server answers: the studio is served as files, the server is down, or the net is.
    Unreachable,
    /// The server says no, and why.
    Problem(Box<Problem>),
}

impl Trouble {
    /// What happened and what to do, as one sentence or two.
    pub fn message(&self) -> String {
        match self {
            Self::Unreachable => "No Meshwork server answers here. Start one with `cargo xtask \
                                  serve` and open the address it prints; running in this browser \
                                  works without it."
                .to_owned(),
            Self::Problem(p) => {
                let mut text = p.detail.clone();
                for d in &p.diagnostics {
                    let place = format!(" Line {}, column {}: {}", d.line, d.column, d.message);
                    if !text.contains(&d.message) {
                        text.push_str(&place);
                    }
                }
                text
            }
        }
    }

    /// Whether there is no such thing on the server.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Problem(p) if p.status == 404)
    }
}

/// Where the events of a run come from.
pub fn events_path(id: &str) -> String {
    format!("/api/v1/runs/{id}/events")
}

/// Starts a run.
pub async fn start_run(text: &str, steps: Option<u64>) -> Result<Run, Trouble> {
    let request = RunRequest { text: text.to_owned(), steps, threads: None, data: None };
    post("/runs", &request).await
}

/// A run.
pub async fn run(id: &str) -> Result<Run, Trouble> {
    call("GET", &format!("/runs/{id}"), None).await
}

/// The latest runs, newest first.
pub async fn runs() -> Result<Vec<Run>, Trouble> {
    call::<RunList>("GET", "/runs?limit=20", None).await.map(|list| list.runs)
}

/// Stops a run.
pub async fn cancel(id: &str) -> Result<Run, Trouble> {
    call("POST", &format!("/runs/{id}/cancel"), None).await
}

/// What a run that is done writes.
pub async fn sample(id: &str, request: &SampleRequest) -> Result<Sample, Trouble> {
    post(&format!("/runs/{id}/sample"), request).await
}

/// The data at hand.
pub async fn tables() -> Result<TableList, Trouble> {
    call("GET", "/data", None).await
}

/// A table with its rows, or a text.
pub async fn data(name: &str) -> Result<DataSet, Trouble> {
    call("GET", &format!("/data/{}", encoded(name)), None).await
}

/// The byte-pair vocabulary of a text.
pub async fn vocabulary(name: &str, size: u64) -> Result<Vocabulary, Trouble> {
    call("GET", &format!("/data/{}/vocabulary?size={size}", encoded(name)), None).await
}

/// Stores a file: a CSV as a table, anything else as a text.
pub async fn upload(name: &str, file: &File) -> Result<DataInfo, Trouble> {
    let is_table = file.name().to_ascii_lowercase().ends_with(".csv");
    let body = (JsValue::from(file), if is_table { "text/csv" } else { "text/plain" });
    call("POST", &format!("/data/{}", encoded(name)), Some(body)).await
}

/// Stores a study under its hash; answers the hash.
pub async fn store(text: &str) -> Result<String, Trouble> {
    let body = StudyText { text: text.to_owned() };
    post::<_, Study>("/studies", &body).await.map(|s| s.id)
}

/// The text of a stored study.
pub async fn study(id: &str) -> Result<String, Trouble> {
    call::<Study>("GET", &format!("/studies/{}", encoded(id)), None).await.map(|s| s.text)
}

fn encoded(part: &str) -> String {
    String::from(js_sys::encode_uri_component(part))
}

async fn post<B: Serialize, T: DeserializeOwned>(path: &str, body: &B) -> Result<T, Trouble> {
    let json = serde_json::to_string(body).map_err(|e| odd(&e.to_string()))?;
    call("POST", path, Some((JsValue::from(json), "application/json"))).await
}

/// One request. Answers that are not JSON come from something that is no Meshwork server.
async fn call<T: DeserializeOwned>(
    method: &str,
    path: &str,
    body: Option<(JsValue, &str)>,
) -> Result<T, Trouble> {
    let unreachable = |_: JsValue| Trouble::Unreachable;
    let init = RequestInit::new();
    init.set_method(method);
    let headers = Headers::new().map_err(unreachable)?;
    headers.set("accept", "application/json, application/problem+json").map_err(unreachable)?;
    if let Some((body, kind)) = body {
        headers.set("content-type", kind).map_err(unreachable)?;
        init.set_body(&body);
    }
    init.set_headers(&headers);
    let promise = window().fetch_with_str_and_init(&format!("/api/v1{path}"), &init);
    let response: Response =
        JsFuture::from(promise).await.map_err(unreachable)?.dyn_into().map_err(unreachable)?;
    let kind = response.headers().get("content-type").ok().flatten().unwrap_or_default();
    if !kind.contains("json") {
        return Err(Trouble::Unreachable);
    }
    let text = JsFuture::from(response.text().map_err(unreachable)?).await.map_err(unreachable)?;
    let text = text.as_string().unwrap_or_default();
    if response.ok() {
        serde_json::from_str(&text).map_err(|e| odd(&e.to_string()))
    } else {
        let problem: Problem = serde_json::from_str(&text).map_err(|e| odd(&e.to_string()))?;
        Err(Trouble::Problem(Box::new(problem)))
    }
}

/// An answer this studio does not understand: it is older or newer than the server.
fn odd(what: &str) -> Trouble {
    Trouble::Problem(Box::new(Problem {
        kind: "about:blank".to_owned(),
        title: "Unexpected answer".to_owned(),
        status: 0,
        detail: format!(
            "The server answered in a form that this studio does not know ({what}). Reload the \
             page to get the studio that belongs to the server."
        ),
        diagnostics: Vec::new(),
    }))
}
