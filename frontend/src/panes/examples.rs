//! The examples: a menu in the head of the page, and the introduction with all of them that a
//! newcomer sees first.

use crate::icons::{Icon, icon};
use crate::state::{Studio, Tab};
use crate::theme;
use leptos::html::Button;
use leptos::prelude::*;
use meshwork_engine::examples::{ALL, Example};

fn open(studio: Studio, example: &Example) {
    let text = example.text.to_owned();
    studio.change(|_| text);
    studio.view.update(|v| {
        v.picked = None;
        v.collective = None;
        v.tensors.clear();
        v.notice = None;
    });
}

/// The menu of examples.
#[component]
pub fn ExamplesMenu(studio: Studio) -> impl IntoView {
    let is_open = RwSignal::new(false);
    // a closed menu does not follow the text
    let now = move |e: &'static Example| is_open.get() && studio.text.with(|t| t == e.text);
    let close = move || is_open.set(false);
    let button = NodeRef::<Button>::new();
    let escape = move || {
        if is_open.get_untracked()
            && let Some(button) = button.get_untracked()
        {
            close();
            // a shown button takes the focus
            drop(button.focus());
        }
    };
    view! {
        <div
            class="menu"
            on:keydown=move |ev| if ev.key() == "Escape" { escape() }
            on:focusout=move |ev| if left(&ev) { close() }
        >
            <button
                class="menu-button"
                node_ref=button
                aria-expanded=move || is_open.get().to_string()
                aria-controls="examples-menu"
                on:click=move |_| is_open.update(|o| *o = !*o)
            >
                <span>"Examples"</span>
                {icon(Icon::Down)}
            </button>
            <ul class="menu-list" id="examples-menu" hidden=move || !is_open.get()>
                {ALL.iter().map(|e| view! {
                    <li>
                        <button
                            aria-current=move || now(e).to_string()
                            on:click=move |_| {
                                open(studio, e);
                                close();
                            }
                        >
                            <strong>{e.title}</strong>
                            <span>{e.about}</span>
                        </button>
                    </li>
                }).collect_view()}
            </ul>
        </div>
    }
}

/// Whether the focus goes out of the element that listens.
fn left(ev: &web_sys::FocusEvent) -> bool {
    use wasm_bindgen::JsCast as _;
    let around = ev.current_target().and_then(|t| t.dyn_into::<web_sys::Node>().ok());
    let to = ev.related_target().and_then(|t| t.dyn_into::<web_sys::Node>().ok());
    around.is_some_and(|a| !a.contains(to.as_ref()))
}

/// What Meshwork is, with the examples to begin with.
#[component]
pub fn Introduction(studio: Studio) -> impl IntoView {
    let is_open = studio.watch(|v| v.intro);
    let now = move |e: &'static Example| studio.text.with(|t| t == e.text);
    view! {
        <Show when=move || is_open.get()>
            <section class="intro" aria-labelledby="intro-head">
                <header>
                    <h2 id="intro-head">"If I cut it like this, what happens?"</h2>
                    <button
                        class="tool"
                        aria-label="Close the introduction"
                        on:click=move |_| {
                            studio.view.update(|v| v.intro = false);
                            theme::remember_intro(false);
                        }
                    >
                        {icon(Icon::Close)}
                    </button>
                </header>
                <p>
                    "A network too large for one processor is cut over a " <em>"mesh"</em>
                    " of many. " <em>"Layout rules"</em>
                    " send dimensions of its tensors to dimensions of the mesh. Meshwork shows which \
                     processor holds which slice, what they must tell each other and why, and what \
                     it costs; then it trains the network here and checks its own predictions."
                </p>
                <ul class="intro-examples" aria-label="Examples to begin with">
                    {ALL.iter().map(|e| view! {
                        <li>
                            <button
                                aria-current=move || now(e).to_string()
                                on:click=move |_| {
                                    open(studio, e);
                                    studio.view.update(|v| v.tab = Tab::Pictures);
                                }
                            >
                                <strong>{e.title}</strong>
                                <span>{e.about}</span>
                            </button>
                        </li>
                    }).collect_view()}
                </ul>
            </section>
        </Show>
    }
}
