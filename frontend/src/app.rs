//! The page: head, panes, the tabs of narrow screens, the tip at the pointer, keys that work
//! everywhere.

use crate::icons::{Icon, icon};
use crate::panes::collectives::Collectives;
use crate::panes::costs::Costs;
use crate::panes::data::Data;
use crate::panes::editor::Editor;
use crate::panes::examples::{ExamplesMenu, Introduction};
use crate::panes::help::Help;
use crate::panes::layout::LayoutEditor;
use crate::panes::mesh::MeshEditor;
use crate::panes::messages::Messages;
use crate::panes::pipeline::Pipeline;
use crate::panes::processor::Processors;
use crate::panes::run::RunPanel;
use crate::panes::server_run::{PastRuns, ServerRun};
use crate::panes::tensors::Tensors;
use crate::pick::{self, Tip};
use crate::run_client::Runs;
use crate::share::CopyLink;
use crate::state::{LayoutAs, Studio, Tab, Theme, View};
use crate::{address, theme};
use leptos::ev;
use leptos::prelude::*;
use meshwork_engine::examples;
use std::collections::BTreeSet;
use wasm_bindgen::JsCast as _;

/// The example an empty start opens.
const FIRST: &str = "figure-4";

fn first_text() -> String {
    examples::find(FIRST).map_or(String::new(), |e| e.text.to_owned())
}

fn view_at_start(asked: &address::Asked) -> View {
    let is_run = asked.run.is_some();
    View {
        picked: None,
        hovered: None,
        tensors: Vec::new(),
        collective: None,
        phase: None,
        derived: false,
        tables: BTreeSet::new(),
        layout: if is_narrow() { LayoutAs::Menus } else { LayoutAs::Grid },
        tab: if is_run { Tab::Run } else { Tab::Pictures },
        theme: theme::remembered(),
        intro: theme::is_newcomer() && !is_run && asked.text.is_none(),
        help: false,
        notice: asked.problem.clone(),
    }
}

/// Whether the screen is too narrow for a grid of many mesh dimensions.
fn is_narrow() -> bool {
    let width = window().inner_width().ok().and_then(|w| w.as_f64());
    width.is_some_and(|w| w < 480.0)
}

/// The studio; `worker` is the address of the script that runs studies.
#[component]
pub fn App(worker: String) -> impl IntoView {
    let asked = address::read();
    let text = asked.text.clone().unwrap_or_else(first_text);
    let view = view_at_start(&asked);
    let studio = Studio::new(text, view);
    let runs = Runs::new(worker, &asked);
    let tip = RwSignal::new(None::<Tip>);
    provide_context(studio);
    provide_context(theme::Screen::watched(studio));
    if asked.text.is_none() && asked.stored.is_some() {
        address::open(studio, runs.id, asked);
    }
    runs.follow(studio);
    address::sync(studio, runs.id);
    pick::light(studio);
    crate::bench::offer(studio);
    let themed = studio.watch(|v| v.theme);
    Effect::new(move |_| theme::apply(themed.get()));
    window_event_listener(ev::keydown, move |ev| shortcut(studio, &ev));
    window_event_listener(ev::scroll, move |_| tip.set(None));

    let tab = studio.watch(|v| v.tab);
    let stale = Memo::new(move |_| studio.shown.with(|s| s.stale));
    view! {
        <div
            class="app"
            data-tab=move || tab_name(tab.get())
            on:pointerover=move |ev| pick::hover(studio, tip, &ev)
            on:pointermove=move |ev| pick::move_over(studio, tip, &ev)
            on:pointerleave=move |ev| pick::hover(studio, tip, &ev)
            on:click=move |ev| pick::click(studio, &ev)
        >
            <a class="skip" href="#study-text" on:click=move |ev| {
                ev.prevent_default();
                studio.view.update(|v| v.tab = Tab::Study);
                request_animation_frame(focus_text);
            }>"Skip to the study"</a>
            <Head studio=studio runs=runs />
            <Notice studio=studio />
            <main>
                <div class="column column-study">
                    <Editor studio=studio />
                    <Messages studio=studio />
                    <MeshEditor studio=studio />
                    <LayoutEditor studio=studio />
                </div>
                <div class="column column-pictures">
                    <Introduction studio=studio />
                    <Show when=move || stale.get()>
                        <p class="stale-note" role="status">
                            "The text is being changed; this is the last study that could be read."
                        </p>
                    </Show>
                    <div class="stale-zone" class:stale=move || stale.get()>
                        <Processors studio=studio />
                        <Pipeline studio=studio runs=runs />
                        <Tensors studio=studio />
                    </div>
                </div>
                <div class="column column-results">
                    <div class="results-costs stale-zone" class:stale=move || stale.get()>
                        <Costs studio=studio />
                    </div>
                    <div class="results-run">
                        <RunPanel studio=studio runs=runs />
                        <ServerRun studio=studio runs=runs />
                    </div>
                    <div class="results-costs stale-zone" class:stale=move || stale.get()>
                        <Collectives studio=studio />
                    </div>
                    <div class="results-run">
                        <Data studio=studio />
                        <PastRuns studio=studio runs=runs />
                    </div>
                </div>
            </main>
            <Tabs studio=studio />
            <Help studio=studio />
            <Float tip=tip />
        </div>
    }
}

