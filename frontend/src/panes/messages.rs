//! What is wrong in the study, where, why, and a button for each mend.

use crate::icons::{Icon, icon};
use crate::state::Studio;
use crate::widgets::code_words;
use leptos::prelude::*;
use meshwork_engine::diag::{Diagnostic, Hint, Severity, Span, place};
use meshwork_engine::spec::edit;
use wasm_bindgen::JsCast as _;
use web_sys::HtmlTextAreaElement;

/// The messages under the editor.
#[component]
pub fn Messages(studio: Studio) -> impl IntoView {
    let listed = Memo::new(move |_| {
        let text = studio.text.get();
        studio.study.with(|s| {
            let diagnostics = s.diagnostics().iter();
            diagnostics.map(|d| (place(&text, d.span.start), d.clone())).collect::<Vec<_>>()
        })
    });
    let summary = move || {
        listed.with(|all| {
            let errors = all.iter().filter(|(_, d)| d.is_error()).count();
            match (errors, all.len() - errors) {
                (0, 0) => String::new(),
                (0, w) => crate::format::plural(w as u64, "warning"),
                (e, 0) => crate::format::plural(e as u64, "error"),
                (e, w) => format!(
                    "{}, {}",
                    crate::format::plural(e as u64, "error"),
                    crate::format::plural(w as u64, "warning")
                ),
            }
        })
    };
    view! {
        <div id="messages" class="messages">
            <p class="visually-hidden" role="status">{summary}</p>
            <ul class="message-list" class:empty=move || listed.with(Vec::is_empty)>
                {move || {
                    let each = |(place, d): (meshwork_engine::diag::Place, Diagnostic)| {
                        message(studio, place.line, d)
                    };
                    listed.get().into_iter().map(each).collect_view()
                }}
            </ul>
        </div>
    }
}

fn message(studio: Studio, line: u32, d: Diagnostic) -> impl IntoView {
    let (span, is_misfit) = (d.span, d.is_misfit());
    let (class, symbol, word) = match d.severity {
        Severity::Error => ("message error", Icon::Error, "Error"),
        Severity::Warning => ("message warning", Icon::Warning, "Warning"),
    };
    view! {
        <li class=class>
            <div class="message-head">
                {icon(symbol)}
                <button
                    class="place"
                    on:click=move |_| go_to(studio, span)
                    data-tip="Show it in the text"
                >
                    {format!("{word}, line {line}")}
                </button>
            </div>
            <p class="message-text">{code_words(&d.message)}</p>
            {hints(studio, d.hints)}
            {is_misfit.then(|| fitting(studio))}
            <details class="why">
                <summary>"Why?"</summary>
                <p>{code_words(d.code.help())}</p>
            </details>
        </li>
    }
}

fn hints(studio: Studio, hints: Vec<Hint>) -> impl IntoView {
    let each = move |hint: Hint| match hint.edit {
        Some(change) => view! {
            <li>
                <button
                    class="mend"
                    on:click=move |_| {
                        studio.change(|t| edit::apply(t, std::slice::from_ref(&change)));
                    }
                >
                    {icon(Icon::Wrench)}
                    <span>{code_words(&hint.text)}</span>
                </button>
            </li>
        }
        .into_any(),
        None => view! { <li class="advice">{code_words(&hint.text)}</li> }.into_any(),
    };
    (!hints.is_empty()).then(|| {
        view! { <ul class="mends" aria-label="Mends">{hints.into_iter().map(each).collect_view()}</ul> }
    })
}

/// A button that looks for changes that make the study fit its hardware, and what it found. Many
/// studies are planned for it, so nobody pays who does not ask.
fn fitting(studio: Studio) -> impl IntoView {
    let found = RwSignal::new(None::<Vec<Hint>>);
    let look = move |_| found.set(Some(studio.study.with_untracked(|s| s.hints_to_fit())));
    move || match found.get() {
        Some(found) => hints(studio, found).into_any(),
        None => view! {
            <button class="quiet small" on:click=look>"Look for what makes it fit"</button>
        }
        .into_any(),
    }
}

/// Selects what a span covers in the editor.
fn go_to(studio: Studio, span: Span) {
    let area = document().get_element_by_id("study-text");
    let Some(area) = area.and_then(|e| e.dyn_into::<HtmlTextAreaElement>().ok()) else { return };
    let (start, end) = studio.text.with_untracked(|t| (units(t, span.start), units(t, span.end)));
    // focus and selection of a shown textarea are not refused
    drop(area.focus());
    drop(area.set_selection_range(start, end.max(start)));
}

/// A byte offset as an offset in UTF-16 units, which the browser counts in.
fn units(text: &str, offset: u32) -> u32 {
    let before = text.get(..offset as usize).unwrap_or(text);
    before.encode_utf16().count() as u32
}
