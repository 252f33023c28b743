//! The address bar holds the whole study, and the run that is looked at.
//!
//! `/#1=…` is a study, `/runs/ID#1=…` a run with the study beside it, `/?mesh=…&layout=…&model=…`
//! a study that people can read, `/?study=ID` one that the server keeps because its link is too
//! long for a chat. While editing, the address is replaced, not pushed.

use crate::sight::one_frame_later;
use crate::{api, state::Studio};
use leptos::prelude::*;
use meshwork_engine::spec::url;
use std::time::Duration;
use wasm_bindgen::JsValue;

/// The wait after the last change before the address follows.
const SETTLE: Duration = Duration::from_millis(250);

/// What an address asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    /// The study it holds, if it holds one.
    pub text: Option<String>,
    /// The stored study it names.
    pub stored: Option<String>,
    /// The run it names.
    pub run: Option<String>,
    /// Why its study could not be opened, and what to do.
    pub problem: Option<String>,
}

/// Reads the address as it stands.
pub fn read() -> Asked {
    let location = window().location();
    let part = |p: Result<String, JsValue>| p.unwrap_or_default();
    parse(&part(location.pathname()), &part(location.search()), &part(location.hash()))
}

fn parse(path: &str, query: &str, fragment: &str) -> Asked {
    let run = path.strip_prefix("/runs/").map(|r| r.trim_end_matches('/').to_owned());
    let stored = query
        .trim_start_matches('?')
        .split('&')
        .find_map(|pair| pair.strip_prefix("study="))
        .map(str::to_owned);
    let mut asked = Asked { text: None, stored, run: run.filter(|r| !r.is_empty()), problem: None };
    for source in [fragment, query] {
        if asked.text.is_some() || source.len() < 2 {
            continue;
        }
        match url::decode(source) {
            Ok(text) => asked.text = text,
            Err(d) => {
                let mend = d.hints.first().map_or(String::new(), |h| format!(" {}", h.text));
                asked.problem = Some(format!("{}{mend}", d.message));
            }
        }
    }
    asked
}

/// The address of a study (and of the run beside it) on this server.
pub fn path(run: Option<&str>, text: &str) -> String {
    let fragment = url::encode(text);
    run.map_or_else(|| format!("/{fragment}"), |id| format!("/runs/{id}{fragment}"))
}

/// The whole link to the study.
pub fn link(text: &str) -> String {
    let origin = window().location().origin().unwrap_or_default();
    format!("{origin}{}", path(None, text))
}

/// The whole link to a stored study.
pub fn stored_link(id: &str) -> String {
    let origin = window().location().origin().unwrap_or_default();
    format!("{origin}/?study={id}")
}

/// A new entry in the browser's history: another page of the studio.
pub fn push(run: Option<&str>, text: &str) {
    if let Ok(history) = window().history() {
        drop(history.push_state_with_url(&JsValue::NULL, "", Some(&path(run, text))));
    }
}

fn replace(run: Option<&str>, text: &str) {
    let path = path(run, text);
    if let Ok(history) = window().history() {
        drop(history.replace_state_with_url(&JsValue::NULL, "", Some(&path)));
    }
}

/// Keeps address and text in step, both ways, for as long as the studio is open.
pub fn sync(studio: Studio, run: RwSignal<Option<String>>) {
    let waiting = StoredValue::new(None::<TimeoutHandle>);
    let text = one_frame_later(studio.text);
    Effect::new(move |_| {
        let text = text.get();
        let run = run.get();
        if let Some(handle) = waiting.get_value() {
            handle.clear();
        }
        let handle = set_timeout_with_handle(move || replace(run.as_deref(), &text), SETTLE);
        waiting.set_value(handle.ok());
    });
    let follow = move || open(studio, run, read());
    window_event_listener(leptos::ev::hashchange, move |_| follow());
    window_event_listener(leptos::ev::popstate, move |_| follow());
}

/// Shows what an address asks for.
pub fn open(studio: Studio, run: RwSignal<Option<String>>, asked: Asked) {
    if run.with_untracked(|r| *r != asked.run) {
        run.set(asked.run);
    }
    if let Some(text) = asked.text {
        studio.change(|_| text);
    } else if let Some(id) = asked.stored {
        leptos::task::spawn_local(async move {
            match api::study(&id).await {
                Ok(text) => studio.change(|_| text),
                Err(trouble) => studio.view.update(|v| v.notice = Some(trouble.message())),
            }
        });
    }
    if asked.problem.is_some() {
        studio.view.update(|v| v.notice = asked.problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_opens_the_study_it_was_made_of() {
        let text = "mesh all:2\nmodel two_layer\n";
        let asked = parse("/", "", &url::encode(text));
        assert_eq!(asked.text.as_deref(), Some(text));
        assert_eq!(asked.run, None);
    }

    #[test]
    fn a_run_has_its_own_path_and_the_study_beside_it() {
        let path = path(Some("r1"), "mesh all:2\n");
        let (path, fragment) = path.split_at(path.find('#').unwrap());
        let asked = parse(path, "", fragment);
        assert_eq!(asked.run.as_deref(), Some("r1"));
        assert_eq!(asked.text.as_deref(), Some("mesh all:2\n"));
    }

    #[test]
    fn a_broken_link_says_so_and_a_stored_study_is_named() {
        let asked = parse("/", "", "#1=????");
        assert!(asked.problem.is_some() && asked.text.is_none());
        assert_eq!(parse("/", "?study=abc", "").stored.as_deref(), Some("abc"));
        let readable = parse("/", "?mesh=all:2&model=two_layer", "").text.unwrap();
        assert!(readable.contains("mesh") && readable.contains("two_layer"));
    }
}
