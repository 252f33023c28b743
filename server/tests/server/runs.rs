//! Runs: asked for, carried out, cancelled, removed, kept over a restart.

use crate::app::{App, FIGURE_4};
use meshwork_engine::examples;
use serde_json::{Value, json};

/// Long enough to be caught while it is going on.
const LONG: &str = "\
mesh all:2
layout batch:all
model two_layer batch:64 io:64 hidden:256
train optimizer:sgd rate:0.001 steps:1000000
";

#[tokio::test]
async fn a_run_trains_and_is_still_there_after_a_restart() {
    let app = App::new();
    let answer = app.post_json("/api/v1/runs", json!({ "text": FIGURE_4, "steps": 7 })).await;
    assert_eq!(answer.status, 201);
    let run = answer.json();
    let id = run["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), format!("/api/v1/runs/{id}"));
    assert_eq!(run["steps"], 7);
    let over = app.over(id).await;
    assert_eq!(over["state"], "done", "{over}");
    assert_eq!(over["last_step"], 6);
    for time in ["created", "started", "finished"] {
        assert!(over[time].as_str().unwrap().ends_with('Z'), "{time}");
    }
    let events = app.events(id).await;
    assert_eq!(events.len(), 8);
    for (i, event) in events[..7].iter().enumerate() {
        assert_eq!((&event["event"], &event["step"]), (&json!("step"), &json!(i)));
        assert_eq!(event["id"], i + 1);
    }
    let losses: Vec<f64> = events[..7].iter().map(|e| e["loss"].as_f64().unwrap()).collect();
    assert!(losses[6] < losses[0], "it learns: {losses:?}");
    let done = &events[7];
    assert_eq!(done["event"], "done");
    assert_eq!(done["counted"], done["predicted"]);
    assert_eq!(done["held"]["counted"], done["held"]["predicted"]);
    assert!(done["held"]["counted"].as_u64().unwrap() > 0);
    assert!(done["counted"]["messages"].as_u64().unwrap() > 0);

    let app = app.restart();
    assert_eq!(app.get(&format!("/api/v1/runs/{id}")).await.json(), over);
    assert_eq!(app.events(id).await, events);
}

#[tokio::test]
async fn every_example_trains() {
    let app = App::new();
    for example in examples::ALL.iter().filter(|e| e.id != "illegal") {
        let id = app.run(json!({ "text": example.text, "steps": 4 })).await;
        let run = app.over(&id).await;
        assert_eq!(run["state"], "done", "{}: {run}", example.id);
        let events = app.events(&id).await;
        let done = events.last().unwrap();
        assert_eq!(done["counted"], done["predicted"], "{}", example.id);
        assert_eq!(done["held"]["counted"], done["held"]["predicted"], "{}", example.id);
        let validated = events.iter().filter(|e| e["event"] == "validation").count();
        assert_eq!(validated > 0, run.get("data").is_some(), "{}", example.id);
    }
    let illegal = examples::find("illegal").unwrap();
    let answer = app.post_json("/api/v1/runs", json!({ "text": illegal.text })).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.problem()["diagnostics"][0]["code"], "mesh-dimension-twice");
}

#[tokio::test]
async fn iris_is_learnt_and_its_content_is_pinned() {
    let app = App::new();
    let iris = examples::find("iris").unwrap();
    let id = app.run(json!({ "text": iris.text })).await;
    let run = app.over(&id).await;
    assert_eq!(run["state"], "done", "{run}");
    assert!(run["data"].as_str().unwrap().starts_with("iris@"));
    let events = app.events(&id).await;
    let last = events.iter().rev().find(|e| e["event"] == "validation").unwrap();
    assert!(last["accuracy"].as_f64().unwrap() > 0.8, "{last}");
}

#[tokio::test]
async fn a_study_with_errors_is_no_run() {
    let app = App::new();
    let problem = async |body: Value| {
        let answer = app.post_json("/api/v1/runs", body).await;
        assert_eq!(answer.status, 422, "{}", answer.text());
        answer.problem()
    };
    let bad = problem(json!({ "text": FIGURE_4.replace("batch:8", "batch:7") })).await;
    assert_eq!(bad["type"], "/api/v1/problems#bad-study");
    assert_eq!(bad["diagnostics"][0]["line"], 2);
    assert!(bad["detail"].as_str().unwrap().starts_with("line 2, column 8: "));

    let table = problem(json!({ "text": FIGURE_4, "data": "irris" })).await;
    let diagnostic = &table["diagnostics"][0];
    assert_eq!(diagnostic["code"], "data");
    assert!(diagnostic["message"].as_str().unwrap().contains("`irris`"));
    assert!(diagnostic["hints"][0].as_str().unwrap().contains("`iris`"));

    // What is wrong is said about the text as it was sent.
    let line = "model two_layer batch:8 io:4 hidden:8 # the only line";
    let other = problem(json!({ "text": line, "data": "irris" })).await;
    assert_eq!(other["diagnostics"][0]["line"], 1, "{other}");
    let longer = "train data:teacher steps:3\nlayout batch:rows\nmesh rows:3\nmodel two_layer";
    let longer = problem(json!({ "text": longer, "data": "winequality-classes" })).await;
    let diagnostic = &longer["diagnostics"][0];
    assert_eq!((&diagnostic["line"], &diagnostic["column"]), (&json!(2), &json!(8)), "{longer}");

    let misfit = problem(json!({ "text": FIGURE_4, "data": "diabetes" })).await;
    assert_eq!(misfit["diagnostics"][0]["code"], "data");
    assert!(misfit["detail"].as_str().unwrap().contains("10 features"));

    let huge = "model two_layer batch:65536 io:65536 hidden:65536\ntrain steps:1";
    let memory = problem(json!({ "text": huge })).await;
    assert_eq!(memory["type"], "/api/v1/problems#too-much-memory");
    let long = app.post_json("/api/v1/runs", json!({ "text": FIGURE_4, "steps": 1_000_001 })).await;
    assert_eq!(long.status, 400);
    assert_eq!(app.get("/api/v1/runs").await.json()["runs"], json!([]));
}

