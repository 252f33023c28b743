//! Runs: here in the browser with its proof, and on the server.

use crate::chart::Chart;
use crate::format;
use crate::icons::{Icon, icon};
use crate::panes::sample::SampleBox;
use crate::run_client::{RunLog, Runs};
use crate::state::Studio;
use crate::widgets::Stepper;
use leptos::prelude::*;
use meshwork_engine::likeness::Likeness;
use meshwork_engine::study::Study;
use meshwork_wire::run::Event;

/// What runs when the study does not say how many steps.
const DEFAULT_STEPS: u64 = 100;

/// The run panel.
#[component]
pub fn RunPanel(studio: Studio, runs: Runs) -> impl IntoView {
    let asked = RwSignal::new(None::<u64>);
    let stated = Memo::new(move |_| studio.study.with(|s| s.train().steps));
    let steps = Memo::new(move |_| match (asked.get(), stated.get()) {
        (None, 0) => DEFAULT_STEPS,
        (Some(n), _) | (None, n) => n,
    });
    // another number in the text counts more than what was asked for before
    Effect::new(move |_| {
        stated.track();
        asked.set(None);
    });
    let can_run = Memo::new(move |_| studio.study.with(|s| s.totals().is_some()));
    let running =
        Memo::new(move |_| runs.here.with(|l| l.as_ref().is_some_and(|l| l.end.is_none())));
    let run_here = move |_: web_sys::MouseEvent| {
        let data = studio.study.with_untracked(|s| table_of(s.train().data.as_deref()));
        runs.start_here(studio.text.get_untracked(), steps.get_untracked(), data);
    };
    let run_there = move |_: web_sys::MouseEvent| {
        runs.start_there(studio.text.get_untracked(), steps.get_untracked());
    };
    let why_not = move || (!can_run.get()).then_some("The study has errors; mend them to run it.");
    view! {
        <section class="pane pane-run" aria-labelledby="run-head">
            <header class="pane-head">
                <h2 id="run-head">"Run"</h2>
                <span class="run-steps">
                    <span class="muted">"steps"</span>
                    <Stepper label="Steps to run" value=steps doubling=true on_change=Callback::new(move |n| asked.set(Some(n))) />
                </span>
            </header>
            <div class="run-buttons">
                <Show
                    when=move || running.get()
                    fallback=move || view! {
                        <button class="primary" prop:disabled=move || !can_run.get() on:click=run_here>
                            {icon(Icon::Play)}
                            <span>"Run here"</span>
                        </button>
                    }
                >
                    <button class="danger" on:click=move |_| runs.stop_here()>
                        {icon(Icon::Stop)}
                        <span>"Stop"</span>
                    </button>
                </Show>
                <button class="secondary" prop:disabled=move || !can_run.get() on:click=run_there>
                    {icon(Icon::Server)}
                    <span>"Run on server"</span>
                </button>
            </div>
            {move || why_not().map(|w| view! { <p class="empty">{w}</p> })}
            <Show
                when=move || runs.here.with(Option::is_some)
                fallback=move || can_run.get().then(|| view! {
                    <p class="empty">
                        "Running here trains the network in this browser, on its mesh and on one \
                         processor side by side, and compares the two."
                    </p>
                })
            >
                <Here studio=studio runs=runs />
            </Show>
        </section>
    }
}

/// The table that a run needs: none for synthetic data.
fn table_of(data: Option<&str>) -> Option<String> {
    data.filter(|d| *d != "teacher").map(str::to_owned)
}

#[component]
fn Here(studio: Studio, runs: Runs) -> impl IntoView {
    let log = Signal::derive(move || runs.here.get().unwrap_or_default());
    let is_edited = move || log.with(|l| studio.text.with(|t| *t != l.text));
    view! {
        <div class="run-log">
            <h3 class="run-title">"In this browser"</h3>
            <Show when=is_edited>
                <p class="note">"The study has been changed since this run."</p>
            </Show>
            <RunView log=log label="here" />
            {move || log.with(proof)}
            <SampleBox
                log=log
                written=runs.sample_here
                on_ask=Callback::new(move |request| runs.sample_here(&request))
            />
        </div>
    }
}

/// Progress, numbers and curve of a run.
#[component]
pub fn RunView(log: Signal<RunLog>, label: &'static str) -> impl IntoView {
    let done = Memo::new(move |_| log.with(RunLog::done));
    let percent = move || log.with(|l| 100.0 * done.get() as f64 / l.steps.max(1) as f64);
    let status = move || log.with(status);
    view! {
        <p class=move || format!("run-status {}", log.with(|l| tone(l.end.as_ref())))>
            {move || log.with(|l| match l.end {
                Some(Event::Done { .. }) => Some(icon(Icon::Check).into_any()),
                Some(Event::Diverged { .. } | Event::Failed { .. }) => Some(icon(Icon::Error).into_any()),
                Some(Event::Cancelled { .. }) => Some(icon(Icon::Stop).into_any()),
                _ => None,
            })}
            <span role="status">{status}</span>
        </p>
        <div
            class="progress"
            role="progressbar"
            aria-label=format!("Progress of the run {label}")
            aria-valuenow=move || format!("{:.0}", percent())
            aria-valuemin="0"
            aria-valuemax="100"
        >
            <span style:width=move || format!("{}%", percent().clamp(0.0, 100.0))></span>
        </div>
        <dl class="run-facts">
            <div><dt>"step"</dt><dd>{move || log.with(|l| format!("{} of {}", format::exact(l.done() as f64), format::exact(l.steps as f64)))}</dd></div>
            <div><dt>"loss"</dt><dd>{move || log.with(|l| l.curve.last().map_or("–".to_owned(), |p| format::number(p.1)))}</dd></div>
            <div><dt>"steps/s"</dt><dd>{move || log.with(|l| l.pace().map_or("–".to_owned(), |p| format::number((p * 10.0).round() / 10.0)))}</dd></div>
            {move || log.with(held_out)}
        </dl>
        <Chart log=log />
    }
}

