//! A server with too much to do, and one whose database another program holds.

use crate::app::{App, FIGURE_4};
use meshwork_server::problem::Problem;
use rusqlite::Connection;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// All threads of the desk are at work until this is dropped.
struct Occupied(Arc<AtomicBool>);

impl Drop for Occupied {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

async fn occupy(app: &App) -> Occupied {
    let occupied = Occupied(Arc::new(AtomicBool::new(true)));
    let begun = Arc::new(AtomicU64::new(0));
    let threads = app.state.config().limits.threads;
    for already in 0..threads {
        let desk = app.state.desk().clone();
        let (goes_on, counted) = (Arc::clone(&occupied.0), Arc::clone(&begun));
        tokio::spawn(async move {
            let work = move || {
                counted.fetch_add(1, Ordering::Relaxed);
                while goes_on.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Ok::<_, Problem>(())
            };
            desk.call(work).await.unwrap();
        });
        while begun.load(Ordering::Relaxed) == already {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    occupied
}

#[tokio::test]
async fn looks_do_not_wait_for_plans() {
    let app = App::with(|config| config.limits.threads = 2);
    let id = app.run(json!({ "text": FIGURE_4 })).await;
    app.over(&id).await;
    let busy = occupy(&app).await;
    let begun = Instant::now();
    for path in ["health", "runs", "data", "examples", "problems", "openapi.json"] {
        assert_eq!(app.get(&format!("/api/v1/{path}")).await.status, 200, "{path}");
    }
    for path in ["", "/events", "/events.json"] {
        assert_eq!(app.get(&format!("/api/v1/runs/{id}{path}")).await.status, 200, "{path}");
    }
    assert_eq!(app.post(&format!("/api/v1/runs/{id}/cancel"), "", "").await.status, 200);
    assert_eq!(app.delete(&format!("/api/v1/runs/{id}")).await.status, 204);
    assert!(begun.elapsed() < Duration::from_secs(10));
    drop(busy);
    assert_eq!(app.post("/api/v1/plan", "text/plain", FIGURE_4).await.status, 200);
}

#[tokio::test]
async fn who_comes_when_all_wait_is_asked_to_come_again() {
    let app = App::with(|config| {
        config.limits.threads = 2;
        config.waiting = 1;
    });
    let busy = occupy(&app).await;
    let first = app.post("/api/v1/plan", "text/plain", FIGURE_4);
    let second = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let answer = app.post("/api/v1/plan", "text/plain", FIGURE_4).await;
        drop(busy);
        answer
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.status, 200, "it waited");
    assert_eq!(second.status, 503);
    assert_eq!(second.problem()["type"], "/api/v1/problems#busy");
    assert!(second.header("retry-after").parse::<u64>().unwrap() > 0);
}

#[tokio::test]
async fn what_nobody_waits_for_is_not_begun() {
    let app = App::with(|config| config.limits.threads = 2);
    let busy = occupy(&app).await;
    let begun = Arc::new(AtomicBool::new(false));
    let work = {
        let begun = Arc::clone(&begun);
        move || {
            begun.store(true, Ordering::Relaxed);
            Ok::<_, Problem>(())
        }
    };
    let left = tokio::time::timeout(Duration::from_millis(20), app.state.desk().call(work)).await;
    assert!(left.is_err(), "it waits, and then its client goes");
    drop(busy);
    assert_eq!(app.post("/api/v1/plan", "text/plain", FIGURE_4).await.status, 200);
    assert!(!begun.load(Ordering::Relaxed));
}

/// Another program in the middle of a change.
fn other_program(app: &App) -> Connection {
    let other = Connection::open(app.folder.path().join("meshwork.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    other
}

const LONG: &str = "model two_layer batch:64 io:64 hidden:64\ntrain rate:0.001 steps:1000000";

#[tokio::test]
async fn a_run_ends_while_the_database_is_locked() {
    let app = App::new();
    let id = app.run(json!({ "text": LONG })).await;
    app.wait(&id, |run| run["last_step"].as_u64() > Some(5)).await;
    let other = other_program(&app);
    let path = format!("/api/v1/runs/{id}");
    // Longer than anyone waits for the lock.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let step = app.get(&path).await.json()["last_step"].as_u64();
    app.wait(&id, |run| run["last_step"].as_u64() > step).await;
    assert_eq!(app.post(&format!("{path}/cancel"), "", "").await.status, 200);
    let run = app.over(&id).await;
    assert_eq!(run["state"], "cancelled", "{run}");
    assert!(run["finished"].as_str().unwrap().ends_with('Z'), "{run}");
    let health = app.get("/api/v1/health").await.json();
    assert_eq!(health["running"], 0, "{health}");
    assert_eq!(app.get("/api/v1/runs").await.json()["runs"][0], run);
    let stream = app.get(&format!("{path}/events")).await.text();
    assert!(stream.contains("event: cancelled"), "the stream ends");
    let events = app.events(&id).await;
    let ids: Vec<u64> = events.iter().map(|e| e["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
    assert_eq!(app.delete(&path).await.status, 503);

    other.execute_batch("ROLLBACK").unwrap();
    let begun = Instant::now();
    while app.state.store().has_unwritten() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it is written down by itself");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(app.get(&path).await.json(), run, "it was true before");
    assert_eq!(app.events(&id).await, events);
    let app = app.restart();
    assert_eq!(app.get(&path).await.json(), run);
    assert_eq!(app.events(&id).await, events);
    assert_eq!(app.delete(&path).await.status, 204);
}

#[tokio::test]
async fn changes_are_put_off_while_the_database_is_locked() {
    let app = App::new();
    let known =
        app.post("/api/v1/studies", "text/plain", FIGURE_4).await.header("location").to_owned();
    let other = other_program(&app);
    let begun = Instant::now();
    for _ in 0..10 {
        let answers = [
            app.post("/api/v1/studies", "text/plain", LONG).await,
            app.post("/api/v1/data/t", "text/csv", "a,y\n1,2\n3,4\n").await,
            app.post_json("/api/v1/runs", json!({ "text": FIGURE_4 })).await,
        ];
        for answer in answers {
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert_eq!(answer.problem()["type"], "/api/v1/problems#busy");
            assert_eq!(answer.header("retry-after"), "1");
        }
        assert_eq!(app.get(&known).await.status, 200, "reading goes on");
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(app.post("/api/v1/studies", "text/plain", LONG).await.status, 201);
}

#[tokio::test]
async fn a_queued_run_begins_once_the_database_is_free() {
    let app = App::with(|config| config.limits.threads = 2);
    let first = app.run(json!({ "text": LONG, "threads": 2 })).await;
    let second = app.run(json!({ "text": FIGURE_4, "threads": 2 })).await;
    app.wait(&first, |run| run["last_step"].as_u64() > Some(5)).await;
    let other = other_program(&app);
    app.post(&format!("/api/v1/runs/{first}/cancel"), "", "").await;
    app.over(&first).await;
    let cancel = app.post(&format!("/api/v1/runs/{second}/cancel"), "", "").await;
    assert_eq!(cancel.status, 503, "it cannot be said for sure");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(app.over(&second).await["state"], "done");
}
