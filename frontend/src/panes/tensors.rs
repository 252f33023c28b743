//! Every tensor with the picture of how it is cut, or its table.
//!
//! A card stays as long as its tensor is there; its picture is drawn anew only when its tensor,
//! layout or mesh changes, and a moment later where nobody sees it.

use crate::picture::{Drawn, Picture};
use crate::sight::{Sight, follow, one_frame_later, when_other};
use crate::state::Studio;
use crate::widgets::{TwinToggle, code_words, table};
use crate::{format, what_if};
use leptos::html::Article;
use leptos::prelude::*;
use meshwork_engine::layout::mesh::Mesh;
use meshwork_engine::picture::scene::{Scene, Table};
use meshwork_engine::picture::tensor::Sliced;
use meshwork_engine::study::{Study, TensorInfo};
use std::sync::Arc;

/// Derived tensors beyond this many are named, not drawn.
const MOST_CARDS: usize = 120;

/// One tensor to show.
#[derive(Clone)]
struct Card {
    tensor: Arc<TensorInfo>,
    mesh: Arc<Mesh>,
    /// Why it cannot be cut as the rules say.
    reason: Option<String>,
}

impl Card {
    fn new(tensor: &Arc<TensorInfo>, mesh: &Arc<Mesh>, study: &Study) -> Self {
        let reason = tensor.layout.is_none().then(|| {
            what_if::reason_against(study, &tensor.shape)
                .unwrap_or_else(|| "The layout of this tensor is not known.".to_owned())
        });
        Self { tensor: Arc::clone(tensor), mesh: Arc::clone(mesh), reason }
    }
}

impl Card {
    fn sliced(&self) -> Option<Sliced<'_>> {
        let t = &self.tensor;
        let sliced = Sliced::new(&t.name, &t.shape, t.layout.as_ref()?, &self.mesh);
        let cells = t.cells.as_ref().map(|(axis, ranks)| (*axis, &ranks[..]));
        Some(Sliced { partial: &t.partial, cells, ..sliced })
    }

    /// The picture, without its table.
    fn scene(&self) -> Option<Scene> {
        self.sliced().map(Sliced::sketch)
    }

    /// The table that says the same.
    fn table(&self) -> Option<Table> {
        self.sliced().map(Sliced::table)
    }

    fn name(&self) -> String {
        self.tensor.name.to_string()
    }

    fn shape(&self) -> String {
        let shape = &self.tensor.shape;
        if shape.rank() > 0 { shape.to_string() } else { String::new() }
    }

    fn slice(&self) -> String {
        let sizes: Vec<String> = self.tensor.slice_shape.iter().map(u64::to_string).collect();
        if sizes.is_empty() {
            "one number".to_owned()
        } else {
            format!("slice {}", sizes.join(" × "))
        }
    }

    /// The cell of a pipeline that makes it, or those that do.
    fn cell(&self) -> Option<String> {
        let (_, ranks) = self.tensor.cells.as_ref()?;
        Some(format::cells(ranks))
    }

    fn bytes(&self) -> String {
        format!("{} per processor", format::bytes(self.tensor.bytes_per_processor as f64))
    }

    /// Along which mesh dimensions all processors compute the same.
    fn repeated(&self) -> Option<String> {
        let mesh = &self.mesh;
        let name = |axis| mesh.dim(axis).name.to_string();
        let names: Vec<String> = self.tensor.repeated.iter().copied().map(name).collect();
        let times = mesh.group_size(&self.tensor.repeated);
        (times > 1).then(|| format!("computed {times} × alike along {}", names.join(" and ")))
    }

    fn exact_bytes(&self) -> String {
        format!("{} bytes", format::exact(self.tensor.bytes_per_processor as f64))
    }
}

/// Equal cards look the same; where their tensors stand in the text does not matter.
impl PartialEq for Card {
    fn eq(&self, other: &Self) -> bool {
        fn looks(t: &TensorInfo) -> impl PartialEq {
            let made = (&t.partial, &t.repeated, &t.cells);
            (&t.name, &t.shape, t.role, &t.layout, made, t.bytes_per_processor)
        }
        looks(&self.tensor) == looks(&other.tensor)
            && self.mesh == other.mesh
            && self.reason == other.reason
    }
}

fn cards(study: &Study, tensors: &[Arc<TensorInfo>], derived: bool) -> Vec<Card> {
    let mesh = Arc::new(study.mesh().clone());
    let kept = tensors.iter().filter(|t| derived || t.is_named);
    kept.take(MOST_CARDS).map(|t| Card::new(t, &mesh, study)).collect()
}

