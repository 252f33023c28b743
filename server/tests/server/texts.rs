//! Texts: what ships, uploads good and bad, vocabularies, runs on them.

use crate::app::App;
use crate::cli::meshwork;
use serde_json::{Value, json};
use tempfile::TempDir;

fn book() -> String {
    (0..600).map(|i| format!("the {} sees line {i}\n", ["cat", "dog"][i % 2])).collect()
}

const MODEL: &str = "model transformer batch:4 length:16 vocab:256 d_model:16 heads:2 layers:1";

fn study(data: &str) -> String {
    format!("mesh all:2\nlayout batch:all\n{MODEL}\ntrain optimizer:adam rate:0.01 steps:20 {data}")
}

async fn upload(app: &App, name: &str, text: &str) -> Value {
    let answer = app.post(&format!("/api/v1/data/{name}"), "text/plain", text.to_owned()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn texts_that_ship_are_listed_and_read() {
    let app = App::new();
    let list = app.get("/api/v1/data").await.json();
    let names: Vec<&str> =
        list["texts"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sources", "numerals"]);
    let sources = app.get("/api/v1/data/sources").await.json();
    assert_eq!(sources["text"].as_str().unwrap().len() as u64, list["texts"][0]["bytes"]);
    assert_eq!(sources["hash"], list["texts"][0]["hash"]);
    let numerals = app.get("/api/v1/data/numerals").await.json();
    assert!(numerals["text"].as_str().unwrap().contains("\n347\tthree hundred and forty-seven\n"));
}

#[tokio::test]
async fn an_uploaded_text_is_kept_and_trained_on() {
    let app = App::new();
    let info = upload(&app, "book", &book()).await;
    assert_eq!((&info["lines"], info["bytes"].as_u64()), (&json!(600), Some(book().len() as u64)));
    let app = app.restart();
    let text = app.get("/api/v1/data/book").await.json();
    assert_eq!((&text["text"], &text["hash"]), (&json!(book()), &info["hash"]));
    let list = app.get("/api/v1/data").await.json();
    assert_eq!(list["texts"][2], info);

    let id = app.run(json!({ "text": study("data:book") })).await;
    let run = app.over(&id).await;
    assert_eq!(run["state"], "done", "{run}");
    assert_eq!(run["data"], format!("book@{}", info["hash"].as_str().unwrap()));
    let events = app.events(&id).await;
    let seen = events.iter().rev().find(|e| e["event"] == "validation").unwrap();
    let (token, word) = (seen["perplexity"].as_f64(), seen["word_perplexity"].as_f64());
    assert!(token.unwrap() > 1.0 && token.unwrap() < 60.0 && word.unwrap() > token.unwrap());

    assert_eq!(app.delete("/api/v1/data/book").await.status, 204);
    assert_eq!(app.get("/api/v1/data/book").await.problem()["status"], 404);
}

#[tokio::test]
async fn bad_texts_are_refused_with_their_place() {
    let app = App::new();
    for (bytes, line, column, message) in [
        (&b"good\nb\xffad"[..], 2, 2, "byte 6 (0xff) is not UTF-8 text"),
        (b"", 1, 1, "the text is empty"),
        (b"a\0", 1, 2, "byte 1 is 0"),
    ] {
        let answer = app.post("/api/v1/data/bad", "text/plain", bytes.to_vec()).await;
        assert_eq!(answer.status, 422);
        let problem = answer.problem();
        assert_eq!(problem["type"], "/api/v1/problems#bad-text");
        let first = &problem["diagnostics"][0];
        assert!(first["message"].as_str().unwrap().starts_with(message), "{first}");
        assert_eq!((&first["line"], &first["column"]), (&json!(line), &json!(column)));
    }
    assert_eq!(app.get("/api/v1/data/bad").await.status, 404, "nothing is half-stored");
    let pairs = "text/tab-separated-values; charset=utf-8";
    assert_eq!(app.post("/api/v1/data/pairs", pairs, "1\tone\n").await.status, 201);
}

#[tokio::test]
async fn a_name_is_that_of_a_table_or_of_a_text() {
    let app = App::new();
    upload(&app, "x", "some text").await;
    let csv = "a,y\n1,2\n2,3\n3,4\n";
    assert_eq!(app.post("/api/v1/data/x", "text/csv", csv).await.problem()["status"], 409);
    assert_eq!(app.post("/api/v1/data/t", "text/csv", csv).await.status, 201);
    let detail = app.post("/api/v1/data/t", "text/plain", "some").await.problem()["detail"].clone();
    assert_eq!(detail, "`t` is a table; remove it first, or choose another name.");
    assert_eq!(app.post("/api/v1/data/sources", "text/plain", "x").await.status, 409);
}

#[tokio::test]
async fn a_vocabulary_is_learnt_from_a_text() {
    let app = App::new();
    upload(&app, "book", &book()).await;
    let merges = |v: &Value| v["merges"].as_array().unwrap().len();
    let learnt = app.get("/api/v1/data/book/vocabulary?size=270").await.json();
    assert_eq!(merges(&learnt), 14);
    assert_eq!(learnt, app.get("/api/v1/data/book/vocabulary?size=270").await.json());
    assert_eq!(merges(&app.get("/api/v1/data/book/vocabulary?size=100").await.json()), 0);
    assert_eq!(app.get("/api/v1/data/iris/vocabulary?size=270").await.problem()["status"], 404);
    let much = app.get("/api/v1/data/book/vocabulary?size=1000000").await;
    assert_eq!(much.problem()["status"], 400);

    let text = study("data:book tokens:bpe").replace("vocab:256", "vocab:270");
    let id = app.run(json!({ "text": text })).await;
    assert_eq!(app.over(&id).await["state"], "done");
    let text = text.replace("vocab:270", "vocab:4096");
    let few = app.post_json("/api/v1/runs", json!({ "text": text })).await.problem();
    let d = &few["diagnostics"][0];
    assert!(d["message"].as_str().unwrap().contains("and no more"), "{few}");
    assert!(d["hints"][0].as_str().unwrap().starts_with("Set `vocab` to "), "{few}");
}

#[test]
fn the_command_line_trains_on_text() {
    let text = study("data:sources");
    let run = meshwork(&["run", "-"], &text);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("20 steps on `sources`, 2 processors"), "{}", run.out);
    assert!(run.out.contains(" per token, ") && run.out.contains(" per word"), "{}", run.out);

    let folder = TempDir::new().unwrap();
    let path = folder.path().join("book.txt");
    std::fs::write(&path, book()).unwrap();
    let path = path.to_str().unwrap();
    let run = meshwork(&["run", "-", "--data", path, "--json", "--check"], &study(""));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains(r#""word_perplexity":"#), "{}", run.out);
    let bpe = study("tokens:bpe data:own").replace("vocab:256", "vocab:280");
    assert_eq!(meshwork(&["run", "-", "--data", path], &bpe).status, 0);
    std::fs::write(path, b"ab\n\xff").unwrap();
    let run = meshwork(&["run", "-", "--data", path], &study(""));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("book.txt:2:1: byte 3 (0xff) is not UTF-8 text"), "{}", run.err);
}

#[test]
fn a_text_that_does_not_fit_says_what_would() {
    let small = study("data:sources").replace("vocab:256", "vocab:64");
    let run = meshwork(&["run", "-"], &small);
    assert_eq!(run.status, 1);
    for part in
        ["error[data]: Bytes are 256 tokens; `vocab` has 64 elements", "Set `vocab` to 256."]
    {
        assert!(run.err.contains(part), "{}", run.err);
    }
    let table = study("data:iris");
    assert!(meshwork(&["run", "-"], &table).err.contains("this study has one"));
}
