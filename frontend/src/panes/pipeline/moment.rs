//! One time of the timeline: a slider over all times at which something begins or ends, and in
//! words what every cell does then, what it waits for, and what it holds.

use super::Look;
use crate::format;
use crate::icons::{Icon, icon};
use leptos::prelude::*;
use meshwork_engine::cost::held;
use meshwork_engine::pipeline::moment::Doing;
use meshwork_engine::staging::outlook::Outlook;

/// What is said of a cell.
#[derive(Clone, PartialEq)]
struct Row {
    kind: &'static str,
    words: String,
    holds: String,
}

fn rows(look: &Outlook, time: f64) -> Vec<Row> {
    let doing = look.moment(time);
    let row = |(cell, doing): (_, &Doing)| Row {
        kind: match doing {
            Doing::Works(_) => "works",
            Doing::Waits(_) => "waits",
            Doing::Done => "done",
        },
        words: doing.words(look.names_stages()),
        holds: look
            .held
            .get(cell)
            .map_or(String::new(), |curve| format::bytes(held::at(curve, time) as f64)),
    };
    doing.entries().map(row).collect()
}

/// The slider and the words.
#[component]
pub fn Moment(
    look: Memo<Option<Look>>,
    times: Memo<Vec<f64>>,
    at: Memo<usize>,
    on_go: Callback<usize>,
) -> impl IntoView {
    let last = Memo::new(move |_| times.with(Vec::len).saturating_sub(1));
    let time = Memo::new(move |_| times.with(|t| t.get(at.get()).copied().unwrap_or(0.0)));
    let rows = Memo::new(move |_| {
        look.with(|l| l.as_ref().map(|l| rows(l, time.get())).unwrap_or_default())
    });
    let words = move || {
        let end = times.with(|t| t.last().copied().unwrap_or(0.0));
        let unit = look.with(|l| l.as_ref().map_or("", |l| l.unit()));
        format!("{} of {} {unit}", format::count(time.get()), format::count(end))
    };
    let typed = move |ev: web_sys::Event| {
        if let Ok(to) = event_target_value(&ev).parse() {
            on_go.run(to);
        }
    };
    view! {
        <div class="moment" role="group" aria-label="A time of the step">
            <div class="moment-bar">
                <button
                    class="tool"
                    aria-label="Back to the change before"
                    data-tip="The change before"
                    prop:disabled=move || at.get() == 0
                    on:click=move |_| on_go.run(at.get_untracked().saturating_sub(1))
                >
                    {icon(Icon::Left)}
                </button>
                <input
                    type="range"
                    min="0"
                    max=move || last.get().to_string()
                    step="1"
                    aria-label="Time"
                    aria-valuetext=words
                    prop:value=move || at.get().to_string()
                    on:input=typed
                />
                <button
                    class="tool"
                    aria-label="On to the next change"
                    data-tip="The next change"
                    prop:disabled=move || { at.get() >= last.get() }
                    on:click=move |_| on_go.run(at.get_untracked() + 1)
                >
                    {icon(Icon::Right)}
                </button>
                <output class="number muted">{words}</output>
            </div>
            <table class="moment-cells">
                <caption class="visually-hidden">"What every cell does at this time"</caption>
                <thead>
                    <tr>
                        <th scope="col">"cell"</th>
                        <th scope="col">"does"</th>
                        <th scope="col" class="number">"holds"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || rows.get().into_iter().enumerate().map(|(i, Row { kind, words, holds })| view! {
                        <tr class=kind>
                            <th scope="row">{i}</th>
                            <td>
                                {icon(match kind {
                                    "works" => Icon::Play,
                                    "waits" => Icon::Pause,
                                    _ => Icon::Check,
                                })}
                                <span>{words}</span>
                            </td>
                            <td class="number">{holds}</td>
                        </tr>
                    }).collect_view()}
                </tbody>
            </table>
        </div>
    }
}
