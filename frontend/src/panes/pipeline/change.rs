//! Controls of the `pipeline` line: schedule, micro-batches, stages per cell, re-materialization.
//! What may be chosen, and why something may not, the engine says.

use super::Look;
use crate::icons::{Icon, icon};
use crate::state::Studio;
use crate::widgets::Stepper;
use leptos::prelude::*;
use meshwork_engine::pipeline::recompute::Remat;
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::staging::change::{Change, Choice};

/// What each kind of re-materialization means.
const REMATS: [(Remat, &str); 3] = [
    (Remat::Never, "off: keep them"),
    (Remat::Always, "on: compute again"),
    (Remat::ExceptLast, "except_last: not the last"),
];

/// Changes the text as the engine says.
pub(super) fn apply(studio: Studio, look: Memo<Option<Look>>, change: &Change) {
    if let Some(look) = look.get_untracked() {
        studio.change(|text| look.changed(text, change));
    }
}

/// The controls.
#[component]
pub fn Controls(studio: Studio, look: Memo<Option<Look>>) -> impl IntoView {
    let number = move |of: fn(&Look) -> u32| {
        Memo::new(move |_| look.with(|l| u64::from(l.as_ref().map_or(1, of))))
    };
    let micro_batches = number(|l| l.asked());
    let chunks = number(|l| l.extent().chunks);
    let has_chunks = Memo::new(move |_| {
        look.with(|l| l.as_ref().is_some_and(|l| l.schedule().default_chunks() > 1))
    });
    view! {
        <div class="pipeline-controls">
            <ScheduleMenu studio=studio look=look />
            <span class="control">
                <span aria-hidden="true">"Micro-batches"</span>
                <Stepper
                    label="Micro-batches"
                    value=micro_batches
                    doubling=true
                    on_change=Callback::new(move |n| apply(studio, look, &Change::MicroBatches(n)))
                />
            </span>
            <Show when=move || has_chunks.get()>
                <span class="control">
                    <span aria-hidden="true">"Stages per cell"</span>
                    <Stepper
                        label="Stages per cell"
                        value=chunks
                        on_change=Callback::new(move |n| apply(studio, look, &Change::Chunks(n)))
                    />
                </span>
            </Show>
            <RematMenu studio=studio look=look />
        </div>
        <Schedules studio=studio look=look />
    }
}

fn choices(look: Memo<Option<Look>>) -> Memo<Vec<Choice>> {
    Memo::new(move |_| look.with(|l| l.as_ref().map(|l| l.choices()).unwrap_or_default()))
}

fn now(look: Memo<Option<Look>>) -> Memo<Option<Schedule>> {
    Memo::new(move |_| look.with(|l| l.as_ref().map(|l| l.schedule())))
}

#[component]
fn ScheduleMenu(studio: Studio, look: Memo<Option<Look>>) -> impl IntoView {
    let (choices, now) = (choices(look), now(look));
    let pick = move |ev: web_sys::Event| {
        if let Some(schedule) = Schedule::named(&event_target_value(&ev)) {
            apply(studio, look, &Change::Schedule(schedule));
        }
    };
    view! {
        <label class="control">
            <span>"Schedule"</span>
            <select on:change=pick>
                {move || {
                    let now = now.get();
                    choices
                        .get()
                        .into_iter()
                        .map(|Choice { schedule, why_not, .. }| {
                            let name = schedule.name();
                            let is_legal = why_not.is_none();
                            let words = if is_legal {
                                name.to_owned()
                            } else {
                                format!("✕ {name} (does not fit)")
                            };
                            view! {
                                <option value=name selected=now == Some(schedule) disabled=!is_legal>
                                    {words}
                                </option>
                            }
                        })
                        .collect_view()
                }}
            </select>
        </label>
    }
}

#[component]
fn RematMenu(studio: Studio, look: Memo<Option<Look>>) -> impl IntoView {
    let now = Memo::new(move |_| look.with(|l| l.as_ref().map(|l| l.remat())));
    let pick = move |ev: web_sys::Event| {
        let word = event_target_value(&ev);
        if let Some(&(remat, _)) = Remat::ALL.iter().find(|(_, name)| *name == word) {
            apply(studio, look, &Change::Remat(remat));
        }
    };
    let name = |remat| Remat::ALL.iter().find(|(r, _)| *r == remat).map_or("", |(_, name)| name);
    view! {
        <label class="control">
            <span>"Activations (remat)"</span>
            <select on:change=pick>
                {move || REMATS
                    .map(|(remat, words)| view! {
                        <option value=name(remat) selected=now.get() == Some(remat)>{words}</option>
                    })
                    .into_iter()
                    .collect_view()}
            </select>
        </label>
    }
}

/// Every schedule with what it does, and why it does not go with the numbers there are.
#[component]
fn Schedules(studio: Studio, look: Memo<Option<Look>>) -> impl IntoView {
    let (choices, now) = (choices(look), now(look));
    let row = move |Choice { schedule, why_not, .. }: Choice| {
        let is_now = now.get() == Some(schedule);
        let verdict = match why_not {
            Some(why) => view! {
                <span class="schedule-why">{icon(Icon::Close)} <span>{why}</span></span>
            }
            .into_any(),
            None if is_now => {
                view! { <span class="schedule-now">{icon(Icon::Check)} "chosen"</span> }.into_any()
            }
            None => view! {
                <button
                    class="quiet small"
                    aria-label=format!("Take the schedule {}", schedule.name())
                    on:click=move |_| apply(studio, look, &Change::Schedule(schedule))
                >
                    "Take it"
                </button>
            }
            .into_any(),
        };
        view! {
            <li>
                <code>{schedule.name()}</code>
                <span class="muted">{format!("{} ({})", schedule.sentence(), schedule.source())}</span>
                {verdict}
            </li>
        }
    };
    view! {
        <details class="schedules">
            <summary>"What each schedule does, and which fit"</summary>
            <ul>{move || choices.get().into_iter().map(row).collect_view()}</ul>
        </details>
    }
}
