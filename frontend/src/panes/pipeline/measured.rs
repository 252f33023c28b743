//! What the cells did in the last step of a run, measured, beside what was predicted.

use super::change::apply;
use super::chart::{Scroll, Sheet};
use super::{Look, percent};
use crate::download;
use crate::format;
use crate::icons::{Icon, icon};
use crate::picture::{Drawn, Picture, watch_room};
use crate::run_client::{RunLog, Runs};
use crate::state::Studio;
use crate::widgets::{TwinToggle, table};
use leptos::html::Span;
use leptos::prelude::*;
use meshwork_engine::export::trace::chrome_trace;
use meshwork_engine::index::{IdVec, Rank};
use meshwork_engine::picture::timeline::{Lanes, View};
use meshwork_engine::staging::change::{Change, costs_of};
use meshwork_engine::timeline::{Interval, Slot, Timeline};
use meshwork_wire::run::{self, Event};

/// Milliseconds of a second, the unit in which runs are measured.
const MS: f64 = 1000.0;

/// The measured timelines of the run in this browser and of the one on the server.
#[component]
pub fn Measured(studio: Studio, runs: Runs, look: Memo<Option<Look>>) -> impl IntoView {
    let of =
        move |log: RwSignal<Option<RunLog>>| Memo::new(move |_| log.with(|l| seen(l.as_ref()?)));
    let (here, there) = (of(runs.here), of(runs.there_log));
    let is_there = Memo::new(move |_| here.with(Option::is_some) || there.with(Option::is_some));
    let about = "One thread plays all cells in turn, so each waits for the others as well: tasks take \
                 as long as they take, the bubble is that of taking turns.";
    view! {
        <div class="measured">
            <h3>"Measured"</h3>
            <Show
                when=move || is_there.get()
                fallback=|| view! {
                    <p class="empty">
                        "Run the study: what its cells did in the last step stands here, beside what \
                         was predicted."
                    </p>
                }
            >
                <Run studio=studio look=look seen=here name="in this browser" about=about />
                <Run studio=studio look=look seen=there name="on the server" about="" />
            </Show>
        </div>
    }
}

/// What a run has measured.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    /// The study that ran.
    text: String,
    /// In milliseconds.
    timeline: Timeline,
    /// Seconds of each layer.
    layers: Vec<f64>,
}

impl Seen {
    /// Whether the clock was fine enough, and the run long enough, to tell what layers take.
    fn tells_layers(&self) -> bool {
        self.layers.iter().sum::<f64>() > 0.0
    }
}

fn seen(log: &RunLog) -> Option<Seen> {
    let Some(Event::Done { timeline: Some(timeline), .. }) = &log.end else { return None };
    let layers = timeline.layers.clone();
    Some(Seen { text: log.text.clone(), timeline: read(timeline)?, layers })
}

/// The engine's timeline, in milliseconds; two tasks of one time are a pair.
fn read(timeline: &run::Timeline) -> Option<Timeline> {
    let lane = |lane: &Vec<run::Interval>| {
        let mut out: Vec<Interval> = Vec::with_capacity(lane.len());
        for interval in lane {
            let (start, end) = (interval.start * MS, interval.end * MS);
            let task = interval.task.parse().ok()?;
            match out.last_mut() {
                Some(last) if last.start >= start && last.end >= end => {
                    if let Slot::One(first) = last.slot {
                        last.slot = Slot::Pair(first, task);
                    }
                }
                _ => out.push(Interval { start, end, slot: Slot::One(task) }),
            }
        }
        Some(out)
    };
    let lanes: Option<IdVec<Rank, Vec<Interval>>> = timeline.lanes.iter().map(lane).collect();
    lanes.map(Timeline::new)
}