#[component]
fn Head(studio: Studio, runs: Runs) -> impl IntoView {
    let themed = studio.watch(|v| v.theme);
    let next = move || match themed.get() {
        Theme::System => (Theme::Light, Icon::System, "as the system"),
        Theme::Light => (Theme::Dark, Icon::Sun, "light"),
        Theme::Dark => (Theme::System, Icon::Moon, "dark"),
    };
    view! {
        <header class="app-head">
            <h1>
                <a
                    href="/"
                    class="brand"
                    on:click=move |ev| {
                        ev.prevent_default();
                        runs.show(None, &studio.text.get_untracked());
                        studio.view.update(|v| v.intro = true);
                        theme::remember_intro(true);
                    }
                >
                    <svg class="logo" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
                        <rect x="2" y="2" width="13" height="13" rx="3" />
                        <rect x="17" y="2" width="13" height="13" rx="3" />
                        <rect x="2" y="17" width="13" height="13" rx="3" />
                        <rect x="17" y="17" width="13" height="13" rx="3" />
                    </svg>
                    <span>"Meshwork"</span>
                </a>
            </h1>
            <ExamplesMenu studio=studio />
            <div class="head-space"></div>
            <CopyLink studio=studio />
            <button
                class="tool"
                aria-label=move || format!("Theme: {}", next().2)
                data-tip=move || format!("Theme: {}", next().2)
                on:click=move |_| {
                    let to = next().0;
                    studio.view.update(|v| v.theme = to);
                }
            >
                {move || icon(next().1)}
            </button>
            <button
                class="tool"
                aria-label="Reference"
                data-tip="Reference of the study language"
                on:click=move |_| studio.view.update(|v| v.help = true)
            >
                {icon(Icon::Help)}
            </button>
        </header>
    }
}

#[component]
fn Notice(studio: Studio) -> impl IntoView {
    let notice = studio.watch(|v| v.notice.clone());
    view! {
        {move || notice.get().map(|text| view! {
            <div class="notice" role="alert">
                {icon(Icon::Warning)}
                <p>{text}</p>
                <button class="tool" aria-label="Dismiss" on:click=move |_| studio.view.update(|v| v.notice = None)>
                    {icon(Icon::Close)}
                </button>
            </div>
        })}
    }
}

const TABS: [(Tab, &str); 4] =
    [(Tab::Study, "Study"), (Tab::Pictures, "Pictures"), (Tab::Costs, "Costs"), (Tab::Run, "Run")];

fn tab_name(tab: Tab) -> String {
    let found = TABS.iter().find(|(t, _)| *t == tab);
    found.map_or(String::new(), |(_, name)| name.to_lowercase())
}

#[component]
fn Tabs(studio: Studio) -> impl IntoView {
    let now = studio.watch(|v| v.tab);
    let errors = Memo::new(move |_| {
        studio.study.with(|s| s.diagnostics().iter().filter(|d| d.is_error()).count())
    });
    view! {
        <nav class="tabs" aria-label="Parts of the studio">
            {TABS.map(|(tab, name)| view! {
                <button
                    aria-current=move || (now.get() == tab).to_string()
                    on:click=move |_| studio.view.update(|v| v.tab = tab)
                >
                    {name}
                    {(tab == Tab::Study).then(|| view! {
                        <Show when=move || { errors.get() > 0 }>
                            <span class="tab-errors">
                                {move || errors.get()}
                                <span class="visually-hidden">" errors"</span>
                            </span>
                        </Show>
                    })}
                </button>
            }).into_iter().collect_view()}
        </nav>
    }
}

#[component]
fn Float(tip: RwSignal<Option<Tip>>) -> impl IntoView {
    // to the left of the pointer in the right half of the window, above it in the lower
    let place = move |t: &Tip| {
        let size =
            |v: Result<wasm_bindgen::JsValue, _>| v.ok().and_then(|v| v.as_f64()).unwrap_or(0.0);
        let (w, h) = (size(window().inner_width()), size(window().inner_height()));
        let dx = if t.x > w * 0.6 { "calc(-100% - 12px)" } else { "12px" };
        let dy = if t.y > h * 0.7 { "calc(-100% - 10px)" } else { "16px" };
        format!("translate({:.0}px, {:.0}px) translate({dx}, {dy})", t.x, t.y)
    };
    view! {
        {move || tip.get().map(|t| view! {
            <div class="tip" aria-hidden="true" style:transform=place(&t)>{t.text.clone()}</div>
        })}
    }
}

/// Undo and redo from anywhere but a field that has its own.
fn shortcut(studio: Studio, ev: &web_sys::KeyboardEvent) {
    if !(ev.ctrl_key() || ev.meta_key()) || ev.alt_key() {
        return;
    }
    let own = ev.target().is_some_and(|t| t.has_type::<web_sys::HtmlInputElement>());
    match ev.key().to_ascii_lowercase().as_str() {
        "z" if !own => {
            ev.prevent_default();
            if ev.shift_key() { studio.redo() } else { studio.undo() }
        }
        "y" if !own => {
            ev.prevent_default();
            studio.redo();
        }
        _ => {}
    }
}

fn focus_text() {
    let area = document().get_element_by_id("study-text");
    if let Some(area) = area.and_then(|e| e.dyn_into::<web_sys::HtmlElement>().ok()) {
        // a shown textarea takes the focus
        drop(area.focus());
    }
}
