//! The stream of a run's events.

use crate::app::{App, FIGURE_4};
use axum::body::Body;
use axum::http::Request;
use meshwork_wire::run::Event;
use serde_json::json;

/// One server-sent event.
#[derive(Debug, PartialEq)]
struct Sent {
    id: u64,
    name: String,
    data: Event,
}

/// The events in the text of a stream.
fn sent(stream: &str) -> Vec<Sent> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{block}"));
        line[name.len()..].trim_start_matches([':', ' ']).to_owned()
    };
    let blocks = stream.split("\n\n").filter(|b| !b.trim().is_empty() && !b.starts_with(':'));
    blocks
        .map(|block| Sent {
            id: field(block, "id").parse().unwrap(),
            name: field(block, "event"),
            data: serde_json::from_str(&field(block, "data")).unwrap(),
        })
        .collect()
}

#[tokio::test]
async fn a_stream_says_all_and_ends() {
    let app = App::new();
    let id = app.run(json!({ "text": FIGURE_4 })).await;
    // Asked for while the run goes on: the stream is read until the server ends it.
    let answer = app.get(&format!("/api/v1/runs/{id}/events")).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let events = sent(&answer.text());
    assert_eq!(events.len(), 21);
    assert_eq!(events.iter().map(|e| e.id).collect::<Vec<_>>(), (1..=21).collect::<Vec<_>>());
    assert!(events.iter().all(|e| e.name == e.data.name()));
    assert!(events[20].data.is_last());

    let list = app.get(&format!("/api/v1/runs/{id}/events.json")).await.json();
    assert_eq!(list["over"], true);
    assert_eq!(list["events"].as_array().unwrap().len(), 21);
}

#[tokio::test]
async fn a_stream_goes_on_after_what_was_heard() {
    let app = App::new();
    let id = app.run(json!({ "text": FIGURE_4 })).await;
    app.over(&id).await;
    let path = format!("/api/v1/runs/{id}/events");
    let all = sent(&app.get(&path).await.text());
    let request = Request::get(&path).header("last-event-id", "18").body(Body::empty()).unwrap();
    let rest = sent(&app.send(request).await.text());
    assert_eq!(rest, all[18..]);
    assert_eq!(sent(&app.get(&format!("{path}?after=18")).await.text()), all[18..]);
    let request = Request::get(&path).header("last-event-id", "21").body(Body::empty()).unwrap();
    assert_eq!(app.send(request).await.text(), "", "all was heard: the stream ends at once");
    let list = app.get(&format!("{path}.json?after=20")).await.json();
    assert_eq!(list["events"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stream_follows_a_run_that_is_cancelled() {
    let app = App::new();
    let text = "model two_layer batch:64 io:64 hidden:64\ntrain rate:0.001 steps:1000000";
    let id = app.run(json!({ "text": text })).await;
    let path = format!("/api/v1/runs/{id}/events");
    let listen = app.get(&path);
    let cancel = async {
        app.wait(&id, |run| run["last_step"].as_u64() > Some(5)).await;
        app.post(&format!("/api/v1/runs/{id}/cancel"), "", "").await
    };
    let (stream, cancelled) = tokio::join!(listen, cancel);
    assert_eq!(cancelled.status, 200);
    let events = sent(&stream.text());
    assert!(matches!(events[0].data, Event::Step { step: 0, .. }));
    assert!(matches!(events.last().unwrap().data, Event::Cancelled { .. }));
}

#[tokio::test]
async fn a_stream_ends_when_the_server_closes() {
    let app = App::new();
    let text = "model two_layer batch:64 io:64 hidden:64\ntrain rate:0.001 steps:1000000";
    let id = app.run(json!({ "text": text })).await;
    let path = format!("/api/v1/runs/{id}/events");
    let close = async {
        app.wait(&id, |run| run["last_step"].is_u64()).await;
        app.state.close();
        app.state.queue().stop();
    };
    let (stream, ()) = tokio::join!(app.get(&path), close);
    assert!(sent(&stream.text()).iter().all(|e| !e.data.is_last()));
}

#[tokio::test]
async fn an_unknown_run_has_no_events() {
    let app = App::new();
    for path in ["/api/v1/runs/x/events", "/api/v1/runs/x/events.json"] {
        assert_eq!(app.get(path).await.problem()["status"], 404);
    }
}
