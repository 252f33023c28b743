//! The studio: Meshwork in the browser.
//!
//! One WASM module serves the page and the worker that runs studies: the page calls [`start`],
//! `static/worker.js` calls [`worker_main`].

use leptos::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;

/// Shows the studio in the page. `worker` is the address of the script that runs studies.
#[wasm_bindgen]
pub fn start(worker: String) {
    console_error_panic_hook::set_once();
    leptos::mount::mount_to_body(move || view! { <App worker=worker /> });
}

/// Makes the worker ready for the page's messages.
#[wasm_bindgen]
pub fn worker_main() {
    console_error_panic_hook::set_once();
}

#[component]
fn App(worker: String) -> impl IntoView {
    view! {
        <main data-worker=worker>
            <h1>"Meshwork"</h1>
        </main>
    }
}
