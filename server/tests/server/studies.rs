//! Planning and storing studies.

use crate::app::{App, FIGURE_4};
use meshwork_wire::plan::Plan;
use serde_json::json;

#[tokio::test]
async fn a_plan_is_the_same_for_text_and_json() {
    let app = App::new();
    let text = app.post("/api/v1/plan", "text/plain", FIGURE_4).await;
    assert_eq!(text.status, 200);
    let curl = "application/x-www-form-urlencoded";
    let by_curl = app.post("/api/v1/plan", curl, FIGURE_4).await;
    let json = app.post_json("/api/v1/plan", json!({ "text": FIGURE_4 })).await;
    assert_eq!(text.body, json.body);
    assert_eq!(text.body, by_curl.body);
    let plan: Plan = serde_json::from_slice(&text.body).unwrap();
    assert_eq!(plan.processors, 4);
    let h = plan.tensors.iter().find(|t| t.name == "h").unwrap();
    assert_eq!(h.slice_shape, [4, 4]);
    assert_eq!(h.layout["batch"], ["rows"]);
    assert!(plan.collectives.iter().any(|c| c.kind == "allreduce" && !c.why.is_empty()));
    assert!(h.slice_begin.is_none());
}

#[tokio::test]
async fn slices_begin_where_the_processor_stands() {
    let app = App::new();
    let answer = app.post("/api/v1/plan?slices=true", "text/plain", FIGURE_4).await;
    let plan: Plan = serde_json::from_slice(&answer.body).unwrap();
    let h = plan.tensors.iter().find(|t| t.name == "h").unwrap();
    let begins: Vec<_> = h.slice_begin.clone().unwrap().into_iter().flatten().collect();
    assert_eq!(begins, [[0, 0], [0, 4], [4, 0], [4, 4]]);
}

#[tokio::test]
async fn a_bad_study_is_a_question_too() {
    let app = App::new();
    let bad = "mesh all:3\nlayout batch:all\nmodel two_layer batch:8 io:4 hidden:8\n";
    let answer = app.post("/api/v1/plan", "text/plain", bad).await;
    assert_eq!(answer.status, 200);
    let plan: Plan = serde_json::from_slice(&answer.body).unwrap();
    let error = plan.diagnostics.iter().find(|d| d.code == "not-divisible").unwrap();
    assert_eq!((error.line, error.severity.as_str()), (2, "error"));
    assert!(!error.hints.is_empty());
    assert_eq!(plan.processors, 3, "what can be known is said");
    assert!(plan.collectives.is_empty());
}

#[tokio::test]
async fn a_stored_study_keeps_its_address() {
    let app = App::new();
    let first = app.post_json("/api/v1/studies", json!({ "text": FIGURE_4 })).await;
    assert_eq!(first.status, 201);
    let again = app.post("/api/v1/studies", "text/plain", FIGURE_4).await;
    assert_eq!(first.json(), again.json());
    let place = first.header("location").to_owned();
    let app = app.restart();
    assert_eq!(app.get(&place).await.json()["text"], FIGURE_4);
    assert_eq!(app.get("/api/v1/studies/0123").await.problem()["status"], 404);
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_problems() {
    let app = App::new();
    let json = "application/json";
    let cases: [(&str, Vec<u8>, u16, &str); 5] = [
        (json, b"{".to_vec(), 400, "bad-request"),
        (json, b"{\"txt\": 1}".to_vec(), 400, "bad-request"),
        ("text/plain", vec![b'm', 0xff], 400, "bad-request"),
        ("image/png", b"x".to_vec(), 415, "media-type"),
        ("text/plain", vec![b'#'; (1 << 20) + 1], 413, "too-large"),
    ];
    for (kind, body, status, name) in cases {
        let answer = app.post("/api/v1/plan", kind, body).await;
        assert_eq!(answer.status, status, "{name}");
        let problem = answer.problem();
        assert_eq!(problem["type"], format!("/api/v1/problems#{name}"));
    }
    let huge = app.post("/api/v1/plan", json, vec![b' '; 5 << 20]).await;
    assert_eq!(huge.problem()["type"], "/api/v1/problems#too-large");
    let query = app.post("/api/v1/plan?slices=maybe", "text/plain", FIGURE_4).await;
    assert_eq!(query.problem()["type"], "/api/v1/problems#bad-request");
}
