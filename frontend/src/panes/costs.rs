//! What one step costs a processor, beside what it would cost one processor alone.

use crate::format;
use crate::state::Studio;
use leptos::prelude::*;
use meshwork_engine::cost::tally::Totals;

/// The costs.
#[component]
pub fn Costs(studio: Studio) -> impl IntoView {
    let totals = Memo::new(move |_| studio.shown.with(|s| s.study.totals().map(Fact::of)));
    let alone = Memo::new(move |_| studio.alone.get().map(Fact::of));
    let formulas = Memo::new(move |_| {
        studio.shown.with(|s| s.study.formulas()).map(|f| {
            [
                ("computation", f.computation.to_string()),
                ("communication", f.communication.to_string()),
                ("communication / computation", f.ratio.to_string()),
                ("memory, in numbers held", f.memory.to_string()),
            ]
        })
    });
    let facts = move || {
        let (now, one) = (totals.get()?, alone.get());
        Some(now.into_iter().enumerate().map(move |(i, f)| (f, one.as_ref().map(|o| o[i].value))))
    };
    view! {
        <section class="pane pane-costs" aria-labelledby="costs-head">
            <header class="pane-head">
                <h2 id="costs-head">"Costs"</h2>
                <span class="pane-fact">"one step, per processor"</span>
            </header>
            {move || match facts() {
                None => view! {
                    <p class="empty">"They appear as soon as the study has no errors."</p>
                }.into_any(),
                Some(facts) => view! {
                    <dl class="facts">{facts.map(|(f, one)| fact(&f, one)).collect_view()}</dl>
                }.into_any(),
            }}
            <Show when=move || formulas.with(Option::is_some)>
                <details class="formulas">
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

/// One number of the costs.
#[derive(Clone, PartialEq)]
struct Fact {
    name: &'static str,
    about: &'static str,
    value: f64,
    is_bytes: bool,
}

impl Fact {
    fn of(totals: Totals) -> Vec<Self> {
        let fact = |name, about, value, is_bytes| Self { name, about, value, is_bytes };
        vec![
            fact(
                "Computation",
                "Floating point operations of one processor in one step",
                totals.flops_per_processor,
                false,
            ),
            fact(
                "Communication",
                "Bytes one processor sends in one step, by the ring formulas",
                totals.sent_bytes_per_processor,
                true,
            ),
            fact(
                "Memory",
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

fn fact(f: &Fact, alone: Option<f64>) -> impl IntoView + use<> {
    let share = alone.filter(|a| *a > 0.0).map(|a| f.value / a);
    let bar = share.map(|s| {
        view! {
            <span class="bar" aria-hidden="true">
                <span class="bar-fill" style:width=format!("{}%", (s * 100.0).clamp(0.5, 100.0))></span>
            </span>
        }
    });
    let compared = match share {
        Some(s) => {
            let percent = format::exact((s * 1000.0).round() / 10.0);
            view! { {percent} " %" <span class="visually-hidden">" of one processor alone"</span> }
                .into_any()
        }
        None if f.value == 0.0 => "none".into_any(),
        None => "alone 0 B".into_any(),
    };
    view! {
        <div class="fact">
            <dt>{f.name}</dt>
            <dd>
                <span class="value" data-tip=f.exact()>{f.words()}</span>
                {bar}
                <span class="muted" data-tip="Compared with one processor that does everything alone">{compared}</span>
            </dd>
        </div>
    }
}
