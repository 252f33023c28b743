//! `window.meshworkBench()`: how long a click takes on a mesh of 64 processors, and how fast the
//! engine trains in this browser. Called by `cargo xtask bench`; resolves to JSON.
//!
//! A click is a click on a cell of the layout grid, with the pictures scrolled into view and all
//! that the click before left to do done. It happens as a frame begins, so that no waiting for the
//! screen is counted, and its time ends with the first task after that frame: by then the page has
//! resolved the text, changed text, grid and pictures in view, and was styled, laid out and
//! painted. Costs and collectives follow in a frame of their own, which is timed likewise. Left
//! out are the compositor's threads, which put the painted page on the screen, and what follows
//! later: pictures out of sight, and what other cells of the grid would lead to.

use crate::state::{LayoutAs, Studio, Tab};
use leptos::prelude::*;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::gauge::{CLICKED, PLANNED, Product, QUARTER};
use meshwork_engine::session::Session;
use meshwork_engine::study::Study;
use serde::Serialize;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, future_to_promise};
use web_sys::{HtmlElement, MessageChannel, Performance};

/// The cell that is clicked. With it `h` has 64 slices, without it 8.
const CELL: &str = "[role=gridcell][aria-label^='hidden over cols:']";
/// Clicks measured.
const CLICKS: usize = 41;
/// After so many milliseconds a click has left nothing to do.
const SETTLE_MS: i32 = 400;
/// Training is measured for this long, in milliseconds.
const TRAIN_MS: f64 = 1500.0;

/// What was measured.
#[derive(Serialize)]
struct Timings {
    /// Text to study, milliseconds.
    resolve_ms: f64,
    /// Resolving, lowering and tallying a Transformer of 48 layers on 512 processors, milliseconds.
    planning_ms: f64,
    /// The best product of 512³, in billions of operations per second.
    product_512_gflop_per_second: f64,
    /// A click until text, grid and pictures in view are painted, resolving included, milliseconds.
    redraw_ms: f64,
    /// The slowest of the clicks.
    redraw_worst_ms: f64,
    /// The frame after, in which costs and collectives follow, milliseconds.
    follow_ms: f64,
    /// The slowest of those.
    follow_worst_ms: f64,
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
    let resolve = (0..CLICKS).map(|_| {
        let begun = now();
        let study = Study::new(CLICKED);
        let took = now() - begun;
        drop(study);
        took
    });
    let resolve = resolve.collect();
    let (redraw, follow) = clicks(studio, &clock).await?;
    let study = Study::new(QUARTER);
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
    let planned = Study::new(PLANNED);
    let time = |work: &mut dyn FnMut()| {
        let begun = now();
        work();
        now() - begun
    };
    let planning = (0..CLICKS).map(|_| time(&mut || drop(planned.replan()))).collect();
    let mut product = Product::new(512).ok_or("no product")?;
    let least =
        (0..CLICKS).map(|_| time(&mut || product.run(&Alone))).fold(f64::INFINITY, f64::min);
    let timings = Timings {
        planning_ms: median(planning),
        product_512_gflop_per_second: product.flops() / least / 1e6,
        resolve_ms: median(resolve),
        redraw_worst_ms: worst(&redraw),
        redraw_ms: median(redraw),
        follow_worst_ms: worst(&follow),
        follow_ms: median(follow),
        steps_per_second,
        gflop_per_second: steps_per_second * flops / 1e9,
    };
    serde_json::to_string(&timings).map(JsValue::from).map_err(|e| JsValue::from(e.to_string()))
}

/// The times of clicks and of the frames that follow them, in milliseconds. The studio is then as
/// it was before.
async fn clicks(studio: Studio, clock: &Performance) -> Result<(Vec<f64>, Vec<f64>), JsValue> {
    let text = studio.text.get_untracked();
    let view = studio.view.get_untracked();
    studio.change(|_| CLICKED.to_owned());
    studio.view.update(|v| {
        v.layout = LayoutAs::Grid;
        v.tab = Tab::Pictures;
        v.intro = false;
        v.tables.clear();
    });
    wait(SETTLE_MS).await?;
    let pictures = document().query_selector(".pane-tensors")?.ok_or("no pictures")?;
    pictures.scroll_into_view();
    let (mut redraw, mut follow) = (Vec::new(), Vec::new());
    for _ in 0..CLICKS {
        wait(SETTLE_MS).await?;
        let cell = document().query_selector(CELL)?.ok_or("no cell to click")?;
        let cell: HtmlElement = cell.unchecked_into();
        let (this, next) = click(cell, clock).await?;
        redraw.push(this);
        follow.push(next);
    }
    studio.change(|_| text);
    studio.view.set(view);
    Ok((redraw, follow))
}

/// Clicks as a frame begins; the milliseconds until that frame is painted, and those of the frame
/// in which the rest follows.
async fn click(cell: HtmlElement, clock: &Performance) -> Result<(f64, f64), JsValue> {
    let (redraw, begin) = frame(clock)?;
    let (follow, begin_following) = frame(clock)?;
    request_animation_frame(move || {
        // before the click: what the studio asks for then comes later within the same frames
        request_animation_frame(move || request_animation_frame(begin_following));
        begin();
        cell.click();
    });
    Ok((milliseconds(redraw).await?, milliseconds(follow).await?))
}

/// The time of a frame: a promise of it, and what is to be called as the frame begins.
fn frame(clock: &Performance) -> Result<(js_sys::Promise, impl FnOnce() + use<>), JsValue> {
    let channel = MessageChannel::new()?;
    let mut resolve = None;
    let ended = js_sys::Promise::new(&mut |done, _| resolve = Some(done));
    let clock = clock.clone();
    let begin = move || {
        let begun = clock.now();
        let end = Closure::once_into_js(move || {
            // a promise takes any value
            resolve.map(|r| r.call1(&JsValue::NULL, &(clock.now() - begun).into()));
        });
        channel.port1().set_onmessage(Some(end.unchecked_ref()));
        // a message is a task of its own: it is heard when the frame is over
        drop(channel.port2().post_message(&JsValue::NULL));
    };
    Ok((ended, begin))
}

async fn milliseconds(time: js_sys::Promise) -> Result<f64, JsValue> {
    JsFuture::from(time).await?.as_f64().ok_or_else(|| "no time".into())
}

async fn wait(milliseconds: i32) -> Result<JsValue, JsValue> {
    let over = js_sys::Promise::new(&mut |resolve, _| {
        // a window that takes no timer leaves the promise open; there is none
        drop(
            window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, milliseconds),
        );
    });
    JsFuture::from(over).await
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

fn worst(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}
