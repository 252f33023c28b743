//! The picture of the mesh, and what the picked processor holds.

use crate::format;
use crate::picture::{Drawn, Picture};
use crate::state::Studio;
use crate::widgets::{TwinToggle, table};
use leptos::prelude::*;
use meshwork_engine::index::Pnum;
use meshwork_engine::layout::mesh::Mesh;
use meshwork_engine::picture;
use meshwork_engine::study::{Study, TensorInfo};
use std::sync::Arc;
use web_sys::KeyboardEvent;

/// The name under which the view state keeps the mesh's table twin; no tensor can have it.
const TWIN: &str = "#mesh";

/// The mesh and the picked processor.
#[component]
pub fn Processors(studio: Studio) -> impl IntoView {
    let mesh = studio.mesh;
    let is_table = studio.watch(|v| v.tables.contains(TWIN));
    let toggle = move |()| {
        studio.view.update(|v| {
            if !v.tables.remove(TWIN) {
                v.tables.insert(TWIN.to_owned());
            }
        });
    };
    let drawn: Memo<Drawn> =
        Memo::new(move |_| mesh.with(|m| Some(Arc::new(picture::mesh::scene(m)))));
    let processors = Memo::new(move |_| mesh.with(Mesh::processors));
    let picture = move || {
        if is_table.get() {
            (move || drawn.get().map(|s| table(&s.table))).into_any()
        } else {
            view! { <Picture scene=drawn processors=processors /> }.into_any()
        }
    };
    let on_key = move |ev: KeyboardEvent| {
        let picked = studio.view.with_untracked(|v| v.picked);
        let to = match mesh.with_untracked(|m| moved(m, picked, &ev.key())) {
            Move::To(p) => Some(p),
            Move::Off => None,
            Move::Stay => return,
        };
        ev.prevent_default();
        studio.view.update(|v| v.picked = to);
    };
    view! {
        <section class="pane pane-processors" aria-labelledby="processors-head">
            <header class="pane-head">
                <h2 id="processors-head">"Processors"</h2>
                <span class="pane-fact mono">{move || mesh.with(|m| if m.dims().is_empty() { "one".to_owned() } else { m.to_string() })}</span>
                <TwinToggle label="Mesh" table=is_table on_toggle=Callback::new(toggle) />
            </header>
            <div class="processors-body">
                <div
                    class="mesh-picture"
                    tabindex="0"
                    role="group"
                    aria-label="Mesh. Arrow keys pick a processor, Escape none."
                    on:keydown=on_key
                >
                    {picture}
                </div>
                <Inspector studio=studio mesh=mesh />
            </div>
        </section>
    }
}

/// Where a key leads.
#[derive(Debug, PartialEq, Eq)]
enum Move {
    /// To a processor.
    To(u32),
    /// Away from all of them.
    Off,
    /// Nowhere: the key means something else.
    Stay,
}

/// Where a key leads from the picked processor.
fn moved(mesh: &Mesh, picked: Option<u32>, key: &str) -> Move {
    let rank = mesh.dims().len();
    let (back, step) = match key {
        "ArrowRight" => (1, true),
        "ArrowLeft" => (1, false),
        "ArrowDown" => (2, true),
        "ArrowUp" => (2, false),
        "PageDown" => (3, true),
        "PageUp" => (3, false),
        "Home" => return Move::To(0),
        "End" => return Move::To(mesh.processors() as u32 - 1),
        "Escape" => return Move::Off,
        _ => return Move::Stay,
    };
    let Some(pnum) = picked.filter(|&p| u64::from(p) < mesh.processors()) else {
        return Move::To(0);
    };
    let Some(axis) = rank.checked_sub(back) else { return Move::Stay };
    let mut coords = mesh.coords(Pnum(pnum));
    let size = mesh.dims()[axis].size;
    coords[axis] = if step { (coords[axis] + 1) % size } else { (coords[axis] + size - 1) % size };
    mesh.pnum(&coords).map_or(Move::Stay, |p| Move::To(p.0))
}

