//! Runs of pipelines: what their cells did and when, and why they could not go on.

use crate::app::{App, FIGURE_4, read};
use crate::cli::meshwork;
use meshwork_engine::exec::machine::PATIENCE;
use meshwork_engine::exec::pool::Pool;
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::study::Study;
use meshwork_engine::timeline::Task;
use meshwork_server::jobs::train::{Job, Listener, train_on};
use meshwork_wire::run::{Event, Timeline};
use serde_json::{Value, json};
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;

const PIPELINE: &str = "\
mesh stages:2
model mlp batch:64 in:64 hidden:64 depth:3 out:64
train optimizer:sgd rate:0.01 steps:3
pipeline over:stages micro_batches:4 schedule:1f1b
";

/// The timeline in the last event of a run.
fn done(out: &str) -> Option<Timeline> {
    let last = out.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let Some(Event::Done { timeline, .. }) = last else { unreachable!("{out}") };
    timeline
}

fn lawful(timeline: &Timeline) {
    let tasks = |cell: usize| -> String {
        timeline.lanes[cell].iter().map(|i| i.task.clone() + " ").collect()
    };
    assert_eq!(timeline.unit, "s");
    assert_eq!(tasks(0), "0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3 ");
    assert_eq!(tasks(1), "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 ");
    for lane in &timeline.lanes {
        assert!(lane.iter().all(|i| i.task.parse::<Task>().is_ok() && i.start < i.end));
        assert!(lane.windows(2).all(|w| w[0].end <= w[1].start + 1e-9), "{lane:?}");
    }
    let end = timeline.lanes.iter().filter_map(|l| l.last()).map(|i| i.end).fold(0.0, f64::max);
    assert!((timeline.makespan - end).abs() < 1e-9, "{timeline:?}");
    assert!(timeline.bubble_of_makespan > 0.0 && timeline.bubble_of_makespan < 1.0);
    assert!(timeline.bubble_of_ideal > timeline.bubble_of_makespan);
}

#[test]
fn what_the_cells_did_is_said_drawn_and_traced() {
    let folder = TempDir::new().unwrap();
    let [picture, trace] = ["t.svg", "t.json"].map(|name| folder.path().join(name));
    let files = ["--timeline", picture.to_str().unwrap(), "--trace", trace.to_str().unwrap()];
    for threads in ["1", "2", "3"] {
        let args = [&["run", "-", "--json", "--threads", threads], &files[..]].concat();
        let run = meshwork(&args, PIPELINE);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
        lawful(&done(&run.out).unwrap());
        assert!(read(&picture).contains("measured"), "{}", read(&picture));
        let trace: Value = serde_json::from_str(&read(&trace)).unwrap();
        let tasks = trace["traceEvents"].as_array().unwrap().iter();
        assert_eq!(tasks.filter(|event| event["ph"] == "X").count(), 16);
    }
    let run = meshwork(&["run", "-", "--threads", "2"], PIPELINE);
    // Columns are as wide as the times are long.
    let words = run.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    for part in [
        "cells in the last step",
        "measured predicted by measured costs",
        "makespan",
        "bubble of makespan",
        "bubble of ideal",
        "cell works idles",
        "stage cell forward backward",
        "costs:(",
    ] {
        assert!(words.contains(part), "{part} in {}", run.out);
    }
    // The costs can be pasted into the study.
    let costs = run.out.lines().last().unwrap().trim();
    let again = meshwork(&["run", "-", "--steps", "1"], &format!("{} {costs}\n", PIPELINE.trim()));
    assert_eq!(again.status, 0, "{costs} {}", again.err);
}

#[test]
fn a_prediction_is_traced() {
    let draw = meshwork(&["draw", "-", "--trace", "--output", "-"], PIPELINE);
    assert_eq!((draw.status, draw.err.as_str()), (0, ""));
    let trace: Value = serde_json::from_str(&draw.out).unwrap();
    assert_eq!(trace["traceEvents"].as_array().unwrap().len(), 1 + 2 * 2 + 16);
}

