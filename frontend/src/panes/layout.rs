//! The layout grid: a row per tensor dimension, a column per mesh dimension; a cell sends the one
//! to the other. The same as a menu per row, for narrow screens and for those who prefer it.

use crate::icons::{Icon, icon};
use crate::state::{LayoutAs, Studio};
use crate::what_if::{self, Verdict};
use crate::widgets::Stepper;
use leptos::prelude::*;
use meshwork_engine::layout::dims::Dimension;
use meshwork_engine::spec::edit;
use meshwork_engine::study::Study;
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlElement, KeyboardEvent};

/// What the grid shows.
#[derive(Debug, Clone, PartialEq, Default)]
struct Grid {
    /// Tensor dimensions with their rules, outermost mesh dimension first.
    rows: Vec<(String, Vec<String>)>,
    /// Mesh dimensions.
    columns: Vec<String>,
}

impl Grid {
    fn of(study: &Study, dims: &[Dimension]) -> Self {
        let rule = |dim: &str| {
            let rules = study.rules().rules().iter();
            let found = rules.filter(|r| &*r.dim == dim).flat_map(|r| r.mesh_dims.iter());
            found.map(ToString::to_string).collect::<Vec<_>>()
        };
        Self {
            rows: dims.iter().map(|d| (d.name.to_string(), rule(&d.name))).collect(),
            columns: study.mesh().dims().iter().map(|d| d.name.to_string()).collect(),
        }
    }

    fn rule(&self, dim: &str) -> Vec<String> {
        self.rows.iter().find(|(d, _)| d == dim).map_or(Vec::new(), |(_, r)| r.clone())
    }
}

/// The rule with one mesh dimension more or less.
fn toggled(rule: &[String], mesh_dim: &str) -> Vec<String> {
    let mut out: Vec<String> = rule.iter().filter(|m| *m != mesh_dim).cloned().collect();
    if out.len() == rule.len() {
        out.push(mesh_dim.to_owned());
    }
    out
}

/// The editor of the layout rules.
#[component]
pub fn LayoutEditor(studio: Studio) -> impl IntoView {
    let grid = Memo::new(move |_| studio.shown.with(|s| Grid::of(&s.study, &s.study.dims())));
    let verdicts = what_if::verdicts(studio);
    let rows =
        Memo::new(move |_| grid.with(|g| g.rows.iter().map(|r| r.0.clone()).collect::<Vec<_>>()));
    let columns = Memo::new(move |_| grid.with(|g| g.columns.clone()));
    let shown_as = studio.watch(|v| v.layout);
    view! {
        <section class="pane pane-layout" aria-labelledby="layout-head">
            <header class="pane-head">
                <h2 id="layout-head">"Layout"</h2>
                <div class="segments" role="group" aria-label="Show the layout as">
                    <button
                        aria-pressed=move || (shown_as.get() == LayoutAs::Grid).to_string()
                        on:click=move |_| studio.view.update(|v| v.layout = LayoutAs::Grid)
                    >
                        "Grid"
                    </button>
                    <button
                        aria-pressed=move || (shown_as.get() == LayoutAs::Menus).to_string()
                        on:click=move |_| studio.view.update(|v| v.layout = LayoutAs::Menus)
                    >
                        "Menus"
                    </button>
                </div>
            </header>
            <Show
                when=move || rows.with(|r| !r.is_empty())
                fallback=|| view! {
                    <p class="empty">"A model gives the tensor dimensions that can be split here."</p>
                }
            >
                <Show
                    when=move || shown_as.get() == LayoutAs::Menus
                    fallback=move || view! {
                        <GridView studio=studio grid=grid rows=rows columns=columns verdicts=verdicts />
                    }
                >
                    <MenuView studio=studio grid=grid rows=rows columns=columns />
                </Show>
            </Show>
        </section>
    }
}

