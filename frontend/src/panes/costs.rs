//! What one step costs a processor, beside what it would cost one processor alone.

use crate::format;
use crate::state::Studio;
use leptos::prelude::*;
use meshwork_engine::cost::tally::Totals;
use web_sys::Element;

/// The costs.
#[component]
pub fn Costs(studio: Studio) -> impl IntoView {
    let totals = Memo::new(move |_| studio.told.with(|s| s.study.totals().map(Fact::of)));
    let duplication = Memo::new(move |_| {
        let totals = studio.told.with(|s| s.study.totals()).filter(Totals::repeats_work);
        totals.map(|t| format::exact((t.duplication * 100.0).round() / 100.0))
    });
    let alone = Memo::new(move |_| studio.alone.get().map(Fact::of));
    // nobody pays for formulas that are folded away
    let are_open = RwSignal::new(false);
    let formulas = Memo::new(move |_| {
        let formulas = are_open.get().then(|| studio.told.with(|s| s.study.formulas()));
        formulas.flatten().map(|f| {
            [
                ("computation", f.computation.to_string()),
                ("communication", f.communication.to_string()),
                ("communication / computation", f.ratio.to_string()),
                ("memory, in numbers held", f.memory.to_string()),
            ]
        })
    });
    let is_pipeline = Memo::new(move |_| studio.told.with(|s| s.study.is_pipeline()));
    view! {
        <section class="pane pane-costs" aria-labelledby="costs-head">
            <header class="pane-head">
                <h2 id="costs-head">"Costs"</h2>
                <span class="pane-fact">
                    {move || if is_pipeline.get() {
                        "one step, of the cell with the most"
                    } else {
                        "one step, per processor"
                    }}
                </span>
            </header>
            <Show
                when=move || totals.with(Option::is_some)
                fallback=|| view! {
                    <p class="empty">"They appear as soon as the study has no errors."</p>
                }
            >
                <dl class="facts">
                    {NAMES
                        .into_iter()
                        .enumerate()
                        .map(|(i, name)| view! { <FactView name=name totals=totals alone=alone i=i /> })
                        .collect_view()}
                </dl>
            </Show>
            {move || duplication.get().map(|times| view! {
                <p class="empty">
                    {format!(
                        "Together the processors compute {times} times what is needed: along mesh \
                         dimensions that split nothing of an operation all do the same."
                    )}
                </p>
            })}
            <Show when=move || totals.with(Option::is_some)>
                <details
                    class="formulas"
                    on:toggle=move |ev| are_open.set(event_target::<Element>(&ev).has_attribute("open"))
                >
                    <summary>"As formulas"</summary>
                    <dl>
                        {move || formulas.get().map(|f| f.into_iter().map(|(name, formula)| view! {
                            <div><dt>{name}</dt><dd>{formula}</dd></div>
                        }).collect_view())}
                    </dl>
                    <p class="empty">"Constant factors and smaller terms are dropped, as in the paper’s Table 1."</p>
                </details>
            </Show>
        </section>
    }
}

const NAMES: [&str; 3] = ["Computation", "Communication", "Memory"];

/// One number of the costs.
#[derive(Clone, PartialEq)]
struct Fact {
    about: &'static str,
    value: f64,
    is_bytes: bool,
}

impl Fact {
    /// In the order of their names.
    fn of(totals: Totals) -> [Self; NAMES.len()] {
        let fact = |about, value, is_bytes| Self { about, value, is_bytes };
        [
            fact(
                "Floating point operations of one processor in one step",
                totals.flops_per_processor,
                false,
            ),
            fact(
                "Bytes one processor sends in one step, by the ring formulas",
                totals.sent_bytes_per_processor,
                true,
            ),
            fact(
                "The most bytes one processor holds at once",
                totals.peak_bytes_per_processor as f64,
                true,
            ),
        ]
    }

    fn words(&self) -> String {
        if self.is_bytes {
            format::bytes(self.value)
        } else {
            format!("{} flop", format::count(self.value))
        }
    }

    fn exact(&self) -> String {
        let unit = if self.is_bytes { "bytes" } else { "operations" };
        format!("{} {unit}. {}.", format::exact(self.value), self.about)
    }
}

/// The facts of a study that has no errors.
type Facts = Option<[Fact; NAMES.len()]>;

/// The fact at one place; it stays while its numbers change.
#[component]
fn FactView(
    name: &'static str,
    totals: Memo<Facts>,
    alone: Memo<Facts>,
    i: usize,
) -> impl IntoView {
    let value = move |of: Memo<Facts>| of.with(|f| f.as_ref().map(|f| f[i].value));
    let share = Memo::new(move |_| {
        let one = value(alone).filter(|a| *a > 0.0)?;
        Some(value(totals)? / one)
    });
    let has_share = Memo::new(move |_| share.get().is_some());
    let part = move |of: fn(&Fact) -> String| {
        move || totals.with(|t| t.as_ref().map(|t| of(&t[i])).unwrap_or_default())
    };
    let compared = move || match share.get() {
        Some(s) => format!("{} %", format::exact((s * 1000.0).round() / 10.0)),
        None if value(totals) == Some(0.0) => "none".to_owned(),
        None => "alone 0 B".to_owned(),
    };
    let width = move || format!("{}%", (share.get().unwrap_or(0.0) * 100.0).clamp(0.5, 100.0));
    view! {
        <div class="fact">
            <dt>{name}</dt>
            <dd>
                <span class="value" data-tip=part(Fact::exact)>{part(Fact::words)}</span>
                <Show when=move || has_share.get()>
                    <span class="bar" aria-hidden="true">
                        <span class="bar-fill" style:width=width></span>
                    </span>
                </Show>
                <span class="muted" data-tip="Compared with one processor that does everything alone">
                    {compared}
                    <Show when=move || has_share.get()>
                        <span class="visually-hidden">" of one processor alone"</span>
                    </Show>
                </span>
            </dd>
        </div>
    }
}
