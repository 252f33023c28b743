//! The timeline with the memory below it, or its table, and the time that is looked at.

use super::Look;
use super::moment::Moment;
use crate::download;
use crate::icons::{Icon, icon};
use crate::picture::{Drawn, Picture, watch_room};
use crate::state::Studio;
use crate::widgets::{TwinToggle, table};
use leptos::html::{Div, Span};
use leptos::prelude::*;
use meshwork_engine::export::trace::chrome_trace;
use meshwork_engine::layout::mesh::Mesh;
use meshwork_engine::picture::timeline::{Ruler, View, measured};
use meshwork_engine::pipeline::moment::times;
use meshwork_engine::timeline::Timeline;
use std::sync::Arc;
use web_sys::{Event, MouseEvent};

/// The name under which the view state keeps the table twin; no tensor can have it.
const TWIN: &str = "#pipeline";

/// A scene with its ruler.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    pub(super) drawn: Drawn,
    pub(super) ruler: Ruler,
}

impl Sheet {
    pub(super) fn of(timeline: &Timeline, view: &View) -> Self {
        let (scene, ruler) = measured(timeline, view);
        Self { drawn: Some(Arc::new(scene)), ruler }
    }
}

/// The buttons of the head: the table twin, and the timeline as a file.
#[component]
pub fn Tools(studio: Studio, look: Memo<Option<Look>>) -> impl IntoView {
    let is_table = studio.watch(|v| v.tables.contains(TWIN));
    let toggle = move |()| {
        studio.view.update(|v| {
            if !v.tables.remove(TWIN) {
                v.tables.insert(TWIN.to_owned());
            }
        });
    };
    let save = move |_: MouseEvent| {
        let Some(look) = look.get_untracked() else { return };
        // a gigaflop is drawn as a second
        let name = "predicted (a billion operations as a second)";
        download::save("pipeline.json", &chrome_trace(&look.timeline, name, 1e-3));
    };
    view! {
        <div class="pane-tools">
            <button
                class="quiet small"
                data-tip="The timeline as a Chrome trace, for Perfetto"
                on:click=save
            >
                {icon(Icon::Download)}
                <span>"Save as trace"</span>
            </button>
            <TwinToggle label="Pipeline" table=is_table on_toggle=Callback::new(toggle) />
        </div>
    }
}

/// The picture and what happens at one time of it.
#[component]
pub fn Chart(studio: Studio, look: Memo<Option<Look>>) -> impl IntoView {
    let room = RwSignal::new(None::<f64>);
    let sensor = NodeRef::<Span>::new();
    watch_room(sensor, room);
    let sheet = Memo::new(move |_| {
        let look = look.get()?;
        let view =
            studio.shown.with(|s| s.study.timeline_view(&look.timeline, None)).unwrap_or_default();
        let view = View { held: look.held.clone(), room: room.get(), ..view };
        Some(Sheet::of(&look.timeline, &view))
    });
    let is_table = studio.watch(|v| v.tables.contains(TWIN));
    let all = Memo::new(move |_| {
        look.with(|l| l.as_ref().map(|l| times(&l.timeline)).unwrap_or_default())
    });
    // the time stays about where it was while the study changes
    let share = RwSignal::new(0.5);
    let at = Memo::new(move |_| {
        let last = all.with(Vec::len).saturating_sub(1);
        (share.get() * last as f64).round() as usize
    });
    let go = Callback::new(move |to: usize| {
        let last = all.with_untracked(Vec::len).saturating_sub(1).max(1);
        share.set(to.min(last) as f64 / last as f64);
    });
    let time = Memo::new(move |_| all.with(|all| all.get(at.get()).copied().unwrap_or(0.0)));
    let pick = Callback::new(move |time: f64| {
        go.run(all.with_untracked(|all| all.partition_point(|t| *t <= time).saturating_sub(1)));
    });
    view! {
        <div class="timeline">
            <span class="timeline-room" node_ref=sensor></span>
            {move || if is_table.get() {
                (move || sheet.with(|s| Some(table(&s.as_ref()?.drawn.as_ref()?.table))))
                    .into_any()
            } else {
                view! { <Frame studio=studio sheet=sheet time=time on_pick=pick /> }.into_any()
            }}
        </div>
        <Moment look=look times=all at=at on_go=go />
    }
}

