//! The studio: Meshwork in the browser.
//!
//! One WASM module serves the page and the worker that runs studies: the page calls [`start`],
//! `static/worker.js` calls [`worker_main`]. Files stand in reading order; `state.rs` says how
//! everything follows from the text and the view state.

#![expect(
    missing_docs,
    clippy::needless_pass_by_value,
    clippy::same_name_method,
    reason = "the component macro makes types and methods of its own, and owns its props"
)]

pub mod history;
pub mod format;
pub mod highlight;
pub mod icons;
pub mod download;
pub mod strokes;
pub mod draw;
pub mod state;
pub mod theme;
pub mod widgets;
pub mod what_if;
pub mod pick;
pub mod picture;
pub mod chart;
pub mod sight;
pub mod api;
pub mod worker;
pub mod run_client;
pub mod address;
pub mod share;
pub mod bench;
pub mod panes;
pub mod app;

use leptos::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;

/// Shows the studio in the page. `worker` is the address of the script that runs studies.
#[wasm_bindgen]
pub fn start(worker: String) {
    console_error_panic_hook::set_once();
    mount_to_body(move || view! { <app::App worker=worker /> });
}

/// Makes the worker ready for the page's messages.
#[wasm_bindgen]
pub fn worker_main() {
    console_error_panic_hook::set_once();
    worker::listen();
}
