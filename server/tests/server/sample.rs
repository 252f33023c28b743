//! What trained runs write: by the API, after a restart, by the command line.

use crate::app::App;
use crate::cli::meshwork;
use meshwork_wire::run::Event;
use serde_json::{Value, json};
use tempfile::TempDir;

const LM: &str = "\
mesh all:2
layout batch:all
model transformer batch:8 length:16 vocab:256 d_model:32 heads:2 layers:1 d_ff:64
train optimizer:adam rate:0.01 steps:400 seed:1 data:";

fn verse() -> String {
    "one two three four five six seven eight nine ten\n".repeat(200)
}

async fn sample(app: &App, run: &str, request: Value) -> String {
    let answer = app.post_json(&format!("/api/v1/runs/{run}/sample"), request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_run_that_is_done_writes_and_still_does_after_a_restart() {
    let app = App::new();
    let answer = app.post("/api/v1/data/verse", "text/plain", verse()).await;
    assert_eq!(answer.status, 201);
    let id = app.run(json!({ "text": format!("{LM}verse") })).await;
    assert_eq!(app.over(&id).await["state"], "done");
    let greedy = json!({ "prompt": "one two th", "tokens": 14, "temperature": 0 });
    let text = sample(&app, &id, greedy.clone()).await;
    assert!(text.starts_with("ree four f"), "{text}");
    let drawn =
        |seed: u64| json!({ "prompt": "six", "tokens": 30, "seed": seed, "temperature": 3 });
    let first = sample(&app, &id, drawn(1)).await;
    assert_eq!(first, sample(&app, &id, drawn(1)).await);
    assert_ne!(first, sample(&app, &id, drawn(2)).await);
    let narrow = json!({ "prompt": "one two th", "tokens": 14, "temperature": 3, "top_k": 1 });
    assert_eq!(sample(&app, &id, narrow).await, text, "the likeliest only");
    // The text may go; the run stays what it is.
    app.delete("/api/v1/data/verse").await;
    let app = app.restart();
    assert_eq!(sample(&app, &id, greedy).await, text);

    let path = format!("/api/v1/runs/{id}/sample");
    for (bad, what) in [
        (json!({ "tokens": 0 }), "`tokens`"),
        (json!({ "temperature": -1 }), "`temperature`"),
        (json!({ "beam": 1000 }), "`beam`"),
        (json!([1]), "JSON"),
    ] {
        let problem = app.post_json(&path, bad).await.problem();
        assert_eq!(problem["status"], 400);
        assert!(problem["detail"].as_str().unwrap().contains(what), "{problem}");
    }
    assert_eq!(app.post_json("/api/v1/runs/none/sample", json!({})).await.status, 404);
    // A server with less memory says so before it takes it.
    let app = app.restart_with(|config| config.limits.memory = 1 << 16);
    let answer = app.post_json(&path, json!({ "beam": 8 })).await;
    assert_eq!(answer.status, 422);
    let d = answer.problem()["diagnostics"][0].clone();
    assert_eq!(d["code"], "too-large");
    assert_eq!(d["hints"], json!(["Take a narrower `beam`."]));
    assert_eq!(app.delete(&format!("/api/v1/runs/{id}")).await.status, 204);
    assert_eq!(app.post_json(&path, json!({})).await.status, 404);
}

#[tokio::test]
async fn runs_that_cannot_write_say_why() {
    let app = App::new();
    let rows = app.run(json!({ "text": "model mlp\ntrain steps:2 data:teacher" })).await;
    app.over(&rows).await;
    let answer = app.post_json(&format!("/api/v1/runs/{rows}/sample"), json!({})).await;
    assert_eq!(answer.status, 409);
    assert!(answer.problem()["detail"].as_str().unwrap().contains("no model of text"));
    let model = "model encoder batch:4 length:16 vocab:256 layers:1";
    let masked = app.run(json!({ "text": format!("{model}\ntrain steps:2 data:sources") })).await;
    assert_eq!(app.over(&masked).await["state"], "done");
    let answer = app.post_json(&format!("/api/v1/runs/{masked}/sample"), json!({})).await;
    assert_eq!(answer.status, 422);
    let d = answer.problem()["diagnostics"][0].clone();
    assert!(d["message"].as_str().unwrap().contains("looks at the token"), "{d}");
}

#[test]
fn the_command_line_samples_what_it_has_trained() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("verse.txt");
    std::fs::write(&path, verse()).unwrap();
    let path = path.to_str().unwrap();
    let text = format!("{LM}verse");
    let with = |more: &[&str]| {
        let args = [&["run", "-", "--data", path, "--sample", "one two th"], more].concat();
        meshwork(&args, &text)
    };
    let run = with(&["--tokens", "10", "--temperature", "0"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("sample of `one two th`:\nree four f"), "{}", run.out);
    let run = with(&["--json", "--tokens", "5", "--top-k", "3", "--sample-seed", "4"]);
    let events: Vec<Event> = run.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let written = |e: &Event| matches!(e, Event::Sample { text, .. } if !text.is_empty());
    assert!(events.iter().any(written), "{}", run.out);
    assert_eq!(with(&["--tokens", "0"]).status, 2);
    let run = meshwork(&["run", "-", "--sample", "x"], "model mlp\ntrain data:teacher");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("no model of text"), "{}", run.err);
}

#[test]
fn pairs_are_translated_and_judged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("pairs.tsv");
    let words = ["ein", "zwei", "drei", "vier", "acht"];
    let names = ["one", "two", "three", "four", "eight"];
    let line = |i: usize| {
        let of = |list: &[&str; 5]| {
            [list[i % 5], list[i / 5 % 5], list[i / 25 % 5], list[i % 3]].join(" ")
        };
        format!("{}\t{}\n", of(&words), of(&names))
    };
    std::fs::write(&path, (0..400).map(|i| line(i * 7)).collect::<String>()).unwrap();
    let path = path.to_str().unwrap();
    let text = "\
mesh all:2
layout batch:all
model encoder_decoder batch:16 source_length:20 length:24 vocab:256 d_model:32 heads:4 layers:1 d_ff:64
train optimizer:adam rate:0.01 warmup:30 decay:linear steps:400 seed:1 data:pairs";
    let args =
        ["run", "-", "--json", "--data", path, "--sample", "drei acht ein zwei", "--beam", "3"];
    let run = meshwork(&args, text);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let events: Vec<Event> = run.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let scores: Vec<f64> = events
        .iter()
        .filter_map(|e| match e {
            Event::Validation { bleu, .. } => *bleu,
            _ => None,
        })
        .collect();
    assert_eq!(scores.len(), 1, "after the last step only");
    assert!(scores[0] > 80.0, "{scores:?}");
    let text = events.iter().find_map(|e| match e {
        Event::Sample { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(text, Some("three eight one two"), "{scores:?}");
}
