//! What each cell of the layout grid would lead to, computed a moment after the study settled, so
//! that a click never waits for it.

use crate::format;
use crate::state::Studio;
use leptos::prelude::*;
use meshwork_engine::diag::Code;
use meshwork_engine::layout::dims::Shape;
use meshwork_engine::spec::edit;
use meshwork_engine::study::Study;
use std::collections::BTreeMap;
use std::time::Duration;

/// The wait after the last change.
const SETTLE: Duration = Duration::from_millis(120);
/// Larger grids are not tried cell by cell.
const MOST_CELLS: usize = 48;

/// What a click on a cell leads to; on a cell that is on, what the rule as it stands does.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The layout is (or would be) illegal, for this reason.
    Illegal(String),
    /// The layout would be legal; bytes that a processor sends then, and now if known.
    Legal(f64, Option<f64>),
    /// Nothing to say.
    Silent,
}

impl Verdict {
    /// As words.
    pub fn words(&self) -> String {
        match self {
            Self::Illegal(why) => why.clone(),
            Self::Legal(then, None) => format!("A processor would send {}.", format::bytes(*then)),
            Self::Legal(then, Some(now)) => format!(
                "A processor would send {} per step instead of {}.",
                format::bytes(*then),
                format::bytes(*now)
            ),
            Self::Silent => String::new(),
        }
    }
}

/// Verdicts by tensor dimension and mesh dimension.
pub type Verdicts = BTreeMap<(String, String), Verdict>;

/// The verdicts on the shown study, following it at a distance.
pub fn verdicts(studio: Studio) -> Signal<Verdicts> {
    let verdicts = RwSignal::new(Verdicts::new());
    let waiting = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        let shown = studio.told.get();
        if let Some(handle) = waiting.get_value() {
            handle.clear();
        }
        // reasons against the layout as it stands do not wait; what was not possible a moment ago
        // stays crossed out until it is judged again, so that crosses do not flicker
        verdicts.update(|v| *v = meanwhile(&shown.study, v));
        let judge = move || verdicts.set(judged(&shown.study));
        waiting.set_value(set_timeout_with_handle(judge, SETTLE).ok());
    });
    verdicts.into()
}

fn rule_of(study: &Study, dim: &str) -> Vec<String> {
    let rule = study.rules().rules().iter().find(|r| &*r.dim == dim);
    rule.map_or(Vec::new(), |r| r.mesh_dims.iter().map(ToString::to_string).collect())
}

/// The names that a message quotes: dimensions, and mesh dimensions joined with `+`.
pub fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).flat_map(|q| q.split('+')).collect()
}

/// Why a tensor cannot be cut as the rules say: the layout error that names its dimensions.
pub fn reason_against(study: &Study, shape: &Shape) -> Option<String> {
    let errors = || study.diagnostics().iter().filter(|d| d.is_error() && is_layout(d.code));
    let about = errors().find(|d| {
        let named = quoted(&d.message).into_iter().filter(|q| shape.has(q)).count();
        named >= if d.code == Code::MeshDimensionTwice { 2 } else { 1 }
    });
    about.or_else(|| errors().next()).map(|d| without_tensors(&d.message))
}

/// A layout error without the names of the tensors it speaks of: the card names its own.
fn without_tensors(message: &str) -> String {
    let about = message.split_once(" cannot be laid out: ").map_or(message, |(_, why)| why);
    let about = about.split("; so do").next().unwrap_or(about);
    format!("Cannot be cut like this: {about}.")
}

/// The cells whose rule, as it stands, an error speaks of.
fn standing(study: &Study) -> Verdicts {
    let mut out = Verdicts::new();
    for d in study.diagnostics().iter().filter(|d| d.is_error() && is_layout(d.code)) {
        let named = quoted(&d.message);
        for rule in study.rules().rules().iter().filter(|r| named.contains(&&*r.dim)) {
            for m in rule.mesh_dims.iter().filter(|m| named.contains(&&***m)) {
                let cell = (rule.dim.to_string(), m.to_string());
                out.entry(cell).or_insert_with(|| Verdict::Illegal(d.message.clone()));
            }
        }
    }
    out
}