/// What is too wide scrolls; the names of the lanes stay then.
#[component]
pub fn Scroll(
    #[prop(into)] label: String,
    sheet: Memo<Option<Sheet>>,
    outer: NodeRef<Div>,
    children: Children,
) -> impl IntoView {
    let is_scrolled = RwSignal::new(false);
    let note = move |_: Event| {
        let now = outer.get_untracked().is_some_and(|outer| outer.scroll_left() > 0);
        if is_scrolled.get_untracked() != now {
            is_scrolled.set(now);
        }
    };
    let names = move || {
        let Sheet { drawn, ruler } = sheet.get().filter(|_| is_scrolled.get())?;
        let name = |(name, middle): &(String, f64)| {
            view! { <span style:top=format!("{middle}px")>{name.clone()}</span> }
        };
        let names = ruler.names().iter().map(name).collect_view();
        let (width, height) = (ruler.left() - 2.0, drawn?.height);
        Some(view! {
            <div style:width=format!("{width}px") style:height=format!("{height}px")>{names}</div>
        })
    };
    view! {
        <div
            class="timeline-scroll"
            tabindex="0"
            role="group"
            aria-label=label
            node_ref=outer
            on:scroll=note
        >
            <div class="timeline-names" aria-hidden="true">{names}</div>
            {children()}
        </div>
    }
}

/// The picture with a line at the time; a click picks another. What is too wide scrolls, and follows
/// the line.
#[component]
fn Frame(
    studio: Studio,
    sheet: Memo<Option<Sheet>>,
    time: Memo<f64>,
    on_pick: Callback<f64>,
) -> impl IntoView {
    let drawn: Memo<Drawn> = Memo::new(move |_| sheet.with(|s| s.as_ref()?.drawn.clone()));
    let processors = Memo::new(move |_| studio.shown.with(|s| Mesh::processors(s.study.mesh())));
    let width = Memo::new(move |_| drawn.with(|s| s.as_ref().map_or(0.0, |s| s.width)));
    let place =
        Memo::new(move |_| sheet.with(|s| s.as_ref().map_or(0.0, |s| s.ruler.place(time.get()))));
    let top = Memo::new(move |_| sheet.with(|s| s.as_ref().map_or(0.0, |s| s.ruler.top() - 8.0)));
    let (outer, inner) = (NodeRef::<Div>::new(), NodeRef::<Div>::new());
    // from the first move on: at first the beginning is shown
    Effect::new(move |before: Option<f64>| {
        let (time, place) = (time.get(), place.get_untracked());
        let has_moved = before.is_some_and(|before| before.total_cmp(&time).is_ne());
        if let Some(outer) = outer.get_untracked().filter(|_| has_moved) {
            let (left, room) = (f64::from(outer.scroll_left()), f64::from(outer.client_width()));
            let names = sheet.with_untracked(|s| s.as_ref().map_or(0.0, |s| s.ruler.left()));
            if place < left + names + 24.0 || place > left + room - 24.0 {
                outer.set_scroll_left((place - f64::midpoint(names, room)) as i32);
            }
        }
        time
    });
    let click = move |ev: MouseEvent| {
        let Some(inner) = inner.get_untracked() else { return };
        let from = inner.get_bounding_client_rect().left();
        let place = f64::from(ev.client_x()) - from;
        if let Some(time) = sheet.with_untracked(|s| s.as_ref().map(|s| s.ruler.time(place))) {
            on_pick.run(time);
        }
    };
    view! {
        <Scroll label="Timeline" sheet=sheet outer=outer>
            <div
                class="timeline-frame"
                node_ref=inner
                style:width=move || format!("{}px", width.get())
                on:click=click
            >
                <Picture scene=drawn processors=processors />
                <span
                    class="timeline-now"
                    aria-hidden="true"
                    style:left=move || format!("{:.1}px", place.get())
                    style:top=move || format!("{:.1}px", top.get())
                ></span>
            </div>
        </Scroll>
    }
}
