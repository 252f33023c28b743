//! The collectives of one step with their reasons; picking one frames the tensors it carries.

use crate::format;
use crate::state::Studio;
use crate::widgets::code_words;
use leptos::prelude::*;
use meshwork_engine::study::CollectiveInfo;
use wasm_bindgen::JsCast as _;
use web_sys::{ScrollBehavior, ScrollIntoViewOptions, ScrollLogicalPosition};

const PHASES: [&str; 3] = ["forward", "backward", "update"];
/// Longer lists are cut.
const MOST: usize = 300;

/// The list of collectives.
#[component]
pub fn Collectives(studio: Studio) -> impl IntoView {
    let phase = studio.watch(|v| v.phase);
    let count = move |of: Option<&str>| {
        studio
            .collectives
            .with(|all| all.iter().filter(|c| of.is_none_or(|p| c.phase.name() == p)).count())
    };
    let has_program = move || studio.told.with(|s| s.study.totals().is_some());
    let listed = Memo::new(move |_| {
        let phase = phase.get();
        studio.collectives.with(|all| {
            let all = all.iter().enumerate();
            let kept = all.filter(|(_, c)| phase.is_none_or(|p| c.phase.name() == p));
            kept.take(MOST).map(|(i, _)| i).collect::<Vec<_>>()
        })
    });
    view! {
        <section class="pane pane-collectives" aria-labelledby="collectives-head">
            <header class="pane-head">
                <h2 id="collectives-head">"Collectives"</h2>
                <span class="pane-fact">"one step"</span>
            </header>
            <Show when=move || { count(None) > 0 }>
                <div class="segments" role="group" aria-label="Phase">
                    <PhaseButton studio=studio phase=None label="all" count=Signal::derive(move || count(None)) />
                    {PHASES.map(|p| view! {
                        <PhaseButton studio=studio phase=Some(p) label=p count=Signal::derive(move || count(Some(p))) />
                    }).into_iter().collect_view()}
                </div>
            </Show>
            <Show
                when=move || { count(None) > 0 }
                fallback=move || view! {
                    <p class="empty">
                        {move || if has_program() {
                            "None: no processor needs anything from another."
                        } else {
                            "They appear as soon as the study has no errors."
                        }}
                    </p>
                }
            >
                <ol class="collective-list">
                    <For each=move || listed.get() key=|&i| i let:i>
                        <Row studio=studio i=i />
                    </For>
                </ol>
            </Show>
        </section>
    }
}

#[component]
fn PhaseButton(
    studio: Studio,
    phase: Option<&'static str>,
    label: &'static str,
    count: Signal<usize>,
) -> impl IntoView {
    let now = studio.watch(|v| v.phase);
    view! {
        <button
            aria-pressed=move || (now.get() == phase).to_string()
            on:click=move |_| studio.view.update(|v| v.phase = phase)
        >
            {label}
            <span class="count">{count}</span>
        </button>
    }
}

/// The collective at one place of the list. The row stays while what stands there changes.
#[component]
fn Row(studio: Studio, i: usize) -> impl IntoView {
    let picked = studio.watch(move |v| v.collective == Some(i));
    let what = Memo::new(move |_| studio.collectives.with(|all| all.get(i).cloned()));
    let part = move |of: fn(&CollectiveInfo) -> String| {
        Memo::new(move |_| what.with(|c| c.as_ref().map(of).unwrap_or_default()))
    };
    let kind = part(|c| c.kind.name().to_owned());
    let tensors = part(|c| names(c).join(", "));
    let sent = part(|c| format::bytes(c.sent_bytes_per_processor));
    let exact = part(|c| {
        format!(
            "{} bytes sent by each processor in a step, in {}; its slice has {} bytes",
            format::exact(c.sent_bytes_per_processor),
            if c.times == 1 { "one message".to_owned() } else { format!("{} messages", c.times) },
            format::exact(c.slice_bytes as f64)
        )
    });
    let phase = part(|c| match c.times {
        1 => c.phase.name().to_owned(),
        times => format!("{} ×{times}", c.phase.name()),
    });
    let why = part(|c| c.why.clone());
    let over = Memo::new(move |_| {
        let axes = what.with(|c| c.as_ref().map(|c| c.axes.clone()).unwrap_or_default());
        studio.told.with(|s| s.study.mesh().names(&axes))
    });
    let pick = move |_: web_sys::MouseEvent| {
        let on = !picked.get_untracked();
        let names = what.with_untracked(|c| c.as_ref().map(names).unwrap_or_default());
        let first = names.first().cloned();
        studio.view.update(|v| {
            v.collective = on.then_some(i);
            v.tensors = if on { names } else { Vec::new() };
            // gradients are shown when they are asked for
            if v.tensors.iter().any(|n| n.contains('/')) {
                v.derived = true;
            }
        });
        if on && let Some(first) = first {
            request_animation_frame(move || show_card(&first));
        }
    };
    view! {
        <li>
            <button class="collective" aria-pressed=move || picked.get().to_string() on:click=pick>
                <span class="collective-line">
                    <span class="kind">{move || title(&kind.get())}</span>
                    <span class="mono">{tensors}</span>
                    <span class="muted">"over " <span class="mono">{over}</span></span>
                    <span class="number" data-tip=exact>{sent}</span>
                </span>
                <span class="collective-why">
                    <span class="phase">{phase}</span>
                    {move || code_words(&why.get())}
                </span>
            </button>
        </li>
    }
}

fn names(c: &CollectiveInfo) -> Vec<String> {
    c.tensors.iter().map(ToString::to_string).collect()
}

/// `allreduce` as the paper writes it: `Allreduce`.
fn title(kind: &str) -> String {
    let mut letters = kind.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

/// Brings the card of a tensor into view.
fn show_card(name: &str) {
    let Some(card) = document().get_element_by_id(&format!("tensor-{name}")) else { return };
    let options = ScrollIntoViewOptions::new();
    options.set_block(ScrollLogicalPosition::Nearest);
    let calm = window().match_media("(prefers-reduced-motion: reduce)").ok().flatten();
    if !calm.is_some_and(|m| m.matches()) {
        options.set_behavior(ScrollBehavior::Smooth);
    }
    card.unchecked_into::<web_sys::HtmlElement>()
        .scroll_into_view_with_scroll_into_view_options(&options);
}
