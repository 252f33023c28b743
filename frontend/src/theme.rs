//! Light and dark: the system's wish unless the user says otherwise; kept in local storage. Also
//! the other things a browser remembers between visits.

use crate::state::Theme;
use leptos::prelude::window;
use meshwork_engine::picture::palette::{DARK, LIGHT};
use wasm_bindgen::JsCast as _;
use web_sys::CssStyleSheet;

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

/// Gives the page the colours of the engine's palette, as the first rule of the style sheet, so
/// that they exist once.
pub fn paint() {
    let sheet = window().document().and_then(|d| d.style_sheets().item(0));
    if let Some(sheet) = sheet.and_then(|s| s.dyn_into::<CssStyleSheet>().ok()) {
        // a rule that is well formed is not refused
        drop(sheet.insert_rule_with_index(&palette(), 0));
    }
}

/// `:root{--pic-paper:light-dark(#ffffff,#11161f);…}`: every colour for both themes.
fn palette() -> String {
    let (light, dark) = (LIGHT.variables(), DARK.variables());
    let mut rule = ":root{".to_owned();
    let names = light.split_terminator(';').zip(dark.split_terminator(';'));
    for ((name, light), (_, dark)) in
        names.filter_map(|(light, dark)| Some((light.split_once(':')?, dark.split_once(':')?)))
    {
        rule.extend([name, ":light-dark(", light, ",", dark, ");"]);
    }
    rule + "}"
}

#[cfg(test)]
mod tests {
    use super::palette;

    #[test]
    fn every_colour_of_the_palette_is_there_for_both_themes() {
        let rule = palette();
        assert!(rule.starts_with(":root{--pic-paper:light-dark(#"));
        assert_eq!(rule.matches("light-dark(#").count(), rule.matches("--pic-").count());
        assert_eq!(rule.matches(",#").count(), rule.matches("--pic-").count());
    }
}
