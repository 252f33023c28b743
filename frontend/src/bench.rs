//! `window.meshworkBench()`: how long a click takes on a mesh of 64 processors, and how fast the
//! engine trains in this browser. Called by `cargo xtask bench`; resolves to JSON.

use crate::state::Studio;
use leptos::prelude::*;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::session::Session;
use meshwork_engine::study::Study;
use serde::Serialize;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, future_to_promise};

/// A mesh of 64 processors; the layout is toggled by the clicks that are measured.
const CLICKED: [&str; 2] = [
    "mesh rows:8 cols:8\nlayout batch:rows hidden:cols\nmodel two_layer batch:64 io:64 hidden:64\n\
     train optimizer:adam rate:0.001 steps:10\n",
    "mesh rows:8 cols:8\nlayout batch:cols hidden:rows\nmodel two_layer batch:64 io:64 hidden:64\n\
     train optimizer:adam rate:0.001 steps:10\n",
];
/// The first benchmark network at a quarter of its size.
const TRAINED: &str = "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\nmodel two_layer \
                       batch:64 io:256 hidden:1024\ntrain optimizer:sgd rate:0.01 steps:1000\n";
/// Clicks measured; the median counts.
const CLICKS: usize = 21;
/// Training is measured for this long, in milliseconds.
const TRAIN_MS: f64 = 1500.0;

/// What was measured.
#[derive(Serialize)]
struct Timings {
    /// Text to study, milliseconds.
    resolve_ms: f64,
    /// Click to the new picture in the document, laid out; includes the resolving.
    redraw_ms: f64,
    /// Training steps per second.
    steps_per_second: f64,
    /// Floating point operations per second of those, in billions.
    gflop_per_second: f64,
}

/// Puts the function into the window.
pub fn offer(studio: Studio) {
    let call = Closure::<dyn FnMut() -> js_sys::Promise>::new(move || {
        future_to_promise(async move { measure(studio).await })
    });
    // the window takes properties
    drop(js_sys::Reflect::set(&window(), &"meshworkBench".into(), call.as_ref().unchecked_ref()));
    call.forget();
}

async fn measure(studio: Studio) -> Result<JsValue, JsValue> {
    let clock = window().performance().ok_or("no clock")?;
    let now = || clock.now();
    let mut resolve = Vec::new();
    let mut redraw = Vec::new();
    for i in 0..CLICKS {
        let text = CLICKED[i % 2];
        let begun = now();
        let study = Study::new(text);
        resolve.push(now() - begun);
        drop(study);
        let begun = now();
        studio.change(|_| text.to_owned());
        // effects run as a task of their own; then the browser lays the page out
        JsFuture::from(js_sys::Promise::resolve(&JsValue::NULL)).await?;
        leptos::task::tick().await;
        if let Some(body) = document().body() {
            let _height = body.offset_height();
        }
        redraw.push(now() - begun);
        breath().await?;
    }
    let study = Study::new(TRAINED);
    let flops =
        study.totals().map_or(0.0, |t| t.flops_per_processor) * study.mesh().processors() as f64;
    let mut session =
        Session::new(&study, None, Alone).map_err(|d| format!("the study does not run: {d:?}"))?;
    session.step();
    let begun = now();
    let mut steps = 0.0;
    while now() - begun < TRAIN_MS {
        session.step();
        steps += 1.0;
    }
    let steps_per_second = steps / ((now() - begun) / 1000.0);
    let timings = Timings {
        resolve_ms: median(resolve),
        redraw_ms: median(redraw),
        steps_per_second,
        gflop_per_second: steps_per_second * flops / 1e9,
    };
    serde_json::to_string(&timings).map(JsValue::from).map_err(|e| JsValue::from(e.to_string()))
}

/// Lets the browser paint.
async fn breath() -> Result<JsValue, JsValue> {
    let wait = js_sys::Promise::new(&mut |resolve, _| {
        // a window that takes no callback leaves the promise open; there is none
        drop(window().request_animation_frame(&resolve));
    });
    JsFuture::from(wait).await
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}