#[tokio::test]
async fn a_loss_that_is_no_number_ends_the_run() {
    let app = App::new();
    let text = FIGURE_4.replace("rate:0.1", "rate:1000000");
    let id = app.run(json!({ "text": text, "steps": 1000 })).await;
    let run = app.over(&id).await;
    assert_eq!(run["state"], "diverged");
    assert!(run["message"].as_str().unwrap().contains("rate:100000`"));
    assert_eq!(app.events(&id).await.last().unwrap()["event"], "diverged");
}

#[tokio::test]
async fn runs_are_cancelled_while_they_go_on_and_while_they_wait() {
    let app = App::with(|config| config.limits.threads = 2);
    let first = app.run(json!({ "text": LONG, "threads": 2 })).await;
    let second = app.run(json!({ "text": LONG, "threads": 2 })).await;
    app.wait(&first, |run| run["last_step"].as_u64() > Some(10)).await;
    let health = app.get("/api/v1/health").await.json();
    assert_eq!((&health["running"], &health["queued"]), (&json!(1), &json!(1)));
    assert_eq!(app.delete(&format!("/api/v1/runs/{first}")).await.problem()["status"], 409);

    let cancel = async |id: &str| app.post(&format!("/api/v1/runs/{id}/cancel"), "", "").await;
    assert_eq!(cancel(&second).await.json()["state"], "cancelled");
    assert_eq!(cancel(&first).await.status, 200);
    let run = app.over(&first).await;
    assert_eq!(run["state"], "cancelled");
    let events = app.events(&first).await;
    let last = events.last().unwrap();
    assert_eq!(last["event"], "cancelled");
    let steps = last["step"].as_u64().unwrap();
    assert!(steps > 10, "after so many steps: {steps}");
    assert_eq!(run["last_step"], steps - 1, "the last step is never thinned out");
    assert_eq!(cancel(&first).await.json(), run, "cancelling again changes nothing");
    assert_eq!(cancel("nothing").await.problem()["status"], 404);

    assert_eq!(app.delete(&format!("/api/v1/runs/{first}")).await.status, 204);
    assert_eq!(app.get(&format!("/api/v1/runs/{first}")).await.problem()["status"], 404);
}

#[tokio::test]
async fn an_interrupted_run_begins_again_and_says_so() {
    let app = App::new();
    let id = app.run(json!({ "text": LONG })).await;
    app.wait(&id, |run| run["last_step"].as_u64() > Some(10)).await;
    let before = app.events(&id).await.len() as u64;
    let app = app.restart();
    let run = app.wait(&id, |run| run["last_step"].is_u64()).await;
    assert_eq!(run["restarts"], 1);
    let events = app.events(&id).await;
    assert_eq!(events[0]["event"], "restarted");
    assert_eq!(events[0]["times"], 1);
    assert!(events[0]["id"].as_u64().unwrap() > before, "numbers go on: {}", events[0]);
    assert_eq!((&events[1]["event"], &events[1]["step"]), (&json!("step"), &json!(0)));
    app.post(&format!("/api/v1/runs/{id}/cancel"), "", "").await;
    assert_eq!(app.over(&id).await["state"], "cancelled");
}

#[tokio::test]
async fn lists_are_newest_first_and_come_in_pages() {
    let app = App::new();
    let mut ids = Vec::new();
    for steps in 1..=3 {
        ids.insert(0, app.run(json!({ "text": FIGURE_4, "steps": steps })).await);
    }
    let page = async |query: &str| -> Vec<String> {
        let list = app.get(&format!("/api/v1/runs{query}")).await.json();
        let runs = list["runs"].as_array().unwrap().iter();
        runs.map(|r| r["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(page("").await, ids);
    assert_eq!(page("?limit=2").await, ids[..2]);
    assert_eq!(page(&format!("?before={}", ids[1])).await, ids[2..]);
}

#[tokio::test]
async fn threads_do_not_change_the_losses() {
    let app = App::new();
    let mut curves = Vec::new();
    for threads in [1, 2] {
        let id = app.run(json!({ "text": FIGURE_4, "threads": threads })).await;
        app.over(&id).await;
        let events = app.events(&id).await;
        curves.push(events[..20].iter().map(|e| e["loss"].to_string()).collect::<Vec<_>>());
    }
    assert_eq!(curves[0], curves[1]);
}
