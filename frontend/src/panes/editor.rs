//! The study text: a textarea over a coloured copy of itself.
//!
//! The textarea is as large as the copy, so nothing has to be scrolled in step. The Tab key moves
//! the focus on, as everywhere. What is typed is coloured at once; what a click changes stands here
//! one frame after the pictures have followed it.

use crate::highlight::{self, Line, Word};
use crate::icons::{Icon, icon};
use crate::sight::after_this_frame;
use crate::state::Studio;
use leptos::html::Textarea;
use leptos::prelude::*;

/// The editor with the messages under it.
#[component]
pub fn Editor(studio: Studio) -> impl IntoView {
    let area = NodeRef::<Textarea>::new();
    let (lines, set_lines) = signal(Vec::new());
    let count = Memo::new(move |_| lines.with(Vec::len));
    let can_undo = Memo::new(move |_| studio.can_undo());
    let can_redo = Memo::new(move |_| studio.can_redo());
    let is_behind = StoredValue::new(false);
    let follow = move || {
        // the editor may be gone by then
        if is_behind.try_set_value(false).is_some() {
            return;
        }
        let text = studio.text.get_untracked();
        set_lines.set(studio.study.with_untracked(|s| highlight::lines(&text, s.diagnostics())));
        if let Some(area) = area.get_untracked() {
            keep_caret(&area, &text);
        }
    };
    Effect::new(move |_| {
        let is_there = studio.text.with(|text| area.get().is_none_or(|a| a.value() == *text));
        if is_there {
            follow();
        } else if !is_behind.get_value() {
            is_behind.set_value(true);
            after_this_frame(follow);
        }
    });
    // what is typed within that frame goes into the text as it stands
    let before_input = move |_| {
        if is_behind.get_value() {
            follow();
        }
    };
    view! {
        <section class="pane pane-text" aria-labelledby="text-head">
            <header class="pane-head">
                <h2 id="text-head">"Study"</h2>
                <div class="pane-tools">
                    <button
                        class="tool"
                        aria-label="Undo"
                        data-tip="Undo (Ctrl+Z)"
                        prop:disabled=move || !can_undo.get()
                        on:click=move |_| studio.undo()
                    >
                        {icon(Icon::Undo)}
                    </button>
                    <button
                        class="tool"
                        aria-label="Redo"
                        data-tip="Redo (Ctrl+Shift+Z)"
                        prop:disabled=move || !can_redo.get()
                        on:click=move |_| studio.redo()
                    >
                        {icon(Icon::Redo)}
                    </button>
                </div>
            </header>
            <div class="editor">
                <div class="editor-page">
                    <div class="editor-ink" aria-hidden="true">
                        <For each=move || 0..count.get() key=|&i| i let:i>
                            {ink(lines, i)}
                        </For>
                    </div>
                    <textarea
                        id="study-text"
                        node_ref=area
                        aria-label="Study text"
                        aria-describedby="messages"
                        aria-invalid=move || studio.study.with(|s| s.has_errors()).to_string()
                        spellcheck="false"
                        autocapitalize="off"
                        autocomplete="off"
                        wrap="soft"
                        on:beforeinput=before_input
                        on:input=move |ev| studio.typed(event_target_value(&ev))
                    ></textarea>
                </div>
            </div>
        </section>
    }
}

/// The line at one place.
fn ink(lines: ReadSignal<Vec<Line>>, i: usize) -> impl IntoView {
    let line = Memo::new(move |_| lines.with(|l| l.get(i).cloned().unwrap_or_default()));
    let word = |w: &Word| view! { <span class=w.class.clone()>{w.text.clone()}</span> };
    view! {
        <div class=move || line.with(Line::class)>
            {move || line.with(|l| l.words.iter().map(word).collect_view())}
        </div>
    }
}

/// Puts the text into the area where it differs; the caret stays at the same words.
fn keep_caret(area: &web_sys::HtmlTextAreaElement, text: &str) {
    let before = area.value();
    if before == text {
        return;
    }
    let caret = |end: Result<Option<u32>, _>| end.ok().flatten().unwrap_or(0);
    let start = caret(area.selection_start());
    let end = caret(area.selection_end());
    let focused =
        document().active_element().is_some_and(|e| &e == area.as_ref() as &web_sys::Element);
    area.set_value(text);
    if focused {
        let (old, new): (Vec<u16>, Vec<u16>) =
            (before.encode_utf16().collect(), text.encode_utf16().collect());
        // fails only for elements that hold no text
        drop(area.set_selection_range(moved(start, &old, &new), moved(end, &old, &new)));
    }
}

/// Where a caret at `at` in the old text goes in the new one.
fn moved(at: u32, old: &[u16], new: &[u16]) -> u32 {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let at = at as usize;
    let place = if at <= head {
        at
    } else if at >= old.len() - tail {
        at + new.len() - old.len()
    } else {
        new.len() - tail
    };
    place as u32
}

#[cfg(test)]
mod tests {
    use super::moved;

    fn after(old: &str, new: &str, at: u32) -> u32 {
        let units = |t: &str| t.encode_utf16().collect::<Vec<u16>>();
        moved(at, &units(old), &units(new))
    }

    #[test]
    fn the_caret_stays_at_its_words() {
        let (old, new) = ("mesh rows:2\nlayout batch:rows", "mesh rows:16\nlayout batch:rows");
        assert_eq!(after(old, new, 4), 4);
        assert_eq!(after(old, new, 19), 20);
        assert_eq!(after(new, old, 20), 19);
        assert_eq!(after("abc", "abXYc", 3), 5);
        assert_eq!(after("abc", "", 2), 0);
        assert_eq!(after("aXXc", "ac", 2), 1);
    }
}
