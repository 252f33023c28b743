//! Curves of values over steps: loss curves, and what else a run reports.
//!
//! Series are told apart by hue, dash and the name at their end. The y axis is logarithmic when
//! all values are positive and span more than two decades. Points that are no numbers are left
//! out, and the description says how many.

pub(super) mod scale;

use super::draft::{Draft, Words, rect};
use super::scene::{Align, Form, Mark, Scene, Table, Tone};
use super::words;
use scale::{Scale, short};
use std::fmt::Write as _;

/// The most points drawn of a series; more are drawn by the least and greatest of each stretch.
const MOST_POINTS: usize = 480;

/// The most rows of the table.
const MOST_ROWS: usize = 60;

/// Font size of tick labels and end labels.
const TICK: f64 = 11.0;

/// A named list of points, in the order of x.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name, written at its end.
    pub name: String,
    /// Points (x, y).
    pub points: Vec<(f64, f64)>,
}

/// What a chart says beside its series, and the size of its plot in pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Title of the scene.
    pub title: String,
    /// Name of the x axis: `step`.
    pub x_label: String,
    /// Name of the y axis: `loss`.
    pub y_label: String,
    /// Width of the plot, labels not counted.
    pub width: f64,
    /// Height of the plot, labels not counted.
    pub height: f64,
}

impl Chart {
    /// A chart of the usual size.
    pub fn new(title: &str, x_label: &str, y_label: &str) -> Self {
        Self {
            title: title.to_owned(),
            x_label: x_label.to_owned(),
            y_label: y_label.to_owned(),
            width: 420.0,
            height: 200.0,
        }
    }
}

/// The series as curves in one plot.
pub fn scene(series: &[Series], chart: &Chart) -> Scene {
    let is_number = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
    let kept: Vec<Vec<(f64, f64)>> =
        series.iter().map(|s| s.points.iter().filter(is_number).copied().collect()).collect();
    let all = || kept.iter().flatten();
    let (width, height) = (chart.width.max(40.0), chart.height.max(40.0));
    let x = Scale::linear(all().map(|p| p.0), width);
    let y = Scale::fitting(all().map(|p| p.1), height);
    let mut draft = Draft::new();
    axes(&mut draft, chart, &x, &y);
    let mut ends = Vec::new();
    for (i, (s, points)) in series.iter().zip(&kept).enumerate() {
        let tone = Tone::Series((i % usize::from(Tone::SLICE_HUES)) as u8);
        let place = |&(px, py): &(f64, f64)| (x.place(px), height - y.place(py));
        let line: Vec<(f64, f64)> = thinned(points).iter().map(place).collect();
        if let Some(&(end_x, end_y)) = line.last() {
            let dot = rect(end_x - 2.5, end_y - 2.5, 5.0, 5.0, 2.5);
            let tip =
                points.last().map(|p| format!("{}: {} {}", s.name, chart.y_label, short(p.1)));
            draft.push(tone, Form::Line(line));
            draft.add(Mark { form: dot, tone, pnums: Vec::new(), tip });
            ends.push((end_y, s.name.as_str(), tone, (end_x, end_y)));
        }
    }
    end_labels(&mut draft, ends, width, height);
    draft.finish(words_of(series, &kept, chart, &y))
}

/// Grid, ticks and names of the axes.
fn axes(draft: &mut Draft, chart: &Chart, x: &Scale, y: &Scale) {
    let (width, height) = (x.length(), y.length());
    for tick in y.ticks() {
        let at = height - y.place(tick);
        draft.line(Tone::Link, &[(-4.0, at), (0.0, at)]);
        draft.text(Tone::Note, (-7.0, at), TICK, Align::End, &short(tick));
    }
    for tick in x.ticks() {
        let at = x.place(tick);
        draft.line(Tone::Link, &[(at, height), (at, height + 4.0)]);
        draft.text(Tone::Note, (at, height + 13.0), TICK, Align::Middle, &short(tick));
    }
    draft.line(Tone::Link, &[(0.0, 0.0), (0.0, height), (width, height)]);
    let log = if y.is_log() { " (log scale)" } else { "" };
    let label = format!("{}{log}", chart.y_label);
    draft.note((0.0, -14.0), Align::Start, &label);
    draft.note((width / 2.0, height + 30.0), Align::Middle, &chart.x_label);
}

