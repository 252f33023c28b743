//! Pages of other sites, and names that point at loopback.

use crate::app::{App, FIGURE_4};
use axum::body::Body;
use axum::http::Request;

#[tokio::test]
async fn other_sites_change_nothing() {
    let app = App::with(|config| config.hosts = Some(vec!["localhost".to_owned()]));
    let post = |host: &str, origin: &str| {
        Request::post("/api/v1/studies")
            .header("host", host)
            .header("origin", origin)
            .header("content-type", "text/plain")
            .body(Body::from(FIGURE_4))
            .unwrap()
    };
    let own = app.send(post("localhost:8080", "http://localhost:8080")).await;
    assert_eq!(own.status, 201);
    let other = app.send(post("localhost:8080", "http://evil.test")).await;
    assert_eq!(other.problem()["type"], "/api/v1/problems#cross-origin");
    let rebound = app.send(post("evil.test:8080", "http://evil.test:8080")).await;
    assert_eq!(rebound.status, 403);
    let read = Request::get("/api/v1/runs").header("host", "evil.test:8080");
    assert_eq!(app.send(read.body(Body::empty()).unwrap()).await.status, 403);
}