/// Says that tensors are shown at the size of a micro-batch, where the batch is taken in parts.
fn of_micro_batch(study: &Study) -> Option<String> {
    let micro = study.graph().micro.as_ref()?;
    let cells = if study.is_pipeline() { ", each with the cell that makes it" } else { "" };
    Some(format!(
        "Shown at the size of one micro-batch: {} of the {} rows of {}{cells}.",
        micro.size, micro.whole, micro.dim
    ))
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
    let cards = Memo::new(move |_| {
        studio.tensors.with(|t| studio.shown.with(|s| cards(&s.study, t, derived.get())))
    });
    let micro = Memo::new(move |_| studio.shown.with(|s| of_micro_batch(&s.study)));
    let sight = Sight::watching();
    let names = Memo::new(move |_| {
        cards.with(|all: &Vec<Card>| all.iter().map(Card::name).collect::<Vec<_>>())
    });
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
            <Show when=move || micro.with(Option::is_some)>
                <p class="empty tensors-note">{micro}</p>
            </Show>
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
                    <For each=move || names.get() key=Clone::clone let:name>
                        <TensorCard studio=studio cards=cards sight=sight name=name />
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

/// What the body of a card shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// The picture.
    Picture,
    /// Its table.
    Table,
    /// Why there is neither.
    Reason,
}

#[component]
fn TensorCard(studio: Studio, cards: Memo<Vec<Card>>, sight: Sight, name: String) -> impl IntoView {
    let id = StoredValue::new(name.clone());
    let element = NodeRef::<Article>::new();
    let element_id = format!("tensor-{name}");
    let latest = Memo::new(move |_| {
        cards.with(|all| all.iter().find(|c| id.with_value(|n| *c.tensor.name == **n)).cloned())
    });
    let card = follow(latest, sight, sight.watch(element, element_id.clone()));
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
    let has_picture = when_other(Memo::new(move |_| {
        card.with(|c| c.as_ref().is_some_and(|c| c.tensor.layout.is_some()))
    }));
    let body = Memo::new(move |_| match (has_picture.get(), is_table.get()) {
        (true, false) => Body::Picture,
        (true, true) => Body::Table,
        (false, _) => Body::Reason,
    });
    let drawn: Memo<Drawn> =
        Memo::new(move |_| card.with(|c| c.as_ref().and_then(Card::scene)).map(Arc::new));
    let processors =
        Signal::derive(move || card.with(|c| c.as_ref().map_or(0, |c| c.mesh.processors())));
    let told = one_frame_later(card);
    let part = move |of: fn(&Card) -> String| {
        move || told.with(|c| c.as_ref().map(of).unwrap_or_default())
    };
    view! {
        <article class="card" class:marked=is_marked id=element_id node_ref=element>
            <header class="card-head">
                <div class="card-name">
                    <h3>{name}</h3>
                    <span class="shape">{part(Card::shape)}</span>
                </div>
                <span class="role">{part(|c| c.tensor.role.name().to_owned())}</span>
                <Show when=move || has_picture.get()>
                    <TwinToggle
                        label=id.get_value()
                        table=is_table
                        on_toggle=Callback::new(toggle)
                    />
                </Show>
            </header>
            {move || match body.get() {
                Body::Picture => view! {
                    <div class="card-body"><Picture scene=drawn processors=processors /></div>
                }
                .into_any(),
                Body::Table => view! {
                    <div class="card-body">
                        {move || card.with(|c| c.as_ref().and_then(Card::table)).map(|t| table(&t))}
                    </div>
                }
                .into_any(),
                Body::Reason => view! {
                    <p class="card-reason">
                        {move || card.get().and_then(|c| c.reason).map(|r| code_words(&r))}
                    </p>
                }
                .into_any(),
            }}
            <Show when=move || has_picture.get()>
                <footer class="card-foot">
                    {move || card.with(|c| c.as_ref().and_then(Card::cell)).map(|cell| view! {
                        <span data-tip="The cell of the pipeline that makes it, or one for each copy of the model; cells that read it receive it">
                            {cell}
                        </span>
                    })}
                    <span>{part(Card::slice)}</span>
                    {move || told.with(|c| c.as_ref().and_then(Card::repeated)).map(|alike| view! {
                        <span data-tip="Neither this tensor nor what it is made of is split over that mesh dimension, so its processors all do the same work">
                            {alike}
                        </span>
                    })}
                    <span data-tip=part(Card::exact_bytes)>{part(Card::bytes)}</span>
                </footer>
            </Show>
        </article>
    }
}