#[component]
fn Run(
    studio: Studio,
    look: Memo<Option<Look>>,
    seen: Memo<Option<Seen>>,
    name: &'static str,
    about: &'static str,
) -> impl IntoView {
    let is_there = Memo::new(move |_| seen.with(Option::is_some));
    let is_same = Memo::new(move |_| {
        seen.with(|s| s.as_ref().is_some_and(|s| studio.text.with(|t| *t == s.text)))
    });
    let is_table = RwSignal::new(false);
    let toggle = Callback::new(move |()| is_table.update(|t| *t = !*t));
    let room = RwSignal::new(None::<f64>);
    let sensor = NodeRef::<Span>::new();
    watch_room(sensor, room);
    let sheet = Memo::new(move |_| {
        let Seen { timeline, .. } = seen.get()?;
        let known = studio.shown.with(|s| s.study.timeline_view(&timeline, Some("ms")));
        let title = format!("The cells of the run {name}, measured");
        let plain = View { title, unit: "ms".to_owned(), lanes: Lanes::Cells, ..View::default() };
        let view = known.filter(|_| is_same.get()).unwrap_or(plain);
        Some(Sheet::of(&timeline, &View { room: room.get(), is_overview: true, ..view }))
    });
    let drawn: Memo<Drawn> = Memo::new(move |_| sheet.with(|s| s.as_ref()?.drawn.clone()));
    let width = Memo::new(move |_| drawn.with(|s| s.as_ref().map_or(0.0, |s| s.width)));
    let save = move |_: web_sys::MouseEvent| {
        if let Some(seen) = seen.get_untracked() {
            let trace = chrome_trace(&seen.timeline, "measured", MS);
            download::save("pipeline-measured.json", &trace);
        }
    };
    let can_cut =
        move || is_same.get() && seen.with(|s| s.as_ref().is_some_and(Seen::tells_layers));
    let cut = move |_: web_sys::MouseEvent| {
        if let Some(seen) = seen.get_untracked() {
            apply(studio, look, &Change::Costs(costs_of(&seen.layers)));
        }
    };
    view! {
        <Show when=move || is_there.get()>
            <div class="measured-run">
                <div class="cut-head">
                    <h4>{format!("The last step {name}")}</h4>
                    <div class="pane-tools">
                        <Show when=can_cut>
                            <button
                                class="quiet small"
                                data-tip="Cut the model by what each layer took, not by its operations"
                                on:click=cut
                            >
                                "Cut by these times"
                            </button>
                        </Show>
                        <button class="quiet small" aria-label=format!("Save the step {name} as trace") on:click=save>
                            {icon(Icon::Download)}
                            <span>"Save as trace"</span>
                        </button>
                        <TwinToggle label=format!("The step {name}") table=is_table on_toggle=toggle />
                    </div>
                </div>
                <Show when=move || !is_same.get()>
                    <p class="note">"The study has been changed since this run."</p>
                </Show>
                <Beside studio=studio look=look seen=seen is_same=is_same />
                <div class="timeline">
                    <span class="timeline-room" node_ref=sensor></span>
                    {move || if is_table.get() {
                        (move || drawn.get().map(|s| table(&s.table))).into_any()
                    } else {
                        view! {
                            <Scroll label=format!("Measured timeline {name}") sheet=sheet outer=NodeRef::new()>
                                <div class="timeline-frame" style:width=move || format!("{}px", width.get())>
                                    <Picture scene=drawn processors=0 />
                                </div>
                            </Scroll>
                        }.into_any()
                    }}
                </div>
                {(!about.is_empty()).then(|| view! { <p class="empty">{about}</p> })}
            </div>
        </Show>
    }
}

/// Bubble and time: measured, predicted, and predicted by the times that were measured.
#[component]
fn Beside(
    studio: Studio,
    look: Memo<Option<Look>>,
    seen: Memo<Option<Seen>>,
    is_same: Memo<bool>,
) -> impl IntoView {
    let rows = move || {
        let seen = seen.get()?.timeline;
        let ms = |t: &Timeline| format!("{} ms", format::number(t.makespan()));
        let mut columns = vec![("measured", ms(&seen), seen.clone())];
        if is_same.get() {
            let again = studio.shown.with(|s| s.study.timeline_at(&seen));
            columns.extend(again.map(|t| ("by measured times", ms(&t), t)));
            columns.extend(look.get().map(|l| {
                let time = format!("{} {}", format::count(l.timeline.makespan()), l.unit());
                let by = if l.unit() == "flop" { "by operations" } else { "by the costs given" };
                (by, time, l.timeline.clone())
            }));
        }
        Some(columns)
    };
    view! {
        <table class="beside">
            <caption class="visually-hidden">"Measured beside predicted"</caption>
            <thead>
                <tr>
                    <th scope="col"><span class="visually-hidden">"How"</span></th>
                    <th scope="col">"makespan"</th>
                    <th scope="col">"idle / makespan"</th>
                    <th scope="col">"idle / ideal"</th>
                </tr>
            </thead>
            <tbody>
                {move || rows().map(|rows| rows.into_iter().map(|(name, time, t)| view! {
                    <tr>
                        <th scope="row">{if name == "measured" { name.to_owned() } else { format!("predicted {name}") }}</th>
                        <td class="number">{time}</td>
                        <td class="number">{percent(t.bubble_of_makespan())}</td>
                        <td class="number">{percent(t.bubble_of_ideal())}</td>
                    </tr>
                }).collect_view())}
            </tbody>
        </table>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_read_with_their_pairs() {
        let interval = |task: &str, start, end| run::Interval { task: task.to_owned(), start, end };
        let timeline = |lane| run::Timeline {
            unit: "s".to_owned(),
            makespan: 0.0,
            bubble_of_makespan: 0.0,
            bubble_of_ideal: 0.0,
            lanes: vec![lane],
            layers: Vec::new(),
        };
        let lane =
            vec![interval("0F0", 0.0, 0.5), interval("0F1", 0.5, 1.0), interval("0B0", 0.5, 1.0)];
        let read_back = read(&timeline(lane)).unwrap();
        let slots: Vec<String> = read_back.intervals().map(|(_, i)| i.slot.to_string()).collect();
        assert_eq!(slots, ["0F0", "(0F1;0B0)"]);
        assert!((read_back.end() - MS).abs() < 1e-9);
        assert_eq!(read(&timeline(vec![interval("?", 0.0, 1.0)])), None);
    }
}
