//! The app under test, in a folder of its own.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use meshwork_server::state::{Config, State};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tower::ServiceExt as _;

/// Figure 4 of the paper, small.
pub(crate) const FIGURE_4: &str = "\
mesh rows:2 cols:2
layout batch:rows hidden:cols
model two_layer batch:8 io:4 hidden:8
train optimizer:sgd rate:0.1 steps:20
";

/// The app, the folder it keeps its data in, and its state.
pub(crate) struct App {
    router: Router,
    pub(crate) state: State,
    pub(crate) folder: TempDir,
}

/// An answer, read whole.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    /// The problem document, checked against the status.
    pub(crate) fn problem(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        assert!(problem["type"].as_str().unwrap().starts_with("/api/v1/problems#"));
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        problem
    }
}

impl App {
    pub(crate) fn new() -> Self {
        Self::open(TempDir::new().unwrap(), |_| {})
    }

    /// With other settings.
    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::open(TempDir::new().unwrap(), change)
    }

    fn open(folder: TempDir, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(folder.path());
        change(&mut config);
        let state = State::open(config).unwrap();
        Self { router: meshwork_server::app(state.clone()), state, folder }
    }

    /// Ends the server and starts another on the same folder.
    pub(crate) fn restart(self) -> Self {
        self.restart_with(|_| {})
    }

    /// The same with other settings.
    pub(crate) fn restart_with(self, change: impl FnOnce(&mut Config)) -> Self {
        let Self { router, state, folder } = self;
        state.close();
        state.queue().stop();
        drop((router, state));
        Self::open(folder, change)
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Request::delete(path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, kind: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(path).header("content-type", kind);
        self.send(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn post_json(&self, path: &str, body: Value) -> Answer {
        self.post(path, "application/json", body.to_string()).await
    }

    /// Asks for a run; its id.
    pub(crate) async fn run(&self, request: Value) -> String {
        let answer = self.post_json("/api/v1/runs", request).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a run is as wished.
    pub(crate) async fn wait(&self, id: &str, wish: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let run = self.get(&format!("/api/v1/runs/{id}")).await.json();
            if wish(&run) {
                return run;
            }
            assert!(begin.elapsed() < Duration::from_mins(2), "still {run}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until a run is over.
    pub(crate) async fn over(&self, id: &str) -> Value {
        self.wait(id, |run| run["state"] != "queued" && run["state"] != "running").await
    }

    /// The events of a run as one list.
    pub(crate) async fn events(&self, id: &str) -> Vec<Value> {
        let list = self.get(&format!("/api/v1/runs/{id}/events.json")).await.json();
        list["events"].as_array().unwrap().clone()
    }
}

/// A folder's file, read.
pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
