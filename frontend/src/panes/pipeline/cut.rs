//! The cut of the model: a strip of its layers, as wide as they cost, with the boundaries between
//! stages; and each stage in words, with buttons that move the boundary after it.

use super::Look;
use super::change::apply;
use crate::format;
use crate::icons::{Icon, icon};
use crate::state::Studio;
use leptos::prelude::*;
use meshwork_engine::index::{Idx as _, Stage};
use meshwork_engine::staging::change::Change;
use meshwork_engine::staging::outlook::{Outlook, Part};
use web_sys::Element;

/// More layers than this are not named one by one.
const MOST_NAMES: usize = 6;

/// A layer of the strip.
#[derive(Clone, PartialEq)]
struct Layer {
    name: String,
    cost: f64,
    /// Of the costliest layer's.
    share: f64,
    unit: &'static str,
    stage: usize,
    is_first: bool,
}

fn layers(look: &Outlook) -> Vec<Layer> {
    let greatest = most(look.layers().map(|(_, cost)| cost));
    let mut out: Vec<Layer> = look
        .layers()
        .map(|(name, cost)| {
            let (name, share, unit) = (name.to_owned(), cost / greatest, look.unit());
            Layer { name, cost, share, unit, stage: 0, is_first: false }
        })
        .collect();
    for (stage, part) in look.stages.entries() {
        for (i, layer) in out[part.layers.clone()].iter_mut().enumerate() {
            (layer.stage, layer.is_first) = (stage.index(), i == 0);
        }
    }
    out
}

/// A stage in words.
#[derive(Clone, PartialEq)]
struct Row {
    stage: usize,
    /// Where it is: `cell 1`.
    cells: String,
    layers: String,
    cost: String,
    /// Of the costliest stage's.
    share: f64,
    /// Whether the boundary after it can go back, and on; nothing for the last stage.
    moves: Option<(bool, bool)>,
}

/// The greatest cost, above 0, so that others have a share of it.
fn most(costs: impl Iterator<Item = f64>) -> f64 {
    costs.fold(f64::MIN_POSITIVE, f64::max)
}

fn rows(look: &Outlook) -> Vec<Row> {
    let names: Vec<&str> = look.layers().map(|(name, _)| name).collect();
    let most = most(look.stages.iter().map(|part| part.cost));
    let can = |stage, on| look.moved(stage, on).is_some();
    let row = |(stage, part): (Stage, &Part)| {
        let mine = &names[part.layers.clone()];
        let layers = match mine {
            [first, .., last] if mine.len() > MOST_NAMES => {
                format!("{first} … {last} ({})", mine.len())
            }
            _ => mine.join(", "),
        };
        let is_last = stage.index() + 1 == look.stages.len();
        Row {
            stage: stage.index(),
            cells: format::cells(
                &part.cells.iter().map(|cell| u64::from(cell.0)).collect::<Vec<_>>(),
            ),
            layers,
            cost: format!("{} {}", format::count(part.cost), look.unit()),
            share: part.cost / most,
            moves: (!is_last).then(|| (can(stage, false), can(stage, true))),
        }
    };
    look.stages.entries().map(row).collect()
}

/// The cut.
#[component]
pub fn Cut(studio: Studio, look: Memo<Option<Look>>) -> impl IntoView {
    let strip =
        Memo::new(move |_| look.with(|l| l.as_ref().map(|l| layers(l)).unwrap_or_default()));
    let rows = Memo::new(move |_| look.with(|l| l.as_ref().map(|l| rows(l)).unwrap_or_default()));
    let by_hand = Memo::new(move |_| look.with(|l| l.as_ref().is_some_and(|l| l.is_cut_by_hand())));
    let by_costs =
        Memo::new(move |_| look.with(|l| l.as_ref().is_some_and(|l| l.unit() != "flop")));
    let count = Memo::new(move |_| rows.with(Vec::len));
    view! {
        <div class="cut">
            <div class="cut-head">
                <h3>"Layers of each stage"</h3>
                <span class="muted">
                    {move || match (by_hand.get(), by_costs.get()) {
                        (true, _) => "counted by hand",
                        (false, true) => "the most even cut by the costs given",
                        (false, false) => "the most even cut",
                    }}
                </span>
                <Show when=move || by_hand.get()>
                    <button class="quiet small" on:click=move |_| apply(studio, look, &Change::EvenCut)>
                        "Cut evenly"
                    </button>
                </Show>
                <Show when=move || by_costs.get()>
                    <button
                        class="quiet small"
                        data-tip="Forget the costs that the study gives its layers"
                        on:click=move |_| apply(studio, look, &Change::NoCosts)
                    >
                        "Cut by operations"
                    </button>
                </Show>
            </div>
            <div class="strip" aria-hidden="true">
                {move || strip.get().into_iter().map(|Layer { name, cost, share, unit, stage, is_first }| view! {
                    <span
                        class="strip-layer"
                        class:first=is_first
                        class:second=stage % 2 == 1
                        style:flex-grow=format!("{:.3}", (100.0 * share).max(0.001))
                        data-tip=format!("{name}: {} {unit} per micro-batch, stage {stage}", format::exact(cost))
                    >
                        <span class="strip-name">{name.clone()}</span>
                    </span>
                }).collect_view()}
            </div>
            <ol class="stages">
                <For each=move || 0..count.get() key=|i| *i let:i>
                    <StageRow studio=studio look=look rows=rows i=i />
                </For>
            </ol>
            <Costs layers=strip />
        </div>
    }
}