#[test]
fn without_a_pipeline_there_is_nothing_to_measure() {
    let run = meshwork(&["run", "-", "--json"], FIGURE_4);
    assert_eq!(run.status, 0);
    assert!(!run.out.contains("timeline"), "{}", run.out);
    assert!(!meshwork(&["run", "-"], FIGURE_4).out.contains("cells"));
    for args in [
        ["run", "-", "--timeline", "t.svg"],
        ["run", "-", "--trace", "t.json"],
        ["draw", "-", "--trace", "-ot.json"],
    ] {
        let run = meshwork(&args, FIGURE_4);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{args:?}");
        assert!(run.err.contains("the study has no pipeline"), "{}", run.err);
    }
    let none = meshwork(&["run", "-", "--steps", "0", "--trace", "t.json"], PIPELINE);
    assert_eq!(none.status, 2, "{}", none.out);
    assert!(none.err.contains("no step is taken"), "{}", none.err);
    assert_eq!(none.out, "", "nothing has run");
}

/// Hardly anybody does anything within a microsecond.
const HASTE: &str = "0.000001";

#[test]
fn a_run_that_is_given_up_is_status_1() {
    let args = ["run", "-", "--threads", "2", "--patience", HASTE];
    let people = meshwork(&args, PIPELINE);
    assert_eq!(people.status, 1, "{}", people.out);
    assert!(people.err.starts_with("failed: cell "), "{}", people.err);
    assert!(people.err.contains("in step ") && people.err.contains("--patience"));
    let json = meshwork(&[&args[..], &["--json"]].concat(), PIPELINE);
    assert_eq!((json.status, json.err.as_str()), (1, ""), "{}", json.out);
    let last: Event = serde_json::from_str(json.out.lines().last().unwrap()).unwrap();
    assert!(matches!(last, Event::Failed { message } if message.contains("in step ")));
    for wrong in ["0", "-1", "soon", "1e18", "1e300", "inf"] {
        let run = meshwork(&["run", "-", "--patience", wrong], PIPELINE);
        assert_eq!(run.status, 2, "{wrong}");
        assert!(run.err.contains("above 0, 1000000000 at most"), "{wrong}: {}", run.err);
    }
}

#[test]
fn files_that_cannot_be_written_are_said_before_the_run() {
    let folder = TempDir::new().unwrap();
    let [missing, fine] = ["none/t.svg", "t.json"].map(|name| folder.path().join(name));
    let [missing, fine] = [&missing, &fine].map(|path| path.to_str().unwrap());
    for args in [
        ["--timeline", missing, "--trace", fine],
        ["--timeline", fine, "--trace", missing],
        ["--timeline", fine, "--trace", fine],
        ["--timeline", fine, "--trace", "-"],
        ["--timeline", "-", "--trace", fine],
    ] {
        let run = meshwork(&[&["run", "-", "--json"], &args[..]].concat(), PIPELINE);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{args:?}");
        let says = if args.contains(&missing) { missing } else { "give" };
        assert!(run.err.contains(says), "{args:?} {}", run.err);
        assert_eq!(std::fs::exists(fine).ok(), Some(false), "{args:?}");
    }
    // What is there stays as it is until the run is done.
    std::fs::write(fine, "old").unwrap();
    let run = meshwork(&["run", "-", "--trace", fine, "--timeline", missing], PIPELINE);
    assert_eq!((run.status, read(fine.as_ref()).as_str()), (2, "old"));
}

