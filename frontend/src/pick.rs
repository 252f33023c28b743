//! A processor picked anywhere is lit everywhere.
//!
//! Elements that stand for processors name them in `data-p`: rows of tables, and the outlines that
//! lie over pictures ([`Lit`] says which marks have one). One rule at the end of the style sheet
//! gives those that name a processor in question their colour. Which mark of a picture the pointer
//! is on, geometry says ([`mark_at`]). The same listeners show its tip.

use crate::state::Studio;
use leptos::prelude::*;
use meshwork_engine::index::Pnum;
use meshwork_engine::picture::scene::{Form, Mark, Scene};
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

/// The processors whose marks are lit.
#[derive(Debug, PartialEq, Eq)]
pub struct Lit {
    picked: Option<u32>,
    hovered: Vec<u32>,
}

impl Lit {
    /// Those picked and hovered; `None` when there are none.
    pub fn new(picked: Option<u32>, hovered: Option<&str>) -> Option<Self> {
        let hovered = hovered.unwrap_or_default().split(' ').take(MOST);
        let hovered: Vec<u32> = hovered.filter_map(|p| p.parse().ok()).collect();
        (picked.is_some() || !hovered.is_empty()).then_some(Self { picked, hovered })
    }

    /// Whether a mark that stands for these, of so many processors, is lit. One that stands for
    /// all is lit by a pick only: whatever the pointer is on, it would always be.
    pub fn lights(&self, pnums: &[Pnum], processors: u64) -> bool {
        let is_picked = self.picked.is_some_and(|p| pnums.contains(&Pnum(p)));
        let is_hovered = || {
            let is_all = pnums.len() as u64 >= processors;
            !is_all && self.hovered.iter().any(|&p| pnums.contains(&Pnum(p)))
        };
        is_picked || is_hovered()
    }
}

/// The topmost mark at a point of the scene that stands for processors or has something to say.
pub fn mark_at(scene: &Scene, at: (f64, f64)) -> Option<&Mark> {
    let told = scene.marks.iter().rev().filter(|m| !m.pnums.is_empty() || m.tip.is_some());
    told.into_iter().find(|m| holds(&m.form, at))
}

/// Whether a point lies in a form; lines and texts hold none.
fn holds(form: &Form, (px, py): (f64, f64)) -> bool {
    match form {
        Form::Rect { x, y, width, height, .. } => {
            (*x..=x + width).contains(&px) && (*y..=y + height).contains(&py)
        }
        Form::Polygon(points) => {
            let edges = points.iter().zip(points.iter().cycle().skip(1));
            // a ray from the point to the right crosses the edges an odd number of times
            let crossed = edges.filter(|&(&(ax, ay), &(bx, by))| {
                (ay > py) != (by > py) && px < ax + (bx - ax) * (py - ay) / (by - ay)
            });
            crossed.count() % 2 == 1
        }
        Form::Line(_) | Form::Text { .. } => false,
    }
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

/// The pointer moves inside a picture, which may have another mark there.
pub fn move_over(studio: Studio, tip: RwSignal<Option<Tip>>, event: &MouseEvent) {
    let target = event.target().and_then(|t| t.dyn_into::<Element>().ok());
    if target.is_some_and(|t| t.matches(".scene").unwrap_or(false)) {
        hover(studio, tip, event);
    }
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
    let words = |t: &Option<Tip>| t.as_ref().map(|t| t.text.clone());
    // a tip stays where it appeared
    if tip.with_untracked(words) != words(&shown) {
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
    use meshwork_engine::picture::scene::{Table, Tone};

    #[test]
    fn clicks_go_through_the_holders_and_end_with_none() {
        assert_eq!(next(None, &[0, 2]), Some(0));
        assert_eq!(next(Some(0), &[0, 2]), Some(2));
        assert_eq!(next(Some(2), &[0, 2]), None);
        assert_eq!(next(Some(7), &[0, 2]), Some(0));
        assert_eq!(next(Some(7), &[]), Some(7));
    }

    #[test]
    fn marks_of_what_is_picked_or_hovered_are_lit() {
        let all = |n: u32| (0..n).map(Pnum).collect::<Vec<_>>();
        assert_eq!(Lit::new(None, None), None);
        assert_eq!(Lit::new(None, Some("all")), None);
        let picked = Lit::new(Some(2), None).unwrap();
        assert!(picked.lights(&[Pnum(2)], 4) && picked.lights(&all(4), 4));
        assert!(!picked.lights(&all(2), 4));
        let hovered = Lit::new(None, Some("0 3")).unwrap();
        assert!(hovered.lights(&all(2), 4) && !hovered.lights(&all(4), 4));
    }

    #[test]
    fn the_topmost_mark_that_says_something_is_under_the_pointer() {
        let mark = |form: Form, p: u32| Mark {
            form,
            tone: Tone::Slice(0),
            pnums: vec![Pnum(p)],
            tip: None,
        };
        let rect = |x, p| mark(Form::Rect { x, y: 0.0, width: 10.0, height: 10.0, radius: 0.0 }, p);
        let roof = mark(Form::Polygon(vec![(0.0, 20.0), (10.0, 10.0), (20.0, 20.0)]), 2);
        let frame = Mark { pnums: Vec::new(), ..rect(0.0, 0) };
        let scene = Scene {
            width: 20.0,
            height: 20.0,
            title: String::new(),
            description: String::new(),
            marks: vec![rect(0.0, 0), rect(5.0, 1), roof, frame],
            table: Table::default(),
        };
        let under = |x, y| mark_at(&scene, (x, y)).map(|m| m.pnums[0].0);
        assert_eq!(
            [under(2.0, 5.0), under(7.0, 5.0), under(14.0, 5.0)],
            [Some(0), Some(1), Some(1)]
        );
        assert_eq!([under(10.0, 15.0), under(2.0, 15.0), under(19.0, 5.0)], [Some(2), None, None]);
    }

    #[test]
    fn the_rule_lights_exactly_the_processors_named() {
        let rules = rules(Some(3), Some("0 12"));
        assert!(rules[0].starts_with("[data-p~=\"3\"],[data-p=\"all\"]{"));
        assert!(rules[1].starts_with("[data-p~=\"0\"],[data-p~=\"12\"]{"));
        assert!(super::rules(None, Some("all")).is_empty());
    }
}