/// What each layer costs, in numbers: the twin of the strip.
#[component]
fn Costs(layers: Memo<Vec<Layer>>) -> impl IntoView {
    // nobody pays for rows that are folded away
    let is_open = RwSignal::new(false);
    let rows = move || if is_open.get() { layers.get() } else { Vec::new() };
    view! {
        <details
            class="schedules"
            on:toggle=move |ev| is_open.set(event_target::<Element>(&ev).has_attribute("open"))
        >
            <summary>"What each layer costs"</summary>
            <table class="beside">
                <caption class="visually-hidden">"What each layer costs, for one micro-batch"</caption>
                <thead>
                    <tr>
                        <th scope="col">"layer"</th>
                        <th scope="col">"stage"</th>
                        <th scope="col">
                            {move || layers.with(|l| l.first().map_or("", |l| l.unit))} " per micro-batch"
                        </th>
                    </tr>
                </thead>
                <tbody>
                    {move || rows().into_iter().map(|Layer { name, cost, stage, .. }| view! {
                        <tr>
                            <th scope="row" class="mono">{name}</th>
                            <td class="number">{stage}</td>
                            <td class="number">{format::exact(cost)}</td>
                        </tr>
                    }).collect_view()}
                </tbody>
            </table>
        </details>
    }
}

/// A stage; its buttons stay, and keep the focus, while layers come and go.
#[component]
fn StageRow(
    studio: Studio,
    look: Memo<Option<Look>>,
    rows: Memo<Vec<Row>>,
    i: usize,
) -> impl IntoView {
    let row = Memo::new(move |_| rows.with(|rows| rows.get(i).cloned()));
    let part =
        move |of: fn(&Row) -> String| move || row.with(|r| r.as_ref().map(of).unwrap_or_default());
    let can = move |on: bool| {
        row.with(|r| {
            r.as_ref()
                .and_then(|r| r.moves)
                .is_some_and(|(back, forth)| if on { forth } else { back })
        })
    };
    let is_last = Memo::new(move |_| row.with(|r| r.as_ref().is_none_or(|r| r.moves.is_none())));
    let shift = move |on: bool| {
        if can(on) {
            apply(studio, look, &Change::Boundary { after: Stage::new(i), on });
        }
    };
    view! {
        <li class="stage">
            <span class="stage-name">{part(|r| format!("stage {} on {}", r.stage, r.cells))}</span>
            <span class="stage-layers mono">{part(|r| r.layers.clone())}</span>
            <span class="stage-cost">
                <span class="bar" aria-hidden="true">
                    <span class="bar-fill" style:width=move || format!("{:.1}%", 100.0 * row.with(|r| r.as_ref().map_or(0.0, |r| r.share)))></span>
                </span>
                <span class="number" data-tip="What one micro-batch costs, forward and backward">
                    {part(|r| r.cost.clone())}
                </span>
            </span>
            <span class="stage-moves">
                <Show when=move || !is_last.get()>
                    <button
                        class="tool"
                        aria-label=format!("Boundary after stage {i}: a layer less")
                        data-tip=format!("Give the last layer of stage {i} to the next")
                        aria-disabled=move || (!can(false)).to_string()
                        on:click=move |_| shift(false)
                    >
                        {icon(Icon::Minus)}
                    </button>
                    <button
                        class="tool"
                        aria-label=format!("Boundary after stage {i}: a layer more")
                        data-tip=format!("Take the first layer of the next stage into stage {i}")
                        aria-disabled=move || (!can(true)).to_string()
                        on:click=move |_| shift(true)
                    >
                        {icon(Icon::Plus)}
                    </button>
                </Show>
            </span>
        </li>
    }
}
