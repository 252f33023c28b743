//! The mesh: its dimensions to edit, presets, and the picture whose processors can be picked.

use crate::format;
use crate::icons::{Icon, icon};
use crate::state::Studio;
use crate::widgets::Stepper;
use leptos::prelude::*;
use meshwork_engine::layout::mesh::{MAX_MESH_DIMS, Mesh};
use meshwork_engine::spec::edit;
use meshwork_engine::staging::change::piped;
use meshwork_engine::study::Study;

const PRESETS: [(&str, &[(&str, u64)]); 3] = [
    ("1-D", &[("all", 2)]),
    ("2 × 2", &[("rows", 2), ("cols", 2)]),
    ("2 × 2 × 2", &[("rows", 2), ("cols", 2), ("planes", 2)]),
];

/// Names offered to new mesh dimensions, in this order.
const NAMES: [&str; MAX_MESH_DIMS] = ["rows", "cols", "planes", "depth", "m4", "m5", "m6", "m7"];

/// The name of a new mesh dimension for the cells of a pipeline, and how many there are.
const STAGES: (&str, u64) = ("stages", 2);

/// Mesh dimensions with their sizes.
type Pairs = Vec<(String, u64)>;

fn pairs(mesh: &Mesh) -> Pairs {
    mesh.dims().iter().map(|d| (d.name.to_string(), d.size)).collect()
}

/// The editor of the mesh.
#[component]
pub fn MeshEditor(studio: Studio) -> impl IntoView {
    let mesh: Memo<Pairs> = Memo::new(move |_| studio.mesh.with(pairs));
    let names = Memo::new(move |_| {
        mesh.with(|m: &Pairs| m.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>())
    });
    let change = move |edit: &dyn Fn(&mut Pairs)| {
        let mut pairs = mesh.get_untracked();
        edit(&mut pairs);
        studio.change(|t| edit::set_mesh(t, &pairs));
    };
    let add = move |_: web_sys::MouseEvent| {
        change(&|pairs: &mut Pairs| {
            let taken = |n: &str| pairs.iter().any(|(p, _)| p == n);
            if let Some(name) = NAMES.iter().find(|n| !taken(n)) {
                pairs.push(((*name).to_owned(), 2));
            }
        });
    };
    let can_pipe = Memo::new(move |_| {
        let is_room =
            mesh.with(|m| m.len() < MAX_MESH_DIMS && m.iter().all(|(n, _)| n != STAGES.0));
        let has_layers = |s: &Study| s.graph().layers.len() as u64 >= STAGES.1;
        is_room && studio.shown.with(|s| !s.study.is_pipeline() && !s.stale && has_layers(&s.study))
    });
    let pipe = move |_: web_sys::MouseEvent| {
        let dims = mesh.get_untracked();
        studio.change(|t| piped(t, &dims, STAGES.0, STAGES.1));
    };
    let processors = move || mesh.with(|m| m.iter().map(|(_, n)| n).product::<u64>());
    view! {
        <section class="pane pane-mesh" aria-labelledby="mesh-head">
            <header class="pane-head">
                <h2 id="mesh-head">"Mesh"</h2>
                <span class="pane-fact">{move || format::plural(processors(), "processor")}</span>
                <div class="segments" role="group" aria-label="Mesh presets">
                    {PRESETS
                        .iter()
                        .map(|&(label, preset)| {
                            let is_it = move || mesh.with(|m| m.iter().map(|(n, s)| (n.as_str(), *s)).eq(preset.iter().copied()));
                            view! {
                                <button
                                    aria-pressed=move || is_it().to_string()
                                    on:click=move |_| change(&|pairs: &mut Pairs| {
                                        *pairs = preset.iter().map(|&(n, s)| (n.to_owned(), s)).collect();
                                    })
                                >
                                    {label}
                                </button>
                            }
                        })
                        .collect_view()}
                </div>
            </header>
            <ul class="mesh-dims">
                <For each=move || names.get() key=Clone::clone let:name>
                    <MeshDimRow studio=studio mesh=mesh name=name />
                </For>
            </ul>
            <button
                class="quiet"
                prop:disabled=move || { mesh.with(Vec::len) >= MAX_MESH_DIMS }
                on:click=add
            >
                {icon(Icon::Plus)}
                <span>"Add mesh dimension"</span>
            </button>
            <Show when=move || can_pipe.get()>
                <button
                    class="quiet"
                    data-tip="Puts the layers on two cells along a new mesh dimension"
                    on:click=pipe
                >
                    {icon(Icon::Plus)}
                    <span>"Make it a pipeline"</span>
                </button>
            </Show>
        </section>
    }
}

#[component]
fn MeshDimRow(studio: Studio, mesh: Memo<Pairs>, name: String) -> impl IntoView {
    let name = StoredValue::new(name);
    let size = Memo::new(move |_| {
        mesh.with(|m| m.iter().find(|(n, _)| name.with_value(|me| n == me)).map_or(1, |&(_, s)| s))
    });
    let resize = move |new: u64| {
        let mut pairs = mesh.get_untracked();
        for (n, s) in &mut pairs {
            if name.with_value(|me| n == me) {
                *s = new.max(1);
            }
        }
        studio.change(|t| edit::set_mesh(t, &pairs));
    };
    let remove = move |_: web_sys::MouseEvent| {
        let mut pairs = mesh.get_untracked();
        pairs.retain(|(n, _)| name.with_value(|me| n != me));
        studio.change(|t| edit::set_mesh(t, &pairs));
    };
    let rename = move |new: String| {
        let new = new.trim();
        if !new.is_empty() && name.with_value(|me| me != new) {
            studio.change(|t| name.with_value(|old| edit::rename_mesh_dim(t, old, new)));
        }
    };
    let label = name.get_value();
    view! {
        <li class="mesh-dim">
            <input
                class="name-field"
                aria-label=format!("Name of mesh dimension {label}")
                prop:value=label.clone()
                size="8"
                spellcheck="false"
                autocomplete="off"
                on:change=move |ev| rename(event_target_value(&ev))
            />
            <Stepper
                label=format!("Size of mesh dimension {label}")
                value=size
                doubling=true
                on_change=Callback::new(resize)
            />
            <button
                class="tool"
                aria-label=format!("Remove mesh dimension {label}")
                data-tip="Remove"
                on:click=remove
            >
                {icon(Icon::Close)}
            </button>
        </li>
    }
}
