//! Data to train on: the server's tables and texts, synthetic data, and a file of one's own.

use crate::api::{self, Trouble};
use crate::format;
use crate::icons::{Icon, icon};
use crate::state::Studio;
use leptos::prelude::*;
use meshwork_engine::spec::edit;
use meshwork_wire::api::{DataInfo, TableInfo, TableList, Target, TextInfo};
use web_sys::HtmlInputElement;

/// The pane of data sets.
#[component]
pub fn Data(studio: Studio) -> impl IntoView {
    let tables = RwSignal::new(None::<Result<TableList, Trouble>>);
    let said = RwSignal::new(None::<Result<String, String>>);
    let load = move || async move { tables.set(Some(api::tables().await)) };
    leptos::task::spawn_local(load());
    let used = Memo::new(move |_| {
        let name = |d: &String| d.split('@').next().unwrap_or_default().to_owned();
        studio.study.with(|s| s.train().data.as_ref().map(name))
    });
    let upload = move |ev: web_sys::Event| {
        let input: HtmlInputElement = event_target(&ev);
        let Some(file) = input.files().and_then(|f| f.get(0)) else { return };
        // choosing the same file again, once mended, is a change too
        input.set_value("");
        let name = table_name(&file.name());
        leptos::task::spawn_local(async move {
            match api::upload(&name, &file).await {
                Ok(info) => {
                    let (name, what) = match &info {
                        DataInfo::Table(table) => (&table.name, rows(table)),
                        DataInfo::Text(text) => (&text.name, lines(text)),
                    };
                    said.set(Some(Ok(format!("{} stored as {name}: {what}.", file.name()))));
                    take(studio, name);
                    load().await;
                }
                Err(trouble) => said.set(Some(Err(trouble.message()))),
            }
        });
    };
    view! {
        <section class="pane pane-data" aria-labelledby="data-head">
            <header class="pane-head">
                <h2 id="data-head">"Data"</h2>
                <label class="upload">
                    <input type="file" accept=".csv,.txt,.tsv,.md,text/*" class="visually-hidden" on:change=upload />
                    {icon(Icon::Upload)}
                    <span>"Upload CSV or text"</span>
                </label>
            </header>
            <div aria-live="polite">
                {move || said.get().map(|s| match s {
                    Ok(text) => view! { <p class="verdict good">{icon(Icon::Check)}<span>{text}</span></p> }.into_any(),
                    Err(text) => view! { <p class="verdict bad">{icon(Icon::Error)}<span>{text}</span></p> }.into_any(),
                })}
            </div>
            <ul class="tables">
                <li>
                    <button
                        class="table-choice"
                        aria-pressed=move || used.with(|u| u.as_deref() == Some("teacher")).to_string()
                        on:click=move |_| take(studio, "teacher")
                    >
                        <strong>"teacher"</strong>
                        <span class="muted">"synthetic, of any shape"</span>
                    </button>
                </li>
                {move || tables.get().and_then(Result::ok).map(|list| {
                    let tables = list.tables.into_iter().map(|t| {
                        let about = features(&t);
                        choice(studio, used, t.name, about, t.about)
                    });
                    let texts = list.texts.into_iter().map(|t| {
                        let about = lines(&t);
                        choice(studio, used, t.name, about, t.about)
                    });
                    tables.chain(texts).collect_view()
                })}
            </ul>
            <Show when=move || used.with(Option::is_none)>
                <p class="empty">"Now the inputs keep the numbers they begin with, step by step."</p>
            </Show>
            {move || tables.get().and_then(Result::err).map(|_| view! {
                <p class="empty">"The tables of the server are not at hand."</p>
            })}
        </section>
    }
}

/// Makes a table the one that the study trains on.
fn take(studio: Studio, name: &str) {
    studio.change(|t| edit::set_option(t, "train", "data", name));
}

fn choice(
    studio: Studio,
    used: Memo<Option<String>>,
    name: String,
    about: String,
    tip: String,
) -> impl IntoView {
    let shown = name.clone();
    let name = StoredValue::new(name);
    let is_it = move || name.with_value(|n| used.with(|u| u.as_ref() == Some(n))).to_string();
    view! {
        <li>
            <button
                class="table-choice"
                data-tip=tip
                aria-pressed=is_it
                on:click=move |_| name.with_value(|n| take(studio, n))
            >
                <strong>{shown}</strong>
                <span class="muted">{about}</span>
            </button>
        </li>
    }
}

/// `60 rows, a number`.
fn rows(t: &TableInfo) -> String {
    format!("{}, {}", format::plural(t.rows, "row"), target(t))
}

/// `60 rows, 2 features, a number`.
fn features(t: &TableInfo) -> String {
    let features = t.columns.len().saturating_sub(1) as u64;
    format!(
        "{}, {}, {}",
        format::plural(t.rows, "row"),
        format::plural(features, "feature"),
        target(t)
    )
}

/// `text, 60 lines, 3,210 bytes`.
fn lines(t: &TextInfo) -> String {
    format!("text, {}, {} bytes", format::plural(t.lines, "line"), format::exact(t.bytes as f64))
}

/// `3 classes` or `a number`.
fn target(info: &TableInfo) -> String {
    match &info.target {
        Target::Number => "a number".to_owned(),
        Target::Classes { names } => match names.len() {
            1 => "1 class".to_owned(),
            n => format!("{n} classes"),
        },
    }
}

/// The name of a table from that of its file: letters, digits, `_` and `-`.
fn table_name(file: &str) -> String {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let name: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' })
        .collect();
    let name = name.trim_matches('_').to_owned();
    if name.is_empty() { "table".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::table_name;

    #[test]
    fn files_give_tables_their_names() {
        assert_eq!(table_name("My Houses (2).csv"), "my_houses__2");
        assert_eq!(table_name("iris-2.CSV"), "iris-2");
        assert_eq!(table_name("äö.csv"), "table");
    }
}
