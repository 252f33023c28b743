//! A processor picked anywhere is lit everywhere.
//!
//! Marks and table rows name their processors in `data-p`. One rule at the end of the style sheet
//! lights those that name a processor in question, so picking costs one rule, not one update per
//! mark. The same listeners show the tip of the mark under the pointer.

use crate::state::Studio;
use leptos::prelude::*;
use std::fmt::Write as _;
use wasm_bindgen::JsCast as _;
use web_sys::{CssStyleSheet, Element, MouseEvent};

/// More processors under one mark than this are not lit one by one.
const MOST: usize = 64;

/// The tip that floats at the pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct Tip {
    /// What it says.
    pub text: String,
    /// Where.
    pub x: f64,
    /// Where.
    pub y: f64,
}

/// Lights what is picked and hovered, for as long as the studio is open.
pub fn light(studio: Studio) {
    let lit = studio.watch(|v| (v.picked, v.hovered.clone()));
    Effect::new(move |_| {
        lit.with(|(picked, hovered)| set_rule(&rules(*picked, hovered.as_deref())));
    });
}

fn rules(picked: Option<u32>, hovered: Option<&str>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(p) = picked {
        out.push(format!(
            "[data-p~=\"{p}\"],[data-p=\"all\"]{{--lit:var(--picked);--lit-width:2.5px}}"
        ));
    }
    let Some(holders) = hovered.filter(|h| *h != "all") else { return out };
    let mut selector = String::new();
    for p in holders.split(' ').take(MOST).filter(|p| p.parse::<u32>().is_ok()) {
        let comma = if selector.is_empty() { "" } else { "," };
        _ = write!(selector, "{comma}[data-p~=\"{p}\"]");
    }
    if !selector.is_empty() {
        out.push(format!("{selector}{{--lit:var(--hovered);--lit-width:2.5px}}"));
    }
    out
}

/// Puts the rules after those of the style sheet, instead of the ones put there before.
fn set_rule(rules: &[String]) {
    let Some(sheet) =
        document().style_sheets().item(0).and_then(|s| s.dyn_into::<CssStyleSheet>().ok())
    else {
        return;
    };
    let Ok(list) = sheet.css_rules() else { return };
    let is_ours = |i: u32| list.item(i).is_some_and(|r| r.css_text().starts_with("[data-p"));
    while list.length() > 0 && is_ours(list.length() - 1) {
        if sheet.delete_rule(list.length() - 1).is_err() {
            return;
        }
    }
    for rule in rules {
        if sheet.insert_rule_with_index(rule, list.length()).is_err() {
            return;
        }
    }
}

/// The nearest element around the event's target that carries the attribute, and its value.
fn carried(event: &MouseEvent, attribute: &str) -> Option<String> {
    let target: Element = event.target()?.dyn_into().ok()?;
    let holder = target.closest(&format!("[{attribute}]")).ok()??;
    holder.get_attribute(attribute)
}

/// The pointer rests on something: light its processors, show its tip.
pub fn hover(studio: Studio, tip: RwSignal<Option<Tip>>, event: &MouseEvent) {
    let holders = carried(event, "data-p");
    if studio.view.with_untracked(|v| v.hovered != holders) {
        studio.view.update(|v| v.hovered = holders);
    }
    let shown = carried(event, "data-tip").filter(|t| !t.is_empty()).map(|text| Tip {
        text,
        x: f64::from(event.client_x()),
        y: f64::from(event.client_y()),
    });
    if tip.with_untracked(|t| *t != shown) {
        tip.set(shown);
    }
}

/// A click on a mark picks its processor; on one that stands for several, the next of them; on
/// the only one that is picked already, none.
pub fn click(studio: Studio, event: &MouseEvent) {
    let Some(holders) = carried(event, "data-p").filter(|h| h != "all") else { return };
    let holders: Vec<u32> = holders.split(' ').filter_map(|p| p.parse().ok()).collect();
    studio.view.update(|v| v.picked = next(v.picked, &holders));
}

fn next(picked: Option<u32>, holders: &[u32]) -> Option<u32> {
    match picked.and_then(|p| holders.iter().position(|&h| h == p)) {
        None => holders.first().copied().or(picked),
        Some(at) => holders.get(at + 1).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clicks_go_through_the_holders_and_end_with_none() {
        assert_eq!(next(None, &[0, 2]), Some(0));
        assert_eq!(next(Some(0), &[0, 2]), Some(2));
        assert_eq!(next(Some(2), &[0, 2]), None);
        assert_eq!(next(Some(7), &[0, 2]), Some(0));
        assert_eq!(next(Some(7), &[]), Some(7));
    }

    #[test]
    fn the_rule_lights_exactly_the_processors_named() {
        let rules = rules(Some(3), Some("0 12"));
        assert!(rules[0].starts_with("[data-p~=\"3\"],[data-p=\"all\"]{"));
        assert!(rules[1].starts_with("[data-p~=\"0\"],[data-p~=\"12\"]{"));
        assert!(super::rules(None, Some("all")).is_empty());
    }
}
