//! Light and dark: the system's wish unless the user says otherwise; kept in local storage. Also
//! the other things a browser remembers between visits.

use crate::state::{Studio, Theme};
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;

const THEME: &str = "meshwork.theme";
const INTRO: &str = "meshwork.intro";

/// The theme chosen on an earlier visit.
pub fn remembered() -> Theme {
    match read(THEME).as_deref() {
        Some("light") => Theme::Light,
        Some("dark") => Theme::Dark,
        _ => Theme::System,
    }
}

/// Shows a theme and remembers it.
pub fn apply(theme: Theme) {
    let name = match theme {
        Theme::System => "system",
        Theme::Light => "light",
        Theme::Dark => "dark",
    };
    if let Some(root) = window().document().and_then(|d| d.document_element()) {
        // an attribute name that is valid cannot be refused
        drop(root.set_attribute("data-theme", name));
    }
    write(THEME, name);
}

/// What pictures must know of the screen, because a canvas does not follow it by itself.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Whether it is dark, by the user's choice or the system's.
    pub dark: Memo<bool>,
    /// Its pixels per CSS pixel.
    pub density: Memo<f64>,
}

impl Screen {
    /// Follows the screen, for as long as the studio is open.
    pub fn watched(studio: Studio) -> Self {
        let wish = window().match_media("(prefers-color-scheme: dark)").ok().flatten();
        let system = RwSignal::new(wish.as_ref().is_some_and(web_sys::MediaQueryList::matches));
        if let Some(wish) = wish {
            let asked = wish.clone();
            let note = Closure::<dyn FnMut()>::new(move || system.set(asked.matches()));
            wish.set_onchange(Some(note.into_js_value().unchecked_ref()));
        }
        let chosen = studio.watch(|v| v.theme);
        let dark = Memo::new(move |_| match chosen.get() {
            Theme::System => system.get(),
            Theme::Light => false,
            Theme::Dark => true,
        });
        let now = || window().device_pixel_ratio().max(0.5);
        let density = RwSignal::new(now());
        // zooming and going to another screen resize the window
        window_event_listener(leptos::ev::resize, move |_| density.set(now()));
        Self { dark, density: Memo::new(move |_| density.get()) }
    }
}

/// Whether the introduction was not dismissed on an earlier visit.
pub fn is_newcomer() -> bool {
    read(INTRO).as_deref() != Some("dismissed")
}

/// The introduction is not wanted again, or is again.
pub fn remember_intro(open: bool) {
    write(INTRO, if open { "open" } else { "dismissed" });
}

fn read(key: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(key).ok()?
}

/// A browser that keeps nothing (private mode, full) only forgets the choice.
fn write(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        drop(storage.set_item(key, value));
    }
}