#[component]
fn GridView(
    studio: Studio,
    grid: Memo<Grid>,
    rows: Memo<Vec<String>>,
    columns: Memo<Vec<String>>,
    verdicts: Signal<what_if::Verdicts>,
) -> impl IntoView {
    let at = RwSignal::new((0_usize, 0_usize));
    let on_key = move |ev: KeyboardEvent| {
        let Some(cell) = ev.target().and_then(|t| t.dyn_into::<HtmlElement>().ok()) else { return };
        if cell.get_attribute("role").as_deref() != Some("gridcell") {
            return;
        }
        let (r, c) = at.get_untracked();
        let last_row = rows.with_untracked(Vec::len).saturating_sub(1);
        let last_column = columns.with_untracked(Vec::len).saturating_sub(1);
        let to = match ev.key().as_str() {
            "ArrowUp" => (r.saturating_sub(1), c),
            "ArrowDown" => ((r + 1).min(last_row), c),
            "ArrowLeft" => (r, c.saturating_sub(1)),
            "ArrowRight" => (r, (c + 1).min(last_column)),
            "Home" => (r, 0),
            "End" => (r, last_column),
            " " | "Enter" => {
                ev.prevent_default();
                cell.click();
                return;
            }
            _ => return,
        };
        ev.prevent_default();
        at.set(to);
        focus_cell(to);
    };
    view! {
        <div class="grid-scroll">
            <table
                class="layout-grid"
                role="grid"
                aria-label="Layout: tensor dimensions by mesh dimensions"
                on:keydown=on_key
            >
                <thead>
                    <tr role="row">
                        <th role="columnheader" scope="col" class="corner">
                            "Tensor dimension"
                        </th>
                        {move || columns
                            .get()
                            .into_iter()
                            .map(|c| view! { <th role="columnheader" scope="col"><span>{c}</span></th> })
                            .collect_view()}
                    </tr>
                </thead>
                <tbody>
                    {move || {
                        let columns = columns.get();
                        rows.get()
                            .into_iter()
                            .enumerate()
                            .map(|(r, dim)| {
                                let cells = columns.iter().enumerate().map(|(c, mesh_dim)| {
                                    cell(Cell { studio, grid, verdicts, at, place: (r, c), dim: dim.clone(), mesh_dim: mesh_dim.clone() })
                                });
                                view! {
                                    <tr role="row">
                                        <th role="rowheader" scope="row">
                                            <DimSize studio=studio dim=dim.clone() />
                                        </th>
                                        {cells.collect_view()}
                                    </tr>
                                }
                            })
                            .collect_view()
                    }}
                </tbody>
            </table>
        </div>
    }
}

struct Cell {
    studio: Studio,
    grid: Memo<Grid>,
    verdicts: Signal<what_if::Verdicts>,
    at: RwSignal<(usize, usize)>,
    place: (usize, usize),
    dim: String,
    mesh_dim: String,
}

/// What a cell shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    /// The dimension is not split over it.
    Whole,
    /// It is not, and could not be.
    Never,
    /// It is split over it alone.
    Split,
    /// It is, and should not be.
    Wrong,
    /// It is split over several, over this one at this place among them.
    Place(usize),
}

fn cell(cell: Cell) -> impl IntoView {
    let Cell { studio, grid, verdicts, at, place, dim, mesh_dim } = cell;
    let key = StoredValue::new((dim.clone(), mesh_dim.clone()));
    let order = Memo::new(move |_| {
        let (dim, mesh_dim) = key.get_value();
        let rule = grid.with(|g| g.rule(&dim));
        let position = rule.iter().position(|m| *m == mesh_dim);
        position.map(|p| (rule.len() > 1).then_some(p + 1))
    });
    let verdict = Memo::new(move |_| verdicts.with(|v| key.with_value(|k| v.get(k).cloned())));
    let is_bad = move || verdict.with(|v| matches!(v, Some(Verdict::Illegal(_))));
    let says = move || verdict.with(|v| v.as_ref().map(Verdict::words).unwrap_or_default());
    let face = Memo::new(move |_| match order.get() {
        Some(Some(n)) => Face::Place(n),
        Some(None) if is_bad() => Face::Wrong,
        Some(None) => Face::Split,
        None if is_bad() => Face::Never,
        None => Face::Whole,
    });
    let label = format!("{dim} over {mesh_dim}");
    let described = move || {
        let state = if order.get().is_some() { "split" } else { "not split" };
        format!("{label}: {state}. {}", says())
    };
    view! {
        <td
            role="gridcell"
            id=format!("cell-{}-{}", place.0, place.1)
            class="cell"
            class:on=move || order.get().is_some()
            class:illegal=is_bad
            tabindex=move || if at.get() == place { "0" } else { "-1" }
            aria-selected=move || order.get().is_some().to_string()
            aria-label=described
            data-tip=says
            on:click=move |_| {
                at.set(place);
                let (dim, mesh_dim) = key.get_value();
                let rule = toggled(&grid.with_untracked(|g| g.rule(&dim)), &mesh_dim);
                studio.change(|t| edit::set_rule(t, &dim, &rule));
            }
        >
            <span class="box">
                {move || match face.get() {
                    Face::Place(n) => n.to_string().into_any(),
                    Face::Wrong => icon(Icon::Error).into_any(),
                    Face::Split => icon(Icon::Check).into_any(),
                    Face::Never => view! { <span class="no">"×"</span> }.into_any(),
                    Face::Whole => ().into_any(),
                }}
            </span>
        </td>
    }
}

