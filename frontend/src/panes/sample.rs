//! What a trained model of text writes: a prompt, how to draw, and what follows.

use crate::icons::{Icon, icon};
use crate::run_client::{RunLog, Written};
use leptos::prelude::*;
use meshwork_engine::data::wiring::Wiring;
use meshwork_engine::study::Study;
use meshwork_wire::api::SampleRequest;
use meshwork_wire::run::Event;

/// What kind of text a model writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    Continuations,
    Translations,
}

/// The box beside a run that is done, if its model is one of text.
#[component]
pub fn SampleBox(
    /// The run.
    log: Signal<RunLog>,
    /// What it has written last.
    written: RwSignal<Written>,
    /// Asks it to write.
    on_ask: Callback<SampleRequest>,
) -> impl IntoView {
    let text = Memo::new(move |_| {
        log.with(|l| matches!(l.end, Some(Event::Done { .. })).then(|| l.text.clone()))
    });
    let writes = Memo::new(move |_| text.with(|t| t.as_deref().and_then(writes)));
    view! {
        {move || writes.get().map(|writes| view! {
            <Form writes=writes written=written on_ask=on_ask />
        })}
    }
}

fn writes(text: &str) -> Option<Writes> {
    let study = Study::new(text);
    let wiring = Wiring::new(study.graph(), &study.data_places()).ok()?;
    let pairs = wiring.takes_pairs();
    wiring.takes_text().then_some(if pairs { Writes::Translations } else { Writes::Continuations })
}

#[component]
fn Form(
    writes: Writes,
    written: RwSignal<Written>,
    on_ask: Callback<SampleRequest>,
) -> impl IntoView {
    let prompt = RwSignal::new(String::new());
    let tokens = RwSignal::new("100".to_owned());
    let temperature = RwSignal::new("0.8".to_owned());
    let top_k = RwSignal::new("40".to_owned());
    let beam = RwSignal::new("4".to_owned());
    let seed = RwSignal::new(0_u64);
    let ask = move |ev: web_sys::SubmitEvent| {
        ev.prevent_default();
        let whole = |field: RwSignal<String>| field.with_untracked(|f| f.trim().parse().ok());
        let number = temperature.with_untracked(|f| f.trim().parse::<f64>().ok());
        on_ask.run(SampleRequest {
            prompt: prompt.get_untracked(),
            tokens: whole(tokens),
            temperature: number.filter(|t| *t >= 0.0),
            top_k: whole(top_k),
            seed: Some(seed.get_untracked()),
            beam: (writes == Writes::Translations).then(|| whole(beam)).flatten(),
        });
        // Whoever asks again wants to read something else.
        seed.update(|s| *s += 1);
    };
    let translates = writes == Writes::Translations;
    let (head, label) = if translates {
        ("Translate", "Text to translate")
    } else {
        ("Sample", "Text to go on from")
    };
    view! {
        <form class="sample" aria-label=head on:submit=ask>
            <h3>{head}</h3>
            <label class="sample-prompt">
                <span>{label}</span>
                <input
                    autocomplete="off"
                    spellcheck="false"
                    prop:value=prompt
                    on:input=move |ev| prompt.set(event_target_value(&ev))
                />
            </label>
            <div class="sample-how">
                {(!translates).then(|| view! {
                    {field("Tokens", tokens)}
                    {field("Temperature", temperature)}
                    {field("Top k", top_k)}
                })}
                {translates.then(|| field("Beam", beam))}
                <button
                    class="secondary"
                    type="submit"
                    prop:disabled=move || written.with(|w| *w == Written::Asked)
                >
                    {icon(Icon::Play)}
                    <span>"Write"</span>
                </button>
            </div>
            <div aria-live="polite">
                {move || match written.get() {
                    Written::Nothing => ().into_any(),
                    Written::Asked => view! { <p class="muted">"Writing…"</p> }.into_any(),
                    Written::Text(prompt, text) => view! {
                        <p class="sample-text">
                            <span class="muted">{if translates { format!("{prompt} → ") } else { prompt }}</span>
                            {text}
                        </p>
                    }.into_any(),
                    Written::Failed(why) => view! {
                        <p class="verdict bad">{icon(Icon::Error)}<span>{why}</span></p>
                    }.into_any(),
                }}
            </div>
        </form>
    }
}

fn field(label: &'static str, value: RwSignal<String>) -> impl IntoView {
    view! {
        <label>
            <span>{label}</span>
            <input
                inputmode="decimal"
                autocomplete="off"
                size="5"
                prop:value=value
                on:input=move |ev| value.set(event_target_value(&ev))
            />
        </label>
    }
}
