//! The numbers of a pipeline in the field's words, with their formulas, and what other numbers of
//! cells and micro-batches would make of them. All are read off the engine.

use super::{Look, percent};
use crate::format;
use crate::state::Studio;
use crate::widgets::code_words;
use leptos::prelude::*;
use meshwork_engine::cost::held;
use meshwork_engine::pipeline::order::Extent;
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::staging::outlook::{ENOUGH, Figures as Numbers, Outlook};
use std::time::Duration;

/// The wait after the last change.
const SETTLE: Duration = Duration::from_millis(120);

/// A number with its name and what it means.
#[derive(Clone, PartialEq)]
struct Fact {
    name: &'static str,
    value: String,
    about: String,
}

/// The numbers.
#[component]
pub fn Figures(studio: Studio, look: Memo<Option<Look>>) -> impl IntoView {
    let facts = Memo::new(move |_| look.with(|l| l.as_ref().map(|l| facts(l)).unwrap_or_default()));
    let words =
        Memo::new(move |_| look.with(|l| l.as_ref().map(|l| outlooks(l)).unwrap_or_default()));
    let one_more = one_more(studio, look);
    view! {
        <dl class="pipeline-facts">
            {move || facts.get().into_iter().map(|Fact { name, value, about }| view! {
                <div>
                    <dt>{name}</dt>
                    <dd><span class="value">{value}</span><span class="muted">{about}</span></dd>
                </div>
            }).collect_view()}
        </dl>
        <ul class="pipeline-words">
            {move || words.get().into_iter().map(|words| view! { <li>{code_words(&words)}</li> }).collect_view()}
            <li>{move || one_more.with(|words| code_words(words).into_any())}</li>
        </ul>
    }
}

/// What one more cell would lead to, a moment after the study has settled: another study is planned
/// for it.
fn one_more(studio: Studio, look: Memo<Option<Look>>) -> RwSignal<String> {
    let words = RwSignal::new(String::new());
    let waiting = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        let Some(look) = look.get() else { return };
        if let Some(handle) = waiting.get_value() {
            handle.clear();
        }
        let say = move || {
            let more = studio.shown.with_untracked(|s| s.study.with_one_more_cell());
            // the pane may be gone by then
            let _is_shown = more.map(|more| words.try_set(with_one_more(&look, &more)));
        };
        waiting.set_value(set_timeout_with_handle(say, SETTLE).ok());
    });
    words
}

fn with_one_more(look: &Outlook, more: &Result<Numbers, String>) -> String {
    let now = look.figures();
    match more {
        Ok(then) => format!(
            "One more cell: {} cells would idle {} of the makespan instead of {}, and a step \
             would take {} of the time.",
            then.extent.ranks,
            percent(then.bubble_of_makespan),
            percent(now.bubble_of_makespan),
            percent(then.makespan / now.makespan)
        ),
        Err(why) => format!("One more cell is one too many: {why}."),
    }
}

fn facts(look: &Outlook) -> Vec<Fact> {
    let figures = look.figures();
    let even = |share: f64, formula: &str| match look.schedule() {
        Schedule::GPipe | Schedule::GPipeFifo | Schedule::OneFOneB => {
            format!("; even stages: {formula} = {}", percent(share))
        }
        Schedule::Interleaved
        | Schedule::BreadthFirst
        | Schedule::ZbH1
        | Schedule::Zb2p
        | Schedule::ZbV
        | Schedule::ZbVGreedy
        | Schedule::DualPipe
        | Schedule::DualPipeV => String::new(),
    };
    let Extent { ranks, micro_batches, .. } = look.extent();
    let (k, m) = (f64::from(ranks), f64::from(micro_batches));
    let peaks: Vec<u64> = look.held.iter().map(|curve| held::peak(curve)).collect();
    let by_bytes = || peaks.iter().enumerate();
    let most = by_bytes().max_by_key(|(i, bytes)| (**bytes, usize::MAX - i));
    let least = by_bytes().min_by_key(|(_, bytes)| **bytes);
    let bytes = |n: u64| format::bytes(n as f64);
    let time = |n: f64| format!("{} {}", format::count(n), look.unit());
    let memory = match (most, least) {
        (Some((most, _)), Some((least, n))) => {
            format!("of a processor of cell {most}; least in cell {least}: {}", bytes(*n))
        }
        _ => String::new(),
    };
    vec![
        Fact {
            name: "Bubble of the makespan",
            value: percent(figures.bubble_of_makespan),
            about: format!("idle / makespan{}", even((k - 1.0) / (m + k - 1.0), "(K−1)/(M+K−1)")),
        },
        Fact {
            name: "Bubble of the ideal",
            value: percent(figures.bubble_of_ideal),
            about: format!("idle / ideal{}", even((k - 1.0) / m, "(K−1)/M")),
        },
        Fact {
            name: "Wall time of a step",
            value: time(figures.makespan),
            about: format!(
                "makespan, first task to last; span of one cell at most {}",
                time(look.timeline.stage_span())
            ),
        },
        Fact {
            name: "Peak memory",
            value: bytes(peaks.iter().copied().max().unwrap_or(0)),
            about: memory,
        },
    ]
}

/// What other numbers would lead to, as sentences.
fn outlooks(look: &Outlook) -> Vec<String> {
    let Extent { ranks, micro_batches, .. } = look.extent();
    let enough = ENOUGH * ranks;
    let mut out = Vec::new();
    if look.asked() > micro_batches {
        out.push(format!(
            "The batch has rows for {micro_batches} micro-batches, not for the {} asked for.",
            look.asked()
        ));
    }
    out.push(if micro_batches >= enough {
        format!("M is at least 4K = {enough}: as many micro-batches as make the bubble small.")
    } else {
        match look.with_enough() {
            Ok(then) => format!(
                "M ≥ 4K makes the bubble small: {} of the makespan with {enough} micro-batches.",
                percent(then.bubble_of_makespan)
            ),
            Err(why) => format!("M ≥ 4K = {enough} would make the bubble small, but {why}."),
        }
    });
    out.push(if look.hop() > 0.0 {
        format!(
            "A hop from cell to cell takes {} of a mean forward task.",
            format::number(look.hop())
        )
    } else {
        "A hop from cell to cell takes no time here; hop:0.1 makes it a tenth of a forward task."
            .to_owned()
    });
    if look.overlap() > 0.0 {
        let part = percent(look.overlap());
        out.push(format!("Of a pair of tasks, {part} of the shorter hides behind the longer."));
    }
    out
}
