//! Small controls that several panes use.

use crate::icons::{Icon, icon};
use leptos::prelude::*;

/// A size: a number to type, with buttons for less and more. With `doubling` the buttons halve
/// and double, which keeps sizes divisible; otherwise they go by one.
#[component]
pub fn Stepper(
    /// Says what the number is.
    #[prop(into)]
    label: String,
    /// The number.
    #[prop(into)]
    value: Signal<u64>,
    /// Halve and double.
    #[prop(optional)]
    doubling: bool,
    /// Takes the new number.
    on_change: Callback<u64>,
) -> impl IntoView {
    let less = move |_: web_sys::MouseEvent| {
        let v = value.get_untracked();
        on_change
            .run(if doubling && v.is_multiple_of(2) { v / 2 } else { v.saturating_sub(1) }.max(1));
    };
    let more = move |_: web_sys::MouseEvent| {
        let v = value.get_untracked();
        on_change.run(if doubling { v.saturating_mul(2) } else { v + 1 });
    };
    let typed = move |ev: web_sys::Event| {
        let text = event_target_value(&ev);
        match text.trim().parse::<u64>() {
            Ok(n) if n >= 1 => on_change.run(n),
            _ => {
                // what is no size goes back to the size there is
                let input: web_sys::HtmlInputElement = event_target(&ev);
                input.set_value(&value.get_untracked().to_string());
            }
        }
    };
    let (less_label, more_label) = (format!("Less: {label}"), format!("More: {label}"));
    let group_label = label.clone();
    view! {
        <span class="stepper" role="group" aria-label=group_label>
            <button
                aria-label=less_label
                prop:disabled=move || { value.get() <= 1 }
                on:click=less
            >
                {icon(Icon::Minus)}
            </button>
            <input
                inputmode="numeric"
                aria-label=label
                autocomplete="off"
                prop:value=move || value.get().to_string()
                style:width=move || format!("{}ch", value.get().to_string().len().max(2) + 1)
                on:change=typed
            />
            <button aria-label=more_label on:click=more>
                {icon(Icon::Plus)}
            </button>
        </span>
    }
}

/// A picture with its table twin and the button that goes from one to the other.
#[component]
pub fn TwinToggle(
    /// Names the picture.
    #[prop(into)]
    label: String,
    /// Whether the table is shown.
    #[prop(into)]
    table: Signal<bool>,
    /// Goes to the other.
    on_toggle: Callback<()>,
) -> impl IntoView {
    view! {
        <button
            class="tool twin-toggle"
            aria-label=format!("{label} as a table")
            aria-pressed=move || table.get().to_string()
            data-tip=move || if table.get() { "Show the picture" } else { "Show the table" }
            on:click=move |_| on_toggle.run(())
        >
            {move || icon(if table.get() { Icon::Picture } else { Icon::Table })}
        </button>
    }
}

/// A table of words: the twin of a picture. Rows that name processors light up with them.
pub fn table(table: &meshwork_engine::picture::scene::Table) -> impl IntoView + use<> {
    const LONG: usize = 60;
    let holder = table.head.iter().position(|h| h.to_lowercase().contains("processor"));
    let row = |cells: &Vec<String>| {
        let holders = holder.and_then(|i| cells.get(i)).and_then(|c| processors(c));
        let cells = cells.iter().enumerate().map(|(i, c)| {
            if i == 0 {
                view! { <th scope="row">{c.clone()}</th> }.into_any()
            } else {
                let is_long = c.len() > LONG;
                view! { <td class:long=is_long>{c.clone()}</td> }.into_any()
            }
        });
        view! { <tr data-p=holders>{cells.collect_view()}</tr> }
    };
    view! {
        <div class="twin" tabindex="0" role="group" aria-label=table.caption.clone()>
            <table>
                <caption>{table.caption.clone()}</caption>
                <thead>
                    <tr>
                        {table.head.iter().map(|h| view! { <th scope="col">{h.clone()}</th> }).collect_view()}
                    </tr>
                </thead>
                <tbody>{table.rows.iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}

/// Text in which back quotes become code.
pub fn code_words(text: &str) -> impl IntoView + use<> {
    let part = |(i, part): (usize, &str)| {
        if i % 2 == 1 {
            view! { <code>{part.to_owned()}</code> }.into_any()
        } else {
            part.to_owned().into_any()
        }
    };
    text.split('`').enumerate().map(part).collect_view()
}

/// `0, 2, 4–6` as the value of `data-p`: `0 2 4 5 6`. `None` for other text.
fn processors(cell: &str) -> Option<String> {
    let mut out: Vec<String> = Vec::new();
    for part in cell.split([',', ' ']).filter(|p| !p.is_empty()) {
        let mut ends = part.split(['–', '-']).map(str::parse::<u32>);
        let first = ends.next()?.ok()?;
        let last = match ends.next() {
            Some(end) => end.ok()?,
            None => first,
        };
        if last.saturating_sub(first) > 4096 {
            return None;
        }
        out.extend((first..=last).map(|p| p.to_string()));
    }
    (!out.is_empty()).then(|| out.join(" "))
}

#[cfg(test)]
mod tests {
    use super::processors;

    #[test]
    fn cells_name_processors_singly_and_in_ranges() {
        assert_eq!(processors("0, 2, 4–6").as_deref(), Some("0 2 4 5 6"));
        assert_eq!(processors("7").as_deref(), Some("7"));
        assert_eq!(processors("rows 0"), None);
        assert_eq!(processors(""), None);
    }
}
