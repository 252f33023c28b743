//! A picture in the page: a canvas with what is lit lying over it.
//!
//! The canvas is drawn anew when its scene, the theme, the room it has or the density of the
//! screen changes. It lies in a frame of the size of the scene, which hides what of it is not
//! needed: a canvas that is given another size costs more than all that is drawn on it. The mark
//! under the pointer lends the frame its `data-p` and `data-tip`, so that all who ask an element
//! for them (`pick.rs`) need not know that a mark is none.

use crate::draw;
use crate::pick::{self, Lit};
use crate::sight::one_frame_later;
use crate::state::Studio;
use crate::theme::Screen;
use leptos::html::{Canvas, Div, Span};
use leptos::prelude::*;
use meshwork_engine::index::Pnum;
use meshwork_engine::picture::palette::{DARK, LIGHT};
use meshwork_engine::picture::scene::Scene;
use std::sync::Arc;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{HtmlElement, MouseEvent, ResizeObserver, ResizeObserverEntry};

/// A scene that is drawn, or nothing to draw.
pub type Drawn = Option<Arc<Scene>>;

/// The picture of a scene.
#[component]
pub fn Picture(
    /// The scene.
    scene: Memo<Drawn>,
    /// The size of the mesh; 0 for pictures that show none.
    #[prop(into)]
    processors: Signal<u64>,
) -> impl IntoView {
    let studio = expect_context::<Studio>();
    let screen = expect_context::<Screen>();
    let canvas = NodeRef::<Canvas>::new();
    let frame = NodeRef::<Div>::new();
    let room = RwSignal::new(None::<f64>);
    let sensor = NodeRef::<Span>::new();
    watch_room(sensor, room);
    Effect::new(move |pixel: Option<Option<f64>>| {
        let pixel = pixel.flatten();
        let canvas = canvas.get()?;
        let theme = if screen.dark.get() { &DARK } else { &LIGHT };
        let (density, room) = (screen.density.get(), room.get());
        scene.with(|s| {
            let Some(s) = s else { return pixel };
            let shrunk = room.map_or(1.0, |room| (room / s.width).min(1.0));
            let zoom = draw::Zoom { shrunk, density };
            let pixel = draw::fit(&canvas, s, zoom, pixel);
            let scene = Arc::clone(s);
            // after the other panes have changed, too
            queue_microtask(move || draw::paint(&canvas, &scene, theme, zoom));
            Some(pixel)
        })
    });
    let lit = studio.watch(|v| (v.picked, v.hovered.clone()));
    let outlines = Memo::new(move |_| {
        lit.with(|(picked, hovered)| {
            let lit = Lit::new(*picked, hovered.as_deref())?;
            let all = processors.get();
            let is_lit = |pnums: &[Pnum]| lit.lights(pnums, all);
            let out = scene.with(|s| s.as_ref().map(|s| draw::outlines(s, all, is_lit)))?;
            (!out.is_empty()).then_some(out)
        })
    });
    let size =
        Memo::new(move |_| scene.with(|s| s.as_ref().map_or((1.0, 1.0), |s| (s.width, s.height))));
    let style = move || {
        let (width, height) = size.get();
        format!("width:{width}px;aspect-ratio:{width}/{height}")
    };
    let told = one_frame_later(scene);
    let label = move || told.with(|s| s.as_deref().map(draw::label).unwrap_or_default());
    let at = move |ev: &MouseEvent| {
        if let Some(frame) = frame.get_untracked() {
            scene.with_untracked(|s| lend(&frame, s.as_deref(), processors.get_untracked(), ev));
        }
    };
    let leave = move |_| {
        if let Some(frame) = frame.get_untracked() {
            set(&frame, "data-p", None);
            set(&frame, "data-tip", None);
        }
    };
    view! {
        <div class="picture">
            <span class="room" node_ref=sensor></span>
            <div
                class="scene"
                role="img"
                aria-label=label
                style=style
                node_ref=frame
                on:pointermove=move |ev| at(&ev)
                on:click=move |ev| at(&ev)
                on:pointerleave=leave
            >
                <canvas node_ref=canvas></canvas>
            </div>
            {move || outlines.get().map(|outlines| {
                let (width, height) = size.get();
                view! {
                    <svg
                        class="lit"
                        aria-hidden="true"
                        viewBox=format!("0 0 {width} {height}")
                        style=style
                        inner_html=outlines
                    ></svg>
                }
            })}
        </div>
    }
}

/// Follows how wide a picture can be. The sensor is as wide as that and has no height, so that it
/// does not change when the picture does.
pub fn watch_room(sensor: NodeRef<Span>, room: RwSignal<Option<f64>>) {
    let note = move |entries: js_sys::Array| {
        let last: ResizeObserverEntry = entries.get(entries.length() - 1).unchecked_into();
        let width = Some(last.content_rect().width());
        // what is not shown has no width
        if width > Some(0.0) && room.get_untracked() != width {
            room.set(width);
        }
    };
    let note = Closure::<dyn FnMut(js_sys::Array)>::new(note).into_js_value();
    let Ok(observer) = ResizeObserver::new(note.unchecked_ref()) else { return };
    let observer = StoredValue::new_local(observer);
    Effect::new(move |_| {
        if let Some(sensor) = sensor.get() {
            observer.with_value(|o| o.observe(&sensor));
        }
    });
    on_cleanup(move || {
        // gone with the picture itself
        let _was_there = observer.try_with_value(ResizeObserver::disconnect);
    });
}

/// Gives the frame processors and tip of the mark under the pointer.
fn lend(frame: &HtmlElement, scene: Option<&Scene>, processors: u64, ev: &MouseEvent) {
    let Some(scene) = scene else { return };
    let scale = scene.width / f64::from(frame.client_width().max(1));
    let at = (f64::from(ev.offset_x()) * scale, f64::from(ev.offset_y()) * scale);
    let mark = pick::mark_at(scene, at);
    let holders = mark.filter(|m| !m.pnums.is_empty());
    set(frame, "data-p", holders.map(|m| draw::holders(&m.pnums, processors)).as_deref());
    set(frame, "data-tip", mark.and_then(|m| m.tip.as_deref()));
}

fn set(frame: &HtmlElement, name: &str, value: Option<&str>) {
    if frame.get_attribute(name).as_deref() == value {
        return;
    }
    match value {
        // a name that is valid is not refused
        Some(value) => drop(frame.set_attribute(name, value)),
        None => drop(frame.remove_attribute(name)),
    }
}