/// What can be said before anything was tried, given what was said about the study before.
fn meanwhile(study: &Study, before: &Verdicts) -> Verdicts {
    let mut out = standing(study);
    for (cell, verdict) in before {
        let is_off = !rule_of(study, &cell.0).contains(&cell.1);
        if is_off && matches!(verdict, Verdict::Illegal(_)) {
            out.entry(cell.clone()).or_insert_with(|| verdict.clone());
        }
    }
    out
}

fn judged(study: &Study) -> Verdicts {
    let mut out = standing(study);
    let (dims, mesh) = (study.dims(), study.mesh());
    if dims.len() * mesh.dims().len() > MOST_CELLS {
        return out;
    }
    let now = study.totals().map(|t| t.sent_bytes_per_processor);
    for dim in &dims {
        let rule = rule_of(study, &dim.name);
        for mesh_dim in mesh.dims() {
            let name = mesh_dim.name.to_string();
            let is_on = rule.contains(&name);
            let then: Vec<String> = if is_on {
                rule.iter().filter(|m| **m != name).cloned().collect()
            } else {
                rule.iter().cloned().chain([name.clone()]).collect()
            };
            let tried = Study::tried(&edit::set_rule(study.text(), &dim.name, &then));
            let verdict = match tried.totals() {
                Some(totals) => Verdict::Legal(totals.sent_bytes_per_processor, now),
                None if is_on => Verdict::Silent,
                None => illegal(&tried),
            };
            out.entry((dim.name.to_string(), name)).or_insert(verdict);
        }
    }
    out
}

fn illegal(study: &Study) -> Verdict {
    let is_why = |code| is_layout(code) || code == Code::Pipeline;
    let reason = study.diagnostics().iter().find(|d| d.is_error() && is_why(d.code));
    reason.map_or(Verdict::Silent, |d| Verdict::Illegal(format!("Not possible: {}", d.message)))
}

const fn is_layout(code: Code) -> bool {
    matches!(code, Code::MeshDimensionTwice | Code::NotDivisible)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(dim: &str, mesh_dim: &str) -> (String, String) {
        (dim.to_owned(), mesh_dim.to_owned())
    }

    #[test]
    fn a_cell_that_would_split_a_tensor_twice_says_so_before_the_click() {
        let study = Study::new(
            "mesh rows:2 cols:2\nlayout batch:rows\nmodel two_layer batch:8 io:4 hidden:8\n",
        );
        let verdicts = judged(&study);
        assert!(matches!(verdicts[&cell("hidden", "rows")], Verdict::Illegal(_)));
        assert!(matches!(verdicts[&cell("hidden", "cols")], Verdict::Legal(..)));
    }

    #[test]
    fn crosses_stay_until_their_cells_are_judged_again() {
        let text = "mesh rows:2 cols:2\nlayout batch:rows\nmodel two_layer batch:8 io:4 hidden:8\n";
        let before = judged(&Study::new(text));
        let after = meanwhile(&Study::new(&edit::set_rule(text, "batch", &[])), &before);
        let crossed = |v: &Verdicts| v.get(&cell("hidden", "rows")).cloned();
        assert_eq!(crossed(&after), crossed(&before));
        assert!(!after.contains_key(&cell("hidden", "cols")));
        let clicked = Study::new(&edit::set_rule(text, "hidden", &["rows".to_owned()]));
        let words = meanwhile(&clicked, &before)[&cell("hidden", "rows")].words();
        assert!(!words.starts_with("Not possible"), "{words}");
    }

    #[test]
    fn the_cells_of_an_illegal_layout_are_marked() {
        let study = Study::new(
            "mesh all:2\nlayout batch:all hidden:all\nmodel two_layer batch:8 io:4 hidden:8\n",
        );
        let verdicts = standing(&study);
        assert!(matches!(verdicts[&cell("batch", "all")], Verdict::Illegal(_)));
        assert!(matches!(verdicts[&cell("hidden", "all")], Verdict::Illegal(_)));
    }
}
