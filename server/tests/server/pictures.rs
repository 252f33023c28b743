//! Pictures by address.

use crate::app::{App, FIGURE_4};
use axum::body::Body;
use axum::http::Request;
use meshwork_engine::spec::url;

#[tokio::test]
async fn a_link_and_a_written_out_study_draw_the_same() {
    let app = App::new();
    let text = "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\nmodel two_layer\n";
    let link = url::encode(text);
    let by_link =
        app.get(&format!("/api/v1/picture.svg?tensor=h&study={}", &link["#1=".len()..])).await;
    assert_eq!(by_link.status, 200, "{}", by_link.text());
    assert_eq!(by_link.header("content-type"), "image/svg+xml");
    assert!(by_link.text().starts_with("<svg"));
    let query = "mesh=rows:2,cols:2&layout=batch:rows,hidden:cols&model=two_layer";
    let written = app.get(&format!("/api/v1/picture.svg?{query}&tensor=h")).await;
    assert_eq!(written.body, by_link.body);
    let stored = app.post("/api/v1/studies", "text/plain", text).await.json();
    let id = stored["id"].as_str().unwrap();
    let by_id = app.get(&format!("/api/v1/picture.svg?study={id}&tensor=h")).await;
    assert_eq!(by_id.body, by_link.body);
    let sheet = app.get(&format!("/api/v1/picture.svg?{query}")).await;
    assert!(sheet.body.len() > 2 * by_link.body.len(), "the sheet has all tensors");
    let dark = app.get(&format!("/api/v1/picture.svg?{query}&tensor=h&theme=dark")).await;
    assert_ne!(dark.body, by_link.body);
}

#[tokio::test]
async fn an_unchanged_picture_is_not_sent_again() {
    let app = App::new();
    let path = "/api/v1/picture.svg?mesh=all:2&layout=batch:all&model=two_layer&tensor=x";
    let first = app.get(path).await;
    assert!(first.header("cache-control").contains("max-age"));
    let tag = first.header("etag");
    let again = Request::get(path).header("if-none-match", tag).body(Body::empty()).unwrap();
    let again = app.send(again).await;
    assert_eq!(again.status, 304);
    assert!(again.body.is_empty());
    let other = Request::get(path).header("if-none-match", "\"x\"").body(Body::empty()).unwrap();
    assert_eq!(app.send(other).await.status, 200);
}

#[tokio::test]
async fn what_cannot_be_drawn_is_a_problem() {
    let app = App::new();
    let good = url::encode(FIGURE_4)["#1=".len()..].to_owned();
    let bad = url::encode("mesh all:3\nlayout batch:all\nmodel two_layer batch:8");
    let bad = &bad["#1=".len()..];
    let cases = [
        (String::new(), 400, "Name a study"),
        ("study=%21%21".to_owned(), 422, "link"),
        (format!("study={bad}"), 422, "batch"),
        (format!("study={good}&tensor=target2"), 404, "did you mean `target`?"),
        (format!("study={good}&theme=pink"), 400, "pink"),
        (format!("study={}", "0".repeat(32)), 404, "No study"),
    ];
    for (query, status, detail) in cases {
        let answer = app.get(&format!("/api/v1/picture.svg?{query}")).await;
        assert_eq!(answer.status, status, "{query}");
        let problem = answer.problem();
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{query}: {problem}");
    }
}