#[tokio::test]
async fn the_server_keeps_the_timeline_of_a_run() {
    let app = App::new();
    let id = app.run(json!({ "text": PIPELINE, "threads": 2 })).await;
    assert_eq!(app.over(&id).await["state"], "done");
    let timeline = app.get(&format!("/api/v1/runs/{id}/timeline")).await;
    assert_eq!(timeline.status, 200);
    assert_eq!(timeline.json(), app.events(&id).await.last().unwrap()["timeline"]);
    lawful(&serde_json::from_value(timeline.json()).unwrap());
    let app = app.restart();
    let kept = app.get(&format!("/api/v1/runs/{id}/timeline")).await.json();
    assert_eq!(kept, timeline.json());

    let flat = app.run(json!({ "text": FIGURE_4 })).await;
    app.over(&flat).await;
    for none in [flat.as_str(), "nobody"] {
        let answer = app.get(&format!("/api/v1/runs/{none}/timeline")).await;
        assert_eq!(answer.problem()["status"], 404);
    }
    let long = PIPELINE.replace("steps:3", "steps:1000000");
    let going = app.run(json!({ "text": long })).await;
    app.wait(&going, |run| run["last_step"].is_u64()).await;
    let answer = app.get(&format!("/api/v1/runs/{going}/timeline")).await;
    assert_eq!(answer.problem()["status"], 409);
    app.post(&format!("/api/v1/runs/{going}/cancel"), "", "").await;
    app.over(&going).await;
}

#[tokio::test]
async fn the_server_writes_down_why_a_run_was_given_up() {
    let app = App::with(|config| config.limits.patience = Duration::from_micros(1));
    let id = app.run(json!({ "text": PIPELINE, "threads": 2 })).await;
    let run = app.over(&id).await;
    assert_eq!(run["state"], "failed", "{run}");
    let message = run["message"].as_str().unwrap();
    assert!(message.starts_with("cell ") && message.contains("in step 0"), "{message}");
    assert_eq!(app.events(&id).await.last().unwrap()["message"], message);
    // The server lives, and other runs do.
    let other = app.run(json!({ "text": FIGURE_4 })).await;
    assert_eq!(app.over(&other).await["state"], "done");
}

/// Threads that fail at their nth list of tasks.
#[derive(Debug)]
struct Faulty(Threads, AtomicU64);

impl Pool for Faulty {
    fn each<T: Send>(&self, tasks: Vec<T>, work: impl Fn(T) + Sync + Send) {
        let left = self.1.fetch_sub(1, Ordering::Relaxed);
        assert!(left > 0, "out of order");
        self.0.each(tasks, work);
    }

    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn divide(self, parts: usize) -> Vec<Self> {
        let Self(threads, left) = self;
        let left = left.into_inner();
        let shares = threads.divide(parts).into_iter().enumerate();
        shares.map(|(i, t)| Self(t, AtomicU64::new(if i == 0 { u64::MAX } else { left }))).collect()
    }

    fn begin(&self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.0.begin(name, work)
    }
}

struct Heard(Vec<Event>);

impl Listener for Heard {
    fn say(&mut self, event: Event) -> ControlFlow<()> {
        self.0.push(event);
        ControlFlow::Continue(())
    }
}

#[test]
fn a_run_in_which_a_cell_dies_says_which() {
    let study = Study::new(PIPELINE);
    let job = Job {
        study: &study,
        data: None,
        steps: 1000,
        threads: 2,
        check: false,
        print: &[],
        sample: None,
        patience: PATIENCE,
    };
    let pool = Faulty(Threads::new(2).unwrap(), AtomicU64::new(100));
    let mut heard = Heard(Vec::new());
    train_on(pool, &job, &mut heard).unwrap();
    let steps = heard.0.len() - 1;
    assert!(steps > 0 && matches!(heard.0[steps - 1], Event::Step { .. }), "{:?}", heard.0);
    let Event::Failed { message } = &heard.0[steps] else { unreachable!("{:?}", heard.0) };
    let starts = format!("cell 1 died in step {steps} at 1");
    assert!(message.starts_with(&starts), "{message}");
    assert!(message.contains(" of micro-batch ") && message.contains("): out of order; "));
}