fn focus_cell((row, column): (usize, usize)) {
    let cell = document().get_element_by_id(&format!("cell-{row}-{column}"));
    if let Some(cell) = cell.and_then(|e| e.dyn_into::<HtmlElement>().ok()) {
        // a shown element with a tabindex takes the focus
        drop(cell.focus());
    }
}

/// A tensor dimension with its size to edit.
#[component]
fn DimSize(studio: Studio, dim: String) -> impl IntoView {
    let name = StoredValue::new(dim.clone());
    let size = Memo::new(move |_| {
        studio.dims.with(|dims| {
            dims.iter().find(|d| name.with_value(|n| *n == *d.name)).map_or(1, |d| d.size)
        })
    });
    let resize = move |n: u64| studio.change(|t| name.with_value(|dim| edit::set_size(t, dim, n)));
    view! {
        <span class="dim">
            <span class="dim-name">{dim.clone()}</span>
            <Stepper
                label=format!("Size of {dim}")
                value=size
                doubling=true
                on_change=Callback::new(resize)
            />
        </span>
    }
}

#[component]
fn MenuView(
    studio: Studio,
    grid: Memo<Grid>,
    rows: Memo<Vec<String>>,
    columns: Memo<Vec<String>>,
) -> impl IntoView {
    view! {
        <ul class="layout-menus">
            <For each=move || rows.get() key=Clone::clone let:dim>
                <li>
                    <DimSize studio=studio dim=dim.clone() />
                    <RuleMenu studio=studio grid=grid columns=columns dim=dim />
                </li>
            </For>
        </ul>
    }
}

#[component]
fn RuleMenu(
    studio: Studio,
    grid: Memo<Grid>,
    columns: Memo<Vec<String>>,
    dim: String,
) -> impl IntoView {
    let name = StoredValue::new(dim.clone());
    let rule = Memo::new(move |_| grid.with(|g| name.with_value(|n| g.rule(n))));
    // the mesh dimensions one by one, and the rule as it stands where it is a list
    let choices = Memo::new(move |_| {
        let mut all = columns.get();
        let now = rule.with(|r| r.join("+"));
        if !now.is_empty() && !all.contains(&now) {
            all.push(now);
        }
        all
    });
    let pick = move |ev: web_sys::Event| {
        let value = event_target_value(&ev);
        let rule: Vec<String> =
            value.split('+').filter(|m| !m.is_empty()).map(str::to_owned).collect();
        studio.change(|t| name.with_value(|dim| edit::set_rule(t, dim, &rule)));
    };
    view! {
        <select aria-label=format!("Split {dim} over") on:change=pick>
            <option value="" selected=move || rule.with(Vec::is_empty)>
                "whole"
            </option>
            {move || {
                let now = rule.with(|r| r.join("+"));
                choices
                    .get()
                    .into_iter()
                    .map(|c| {
                        let is_it = c == now;
                        let words = format!("over {c}");
                        view! { <option value=c selected=is_it>{words}</option> }
                    })
                    .collect_view()
            }}
        </select>
    }
}

#[cfg(test)]
mod tests {
    use super::toggled;

    #[test]
    fn toggling_adds_at_the_end_and_takes_away() {
        let rule = ["rows".to_owned()];
        assert_eq!(toggled(&rule, "cols"), ["rows", "cols"]);
        assert!(toggled(&rule, "rows").is_empty());
        assert_eq!(toggled(&[], "rows"), ["rows"]);
    }
}
