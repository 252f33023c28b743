//! The loss curve of a run: a scene like every other picture, with its table twin.

use crate::picture::{Drawn, Picture};
use crate::run_client::RunLog;
use crate::widgets::{TwinToggle, table};
use leptos::prelude::*;
use meshwork_engine::picture::curve::{self, Series};
use meshwork_engine::picture::scene::Scene;
use std::sync::Arc;

/// More points than this are thinned: a chart has no more pixels.
const MOST_POINTS: usize = 400;

/// The plane of the curve in pixels: with its labels it fills a column of the studio.
const WIDTH: f64 = 216.0;
const HEIGHT: f64 = 140.0;

/// The curve.
#[component]
pub fn Chart(log: Signal<RunLog>) -> impl IntoView {
    let is_table = RwSignal::new(false);
    let toggle = Callback::new(move |()| is_table.update(|t| *t = !*t));
    let drawn: Memo<Drawn> =
        Memo::new(move |_| log.with(|l| (!l.curve.is_empty()).then(|| Arc::new(scene(l)))));
    view! {
        <Show when=move || log.with(|l| !l.curve.is_empty())>
            <div class="chart">
                <TwinToggle label="Loss curve" table=is_table on_toggle=toggle />
                {move || if is_table.get() {
                    (move || drawn.get().map(|s| table(&s.table))).into_any()
                } else {
                    view! { <Picture scene=drawn processors=0 /> }.into_any()
                }}
            </div>
        </Show>
    }
}

fn scene(log: &RunLog) -> Scene {
    let mut series = vec![Series { name: "loss".to_owned(), points: thinned(&log.curve) }];
    if !log.looks.is_empty() {
        let points = log.looks.iter().map(|l| (l.step as f64, l.loss)).collect();
        series.push(Series { name: "held out".to_owned(), points });
    }
    let chart = curve::Chart::new("Loss by step", "step", "loss");
    curve::scene(&series, &curve::Chart { width: WIDTH, height: HEIGHT, ..chart })
}

/// Evenly chosen points, the first and the last among them.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let last = points.len() - 1;
    (0..MOST_POINTS).map(|i| points[i * last / (MOST_POINTS - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST_POINTS, thinned};

    #[test]
    fn thinning_keeps_both_ends() {
        let points: Vec<(f64, f64)> = (0..5000).map(|i| (f64::from(i), 1.0)).collect();
        let kept = thinned(&points);
        assert_eq!(kept.len(), MOST_POINTS);
        assert_eq!((kept[0].0, kept[MOST_POINTS - 1].0), (0.0, 4999.0));
    }
}
