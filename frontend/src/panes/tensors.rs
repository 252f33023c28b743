//! Every tensor with the picture of how it is cut, or its table.
//!
//! A card is made anew only when its tensor, layout or mesh changes: its key says all that the
//! picture depends on.

use crate::state::Studio;
use crate::widgets::{TwinToggle, code_words, table};
use crate::{draw, format, what_if};
use leptos::prelude::*;
use meshwork_engine::layout::mesh::Mesh;
use meshwork_engine::picture;
use meshwork_engine::study::{Study, TensorInfo};
use std::sync::Arc;

/// Derived tensors beyond this many are named, not drawn.
const MOST_CARDS: usize = 120;

/// One tensor to show.
#[derive(Clone)]
struct Card {
    key: String,
    tensor: Arc<TensorInfo>,
    mesh: Arc<Mesh>,
    /// Why it cannot be cut as the rules say.
    reason: Option<String>,
}

impl Card {
    fn new(tensor: TensorInfo, mesh: &Arc<Mesh>, study: &Study) -> Self {
        let reason = tensor.layout.is_none().then(|| {
            what_if::reason_against(study, &tensor.shape)
                .unwrap_or_else(|| "The layout of this tensor is not known.".to_owned())
        });
        let key = format!(
            "{}{}|{:?}|{:?}|{mesh}|{reason:?}",
            tensor.name, tensor.shape, tensor.layout, tensor.partial
        );
        Self { key, tensor: Arc::new(tensor), mesh: Arc::clone(mesh), reason }
    }
}

fn cards(study: &Study, tensors: &[TensorInfo], derived: bool) -> Vec<Card> {
    let mesh = Arc::new(study.mesh().clone());
    let kept = tensors.iter().filter(|t| derived || t.is_named);
    kept.take(MOST_CARDS).map(|t| Card::new(t.clone(), &mesh, study)).collect()
}

/// The gallery of tensors.
#[component]
pub fn Tensors(studio: Studio) -> impl IntoView {
    let derived = studio.watch(|v| v.derived);
    let counts = Memo::new(move |_| {
        let tensors = studio.tensors.get();
        let named = tensors.iter().filter(|t| t.is_named).count();
        (named, tensors.len() - named)
    });
    let shown =
        move || studio.tensors.with(|t| studio.shown.with(|s| cards(&s.study, t, derived.get())));
    view! {
        <section class="pane pane-tensors" aria-labelledby="tensors-head">
            <header class="pane-head">
                <h2 id="tensors-head">"Tensors"</h2>
                <span class="pane-fact">
                    {move || format::plural(counts.get().0 as u64, "tensor")}
                </span>
                <Show when=move || { counts.get().1 > 0 }>
                    <label class="switch">
                        <input
                            type="checkbox"
                            role="switch"
                            prop:checked=move || derived.get()
                            on:change=move |ev| {
                                let on = event_target_checked(&ev);
                                studio.view.update(|v| v.derived = on);
                            }
                        />
                        <span>{move || format!("Gradients and other derived ({})", counts.get().1)}</span>
                    </label>
                </Show>
            </header>
            <Show
                when=move || { counts.get().0 + counts.get().1 > 0 }
                fallback=|| view! {
                    <p class="empty">
                        "No tensors yet. A line such as "
                        <code>"model two_layer batch:8 io:4 hidden:8"</code> " makes some; the \
                         examples show more."
                    </p>
                }
            >
                <div class="cards">
                    <For each=shown key=|card| card.key.clone() let:card>
                        <TensorCard studio=studio card=card />
                    </For>
                </div>
                <Show when=move || { derived.get() && counts.get().0 + counts.get().1 > MOST_CARDS }>
                    <p class="empty">
                        {move || {
                            let left = counts.get().0 + counts.get().1 - MOST_CARDS;
                            format!("{} more are not drawn.", format::exact(left as f64))
                        }}
                    </p>
                </Show>
            </Show>
        </section>
    }
}

#[component]
fn TensorCard(studio: Studio, card: Card) -> impl IntoView {
    let Card { tensor, mesh, reason, .. } = card;
    let name = tensor.name.to_string();
    let id = StoredValue::new(name.clone());
    let is_table = studio.watch(move |v| id.with_value(|n| v.tables.contains(n)));
    let is_marked = studio.watch(move |v| id.with_value(|n| v.tensors.contains(n)));
    let toggle = move |()| {
        studio.view.update(|v| {
            let name = id.get_value();
            if !v.tables.remove(&name) {
                v.tables.insert(name);
            }
        });
    };
    let scene = tensor.layout.as_ref().map(|layout| {
        Arc::new(picture::tensor::scene(&name, &tensor.shape, layout, &tensor.partial, &mesh))
    });
    let processors = mesh.processors();
    let slice = tensor.slice_shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
    let slice = if slice.is_empty() { "one number".to_owned() } else { format!("slice {slice}") };
    let has_picture = scene.is_some();
    view! {
        <article class="card" class:marked=is_marked id=format!("tensor-{name}")>
            <header class="card-head">
                <h3>{name.clone()}</h3>
                <span class="shape">{(tensor.shape.rank() > 0).then(|| tensor.shape.to_string())}</span>
                <span class="role">{tensor.role.name()}</span>
                {has_picture.then(|| view! {
                    <TwinToggle label=name.clone() table=is_table on_toggle=Callback::new(toggle) />
                })}
            </header>
            {match scene {
                Some(scene) => view! {
                    <div class="card-body">
                        {move || if is_table.get() {
                            table(&scene.table).into_any()
                        } else {
                            view! { <div class="picture" inner_html=draw::svg(&scene, processors)></div> }
                                .into_any()
                        }}
                    </div>
                }.into_any(),
                None => view! { <p class="card-reason">{reason.map(|r| view! { <span>{code_words(&r)}</span> })}</p> }.into_any(),
            }}
            {has_picture.then(|| view! {
                <footer class="card-foot">
                    <span>{slice}</span>
                    <span data-tip=format!("{} bytes", format::exact(tensor.bytes_per_processor as f64))>
                        {format::bytes(tensor.bytes_per_processor as f64)} " per processor"
                    </span>
                </footer>
            })}
        </article>
    }
}