/// The last look at the held-out part.
fn held_out(log: &RunLog) -> Option<AnyView> {
    let look = log.looks.last()?;
    let mut facts = Vec::new();
    if let Some(share) = look.accuracy {
        facts.push(("accuracy", format!("{:.1} %", share * 100.0)));
    }
    if let Some(error) = look.error {
        facts.push(("error", format!("{} sd", format::number(error))));
    }
    if let Some(perplexity) = look.perplexity {
        facts.push(("perplexity per token", format::number(perplexity)));
    }
    if let Some(perplexity) = look.word_perplexity {
        facts.push(("per word", format::number(perplexity)));
    }
    if let Some(bleu) = look.bleu {
        facts.push(("BLEU", format!("{bleu:.1}")));
    }
    if facts.is_empty() {
        facts.push(("held-out loss", format::number(look.loss)));
    }
    let tip = format!(
        "On the part of the data held out, after {}; loss {}",
        format::plural(look.step, "step"),
        format::number(look.loss)
    );
    let fact = |(name, value)| {
        let tip = tip.clone();
        view! { <div class="held-out" data-tip=tip><dt>{name}</dt><dd>{value}</dd></div> }
    };
    Some(facts.into_iter().map(fact).collect_view().into_any())
}

const fn tone(end: Option<&Event>) -> &'static str {
    match end {
        None => "going",
        Some(Event::Done { .. }) => "good",
        Some(Event::Cancelled { .. }) => "ended",
        Some(_) => "bad",
    }
}

fn status(log: &RunLog) -> String {
    match &log.end {
        None if log.curve.is_empty() => "Starting…".to_owned(),
        None => "Running".to_owned(),
        Some(Event::Done { .. }) => "Done".to_owned(),
        Some(Event::Cancelled { step }) => {
            format!("Stopped after {}", format::plural(*step, "step"))
        }
        Some(Event::Diverged { step, message }) => format!("Diverged at step {step}. {message}"),
        Some(Event::Failed { message }) => message.clone(),
        Some(
            Event::Step { .. }
            | Event::Validation { .. }
            | Event::Value { .. }
            | Event::Sample { .. }
            | Event::Restarted { .. },
        ) => String::new(),
    }
}

/// How a likeness looks.
const fn looks(likeness: Likeness) -> (&'static str, Icon) {
    match likeness {
        Likeness::Same | Likeness::Rounded => ("verdict good", Icon::Check),
        Likeness::Magnified | Likeness::Unclear => ("verdict odd", Icon::Warning),
        Likeness::Other => ("verdict bad", Icon::Error),
    }
}

/// What a run that is over proves: messages, bytes sent and bytes held as predicted, numbers as on
/// one processor.
pub fn proof(log: &RunLog) -> Option<AnyView> {
    let Some(Event::Done { counted, predicted, held, max_difference, loss_difference, .. }) =
        &log.end
    else {
        return None;
    };
    let row = |name: &'static str, c: u64, p: u64| {
        let equal = c == p;
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td class="number">{format::exact(c as f64)}</td>
                <td class="number">{format::exact(p as f64)}</td>
                <td class=if equal { "verdict good" } else { "verdict bad" }>
                    {icon(if equal { Icon::Check } else { Icon::Error })}
                    {if equal { "equal" } else { "differ" }}
                </td>
            </tr>
        }
    };
    let difference = max_difference.map(|d| {
        let largest = log.curve.iter().fold(0.0, |most: f64, (_, loss)| most.max(loss.abs()));
        let likeness = Likeness::of(
            d,
            loss_difference.unwrap_or(d),
            largest,
            Study::tried(&log.text).graph().dtype,
        );
        let (class, sign) = looks(likeness);
        view! {
            <p class=class>
                {icon(sign)}
                <span>
                    "Largest difference from the same run on one processor: "
                    <strong>{format::number(d)}</strong>
                    {likeness.words()}
                </span>
            </p>
        }
    });
    Some(
        view! {
            <div class="proof">
                <h3>"The proof"</h3>
                <table>
                    <caption class="visually-hidden">"What was counted while it ran against predicted; bytes held are those of the processor that held the most"</caption>
                    <thead>
                        <tr>
                            <th scope="col"><span class="visually-hidden">"What"</span></th>
                            <th scope="col">"counted"</th>
                            <th scope="col">"predicted"</th>
                            <th scope="col"><span class="visually-hidden">"Verdict"</span></th>
                        </tr>
                    </thead>
                    <tbody>
                        {row("messages", counted.messages, predicted.messages)}
                        {row("bytes sent", counted.bytes, predicted.bytes)}
                        {held.map(|held| row("bytes held", held.counted, held.predicted))}
                    </tbody>
                </table>
                {difference}
            </div>
        }
        .into_any(),
    )
}