/// Names right of the plot at the heights where the series end, moved apart where they are close;
/// a line leads from each end to its name.
fn end_labels(
    draft: &mut Draft,
    mut ends: Vec<(f64, &str, Tone, (f64, f64))>,
    width: f64,
    height: f64,
) {
    const LINE: f64 = TICK * 1.3;
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut floor = f64::NEG_INFINITY;
    for end in &mut ends {
        end.0 = end.0.max(floor);
        floor = end.0 + LINE;
    }
    let mut ceiling = height + LINE;
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(ceiling - LINE);
        ceiling = end.0;
    }
    for (y, name, tone, (end_x, end_y)) in ends {
        if (y - end_y).abs() > 3.0 || width - end_x > 6.0 {
            draft.line(Tone::Link, &[(end_x + 4.0, end_y), (width + 6.0, y)]);
        }
        draft.line(tone, &[(width + 8.0, y), (width + 32.0, y)]);
        draft.text(Tone::Label, (width + 38.0, y), TICK, Align::Start, name);
    }
}

/// At most [`MOST_POINTS`] points: of each stretch the first, the least and the greatest.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MOST_POINTS / 3);
    let mut out = Vec::with_capacity(MOST_POINTS + 1);
    for part in points.chunks(stretch) {
        let least = (0..part.len()).min_by(|a, b| part[*a].1.total_cmp(&part[*b].1));
        let most = (0..part.len()).max_by(|a, b| part[*a].1.total_cmp(&part[*b].1));
        let mut picked = [0, least.unwrap_or(0), most.unwrap_or(0)];
        picked.sort_unstable();
        out.extend(picked.iter().enumerate().filter_map(|(i, &p)| {
            let new = i == 0 || picked[i - 1] != p;
            new.then(|| part[p])
        }));
    }
    // The end is what the eye looks for.
    if out.last() != points.last() {
        out.extend(points.last());
    }
    out
}

fn words_of(series: &[Series], kept: &[Vec<(f64, f64)>], chart: &Chart, y: &Scale) -> Words {
    let log = if y.is_log() { ", on a logarithmic axis" } else { "" };
    let mut description = format!("{} over {}{log}.", chart.y_label, chart.x_label);
    for (s, points) in series.iter().zip(kept) {
        let told = match (points.first(), points.last()) {
            (Some(a), Some(b)) if points.len() > 1 => format!(
                " {}: from {} at {} to {} at {}.",
                s.name,
                short(a.1),
                short(a.0),
                short(b.1),
                short(b.0)
            ),
            (Some(a), _) => format!(" {}: {} at {}.", s.name, short(a.1), short(a.0)),
            _ => format!(" {}: no values yet.", s.name),
        };
        description += &told;
        let lost = (s.points.len() - points.len()) as u64;
        if lost > 0 {
            // Writing to a String cannot fail.
            _ = write!(description, " {} of {} not finite.", words::count(lost, "value"), s.name);
        }
    }
    Words { title: chart.title.clone(), description, table: table(series, chart) }
}

/// One row per x, one column per series; rows evenly chosen when there are many.
fn table(series: &[Series], chart: &Chart) -> Table {
    let mut xs: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
    xs.retain(|x| x.is_finite());
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let all = xs.len();
    let rows = all.min(MOST_ROWS);
    let caption = if rows < all {
        format!("{}: {rows} of {all} values of {}", chart.title, chart.x_label)
    } else {
        chart.title.clone()
    };
    let picked = (0..rows).map(|i| xs[if rows > 1 { i * (all - 1) / (rows - 1) } else { 0 }]);
    let value = |s: &Series, x: f64| {
        let at = s.points.iter().find(|p| p.0.total_cmp(&x).is_eq());
        at.map_or(String::new(), |p| p.1.to_string())
    };
    let row = |x: f64| {
        let values = series.iter().map(|s| value(s, x));
        [x.to_string()].into_iter().chain(values).collect()
    };
    let heads = series.iter().map(|s| s.name.clone());
    let head = [chart.x_label.clone()].into_iter().chain(heads).collect();
    Table { caption, head, rows: picked.map(row).collect() }
}
