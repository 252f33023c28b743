//! The run on the server that the address names, and the runs before it.

use crate::format;
use crate::icons::{Icon, icon};
use crate::panes::run::{RunView, proof};
use crate::panes::sample::SampleBox;
use crate::run_client::Runs;
use crate::state::Studio;
use crate::widgets::code_words;
use leptos::prelude::*;
use meshwork_wire::api::{Run, RunState};

/// The run on the server, or why there is none.
#[component]
pub fn ServerRun(studio: Studio, runs: Runs) -> impl IntoView {
    view! {
        <div class="pane-server">
            {move || runs.trouble.get().map(|t| view! {
                <div class="trouble" role="alert">
                    {icon(Icon::Error)}
                    <p>{code_words(&t.message())}</p>
                    <button class="quiet small" on:click=move |_| runs.trouble.set(None)>"Dismiss"</button>
                </div>
            })}
            <Show when=move || runs.there.with(Option::is_some)>
                <There studio=studio runs=runs />
            </Show>
        </div>
    }
}

/// The runs before.
#[component]
pub fn PastRuns(studio: Studio, runs: Runs) -> impl IntoView {
    leptos::task::spawn_local(runs.refresh_past());
    view! {
        <section class="pane pane-past" aria-labelledby="past-head">
            <header class="pane-head">
                <h2 id="past-head">"Runs on the server"</h2>
            </header>
            <Past studio=studio runs=runs />
        </section>
    }
}

#[component]
fn There(studio: Studio, runs: Runs) -> impl IntoView {
    let log = Signal::derive(move || runs.there_log.get().unwrap_or_default());
    let run = move || runs.there.get();
    let is_over = move || log.with(|l| l.end.is_some()) || run().is_some_and(|r| r.state.is_over());
    let is_edited = move || run().is_some_and(|r| studio.text.with(|t| *t != r.text));
    let reopen = move |_: web_sys::MouseEvent| {
        if let Some(run) = runs.there.get_untracked() {
            studio.change(|_| run.text);
        }
    };
    view! {
        <div class="run-log">
            <div class="run-title-line">
                <h3 class="run-title">{move || run().map(|r| format!("Run {} on the server", short(&r.id)))}</h3>
                <Show when=move || !is_over()>
                    <button class="quiet small" on:click=move |_| runs.cancel_there()>
                        {icon(Icon::Stop)}
                        <span>"Stop"</span>
                    </button>
                </Show>
                <button
                    class="quiet small"
                    on:click=move |_| runs.show(None, &studio.text.get_untracked())
                >
                    "Close"
                </button>
            </div>
            <p class="muted">{move || run().map(|r| about(&r))}</p>
            <Show when=is_edited>
                <p class="note">
                    "The study here differs from the one that runs. "
                    <button class="inline" on:click=reopen>"Open the run’s study"</button>
                </p>
            </Show>
            <RunView log=log label="on the server" />
            {move || log.with(proof)}
            <SampleBox
                log=log
                written=runs.sample_there
                on_ask=Callback::new(move |request| runs.sample_there(request))
            />
        </div>
    }
}

/// `started 12:00 · 2 threads · iris`
fn about(run: &Run) -> String {
    let mut parts = vec![format!("asked for {}", moment(&run.created))];
    parts.push(format::plural(run.threads, "thread"));
    if let Some(data) = &run.data {
        parts.push(format!("data {}", data.split('@').next().unwrap_or(data)));
    }
    if run.restarts > 0 {
        parts.push("begun again after a restart of the server".to_owned());
    }
    parts.join(" · ")
}

/// `2026-01-31T12:00:00.000Z` as `2026-01-31 12:00`.
fn moment(time: &str) -> String {
    let minutes = time.get(..16).unwrap_or(time);
    format!("{} UTC", minutes.replace('T', " "))
}

#[component]
fn Past(studio: Studio, runs: Runs) -> impl IntoView {
    let open = move |run: Run| {
        let text = run.text.clone();
        runs.show(Some(&run), &text);
        studio.change(|_| text);
    };
    view! {
        {move || match runs.past.get() {
            None => view! { <p class="empty">"Asking the server for its runs…"</p> }.into_any(),
            Some(Err(_)) if runs.trouble.with(Option::is_some) => ().into_any(),
            Some(Err(trouble)) => view! { <p class="empty">{code_words(&trouble.message())}</p> }.into_any(),
            Some(Ok(list)) if list.is_empty() => view! {
                <p class="empty">
                    "No runs yet. A run on the server has its own address and outlives this page."
                </p>
            }.into_any(),
            Some(Ok(list)) => view! {
                <ul class="past" aria-label="Runs on the server, newest first">
                    {list.into_iter().map(|run| {
                        let id = run.id.clone();
                        let is_it = move || runs.id.with(|now| now.as_deref() == Some(&id)).to_string();
                        let target = run.clone();
                        view! {
                            <li>
                                <button class="past-run" aria-current=is_it on:click=move |_| open(target.clone())>
                                    <span class=format!("state state-{}", run.state.name())>
                                        {icon(symbol(run.state))}
                                        {run.state.name()}
                                    </span>
                                    <span class="mono">{short(&run.id)}</span>
                                    <span class="muted">{moment(&run.created)}</span>
                                    <span class="number">{run.last_loss.map(|l| format!("loss {}", format::number(l)))}</span>
                                </button>
                            </li>
                        }
                    }).collect_view()}
                </ul>
            }.into_any(),
        }}
    }
}

const fn symbol(state: RunState) -> Icon {
    match state {
        RunState::Queued => Icon::Down,
        RunState::Running => Icon::Play,
        RunState::Done => Icon::Check,
        RunState::Cancelled => Icon::Stop,
        RunState::Diverged | RunState::Failed => Icon::Error,
    }
}

fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn times_are_told_to_the_minute() {
        assert_eq!(moment("2026-01-31T12:34:56.789Z"), "2026-01-31 12:34 UTC");
        assert_eq!(moment("soon"), "soon UTC");
    }
}
