//! The API about itself, and the studio's files.

use crate::app::App;
use meshwork_server::problem::Problem;
use serde_json::Value;
use std::collections::BTreeSet;

#[tokio::test]
async fn what_is_not_there_is_a_problem() {
    let app = App::new();
    for path in ["/api", "/api/v1", "/api/v1/nothing", "/api/v2/plan"] {
        assert_eq!(app.get(path).await.problem()["type"], "/api/v1/problems#not-found", "{path}");
    }
    for path in ["runs/%ff", "runs/%ff/events", "runs/%ff/events.json", "data/%ff", "studies/%ff"] {
        let answer = app.get(&format!("/api/v1/{path}")).await;
        assert_eq!(answer.problem()["type"], "/api/v1/problems#bad-request", "{path}");
    }
    let method = app.delete("/api/v1/plan").await;
    assert_eq!(method.status, 405);
    assert_eq!(method.problem()["type"], "/api/v1/problems#method-not-allowed");
    assert_eq!(app.get("/nothing.js").await.status, 404);
}

#[tokio::test]
async fn the_studio_is_served_at_the_root_and_at_runs() {
    let app = App::new();
    let page = app.get("/").await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").starts_with("text/html"));
    assert_eq!(page.header("cache-control"), "no-cache");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert!(page.header("content-security-policy").contains("'wasm-unsafe-eval'"));
    assert_eq!(app.get("/runs/0123456789abcdef").await.body, page.body);
}

#[tokio::test]
async fn the_document_names_every_route_and_every_schema_it_uses() {
    let app = App::new();
    let document = app.get("/api/v1/openapi.json").await.json();
    let paths = document["paths"].as_object().unwrap();
    let expected = [
        ("/plan", "post"),
        ("/studies", "post"),
        ("/studies/{id}", "get"),
        ("/runs", "get"),
        ("/runs", "post"),
        ("/runs/{id}", "get"),
        ("/runs/{id}", "delete"),
        ("/runs/{id}/timeline", "get"),
        ("/runs/{id}/cancel", "post"),
        ("/runs/{id}/events", "get"),
        ("/runs/{id}/events.json", "get"),
        ("/data", "get"),
        ("/data/{name}", "get"),
        ("/data/{name}/vocabulary", "get"),
        ("/runs/{id}/sample", "post"),
        ("/data/{name}", "post"),
        ("/data/{name}", "delete"),
        ("/picture.svg", "get"),
        ("/examples", "get"),
        ("/health", "get"),
        ("/problems", "get"),
    ];
    let mut names = BTreeSet::new();
    for (path, method) in expected {
        let operation = &paths[path][method];
        assert!(operation["summary"].is_string(), "{method} {path}");
        let name = operation["operationId"].as_str().unwrap();
        assert!(names.insert(name), "{name} is used twice");
    }
    let all = paths.values().map(|path| path.as_object().unwrap().len()).sum::<usize>();
    assert_eq!(all, expected.len(), "a route that this test does not know");
    let statuses = |path: &str, method: &str| -> Vec<String> {
        paths[path][method]["responses"].as_object().unwrap().keys().cloned().collect()
    };
    for path in ["/plan", "/runs", "/studies"] {
        let all = statuses(path, "post");
        for status in ["400", "403", "413", "415", "503"] {
            assert!(all.iter().any(|s| s == status), "{path} lacks {status}: {all:?}");
        }
    }
    assert!(statuses("/runs/{id}", "get").contains(&"400".to_owned()));
    assert!(!statuses("/runs/{id}", "get").contains(&"413".to_owned()));
    assert!(!statuses("/data/{name}", "post").contains(&"415".to_owned()), "any kind is read");
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 20);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} is not there");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(reference) if key == "$ref" => references.push(reference.to_owned()),
                    _ => collect(value, references),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|v| collect(v, references)),
        _ => {}
    }
}

#[tokio::test]
async fn every_kind_of_problem_is_listed() {
    let app = App::new();
    let list = app.get("/api/v1/problems").await.json();
    assert_eq!(list.as_array().unwrap().len(), Problem::KINDS.len());
    assert_eq!(list[0]["type"], "/api/v1/problems#not-found");
    assert_eq!(list[0]["status"], 404);
}

#[tokio::test]
async fn examples_open_in_the_studio() {
    let app = App::new();
    let list = app.get("/api/v1/examples").await.json();
    let examples = list["examples"].as_array().unwrap();
    assert!(examples.iter().any(|e| e["id"] == "figure-5"));
    for example in examples {
        let link = example["link"].as_str().unwrap();
        let text = meshwork_engine::spec::url::decode(link).unwrap().unwrap();
        assert_eq!(example["text"], text);
    }
}

#[tokio::test]
async fn health_says_how_busy_the_server_is() {
    let app = App::new();
    let health = app.get("/api/v1/health").await.json();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["running"], 0);
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
}