#[component]
fn Inspector(studio: Studio, mesh: ReadSignal<Mesh>) -> impl IntoView {
    let picked = studio.watch(|v| v.picked);
    let valid =
        Memo::new(move |_| picked.get().filter(|&p| mesh.with(|m| u64::from(p) < m.processors())));
    let place = move |p: u32| {
        mesh.with(|m| {
            let coords = m.coords(Pnum(p));
            let named = m.dims().iter().zip(coords).map(|(d, c)| format!("{} {c}", d.name));
            named.collect::<Vec<_>>().join(", ")
        })
    };
    let held = move |p: u32| {
        studio.told.with(|s| {
            let derived = studio.view.with(|v| v.derived);
            let tensors = s.study.tensors();
            let kept = tensors.iter().filter(|t| derived || t.is_named);
            kept.filter_map(|t| slice(&s.study, t, Pnum(p))).collect::<Vec<_>>()
        })
    };
    view! {
        <div class="inspector" aria-live="polite">
            {move || match valid.get() {
                None => view! {
                    <p class="empty">
                        "Pick a processor in any picture: it lights up wherever it holds something, \
                         and its slices are listed here."
                    </p>
                }.into_any(),
                Some(p) => view! {
                    <div class="inspector-head">
                        <strong>{format!("Processor {p}")}</strong>
                        <span class="muted">{place(p)}</span>
                        <button class="quiet small" on:click=move |_| studio.view.update(|v| v.picked = None)>
                            "Clear"
                        </button>
                    </div>
                    <table class="holds">
                        <caption class="visually-hidden">{format!("What processor {p} holds")}</caption>
                        <thead class="visually-hidden">
                            <tr>
                                <th scope="col">"Tensor"</th>
                                <th scope="col">"Slice"</th>
                                <th scope="col">"Bytes"</th>
                            </tr>
                        </thead>
                        <tbody>
                            {held(p).into_iter().map(|(name, range, bytes)| view! {
                                <tr>
                                    <th scope="row">{name}</th>
                                    <td>{range}</td>
                                    <td class="number">{format::bytes(bytes as f64)}</td>
                                </tr>
                            }).collect_view()}
                        </tbody>
                    </table>
                }.into_any(),
            }}
        </div>
    }
}

/// A tensor's name, the slice of it that a processor holds, and its bytes.
fn slice(study: &Study, tensor: &TensorInfo, pnum: Pnum) -> Option<(String, String, u64)> {
    let layout = tensor.layout.as_ref().filter(|_| tensor.is_on(study.mesh(), pnum))?;
    let begin = layout.slice_begin(&tensor.shape, study.mesh(), pnum);
    let ranges = begin.iter().zip(&tensor.slice_shape).zip(tensor.shape.dims());
    let parts: Vec<String> = ranges
        .map(|((b, n), d)| {
            if *n == d.size {
                format!("{} all", d.name)
            } else {
                format!("{} {b}..{}", d.name, b + n)
            }
        })
        .collect();
    let text = if parts.is_empty() { "one number".to_owned() } else { parts.join(", ") };
    Some((tensor.name.to_string(), text, tensor.bytes_per_processor))
}

#[cfg(test)]
mod tests {
    use super::{Move, moved};
    use meshwork_engine::layout::mesh::{Mesh, MeshDim};

    #[test]
    fn arrows_walk_along_the_mesh_and_wrap() {
        let dim = |name: &str, size| MeshDim { name: name.into(), size };
        let mesh = Mesh::new(vec![dim("rows", 2), dim("cols", 3)]).unwrap();
        assert_eq!(moved(&mesh, None, "ArrowRight"), Move::To(0));
        assert_eq!(moved(&mesh, Some(2), "ArrowRight"), Move::To(0));
        assert_eq!(moved(&mesh, Some(1), "ArrowDown"), Move::To(4));
        assert_eq!(moved(&mesh, Some(0), "ArrowLeft"), Move::To(2));
        assert_eq!(moved(&mesh, Some(3), "End"), Move::To(5));
        assert_eq!(moved(&mesh, Some(3), "Escape"), Move::Off);
        assert_eq!(moved(&mesh, Some(3), "PageDown"), Move::Stay);
        assert_eq!(moved(&mesh, Some(3), "a"), Move::Stay);
        assert_eq!(moved(&mesh, Some(99), "ArrowLeft"), Move::To(0));
    }
}
