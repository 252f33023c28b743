//! Draws a [`Scene`] on a canvas. The only place in the studio that turns geometry into marks.
//!
//! A picture is one element, however many slices it has, so that a click on the layout pays for
//! what it paints and not for elements. What a canvas cannot tell a pointer, geometry does: see
//! `pick.rs`. Marks that are lit lie over the canvas as SVG elements, which carry their processors
//! in `data-p` (`all` when they stand for all), as rows of tables do.

use crate::strokes::{Point, Strokes};
use meshwork_engine::index::Pnum;
use meshwork_engine::picture::palette::{DASHES, Hue, Theme};
use meshwork_engine::picture::scene::{Form, Mark, Scene, Tone};
use std::fmt::Write as _;
use wasm_bindgen::JsCast as _;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

/// The same as the style sheet's `--sans`.
const FONT: &str = "system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\"Noto Sans\",\
                    \"Liberation Sans\",sans-serif";
/// The middle of figures and capitals lies this far over the baseline, in em.
const MIDDLE: f64 = 0.36;
/// Distance of the lines of a hatch along x, and their width.
const HATCH: (f64, f64) = (8.5, 2.0);
/// No canvas is larger, in pixels.
const MOST_PIXELS: f64 = 8192.0;
/// A canvas grows by so many pixels at a time.
const GROWTH: f64 = 64.0;

/// How large a scene is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Zoom {
    /// CSS pixels for one of the scene's.
    pub shrunk: f64,
    /// Pixels of the screen for a CSS pixel.
    pub density: f64,
}

impl Zoom {
    /// Pixels of the canvas for one of the scene's, so that it has room for the scene.
    fn scale(self, scene: &Scene) -> f64 {
        (self.shrunk * self.density).min(MOST_PIXELS / scene.width.max(scene.height).max(1.0))
    }
}

/// Gives the canvas room for the scene. It only grows: pixels made anew cost more than a picture.
/// Takes how large its pixels were, in CSS pixels, if it was given room before, and returns how
/// large they are.
pub fn fit(canvas: &HtmlCanvasElement, scene: &Scene, zoom: Zoom, was: Option<f64>) -> f64 {
    let scale = zoom.scale(scene);
    let pixels = |length: f64| ((length * scale / GROWTH).ceil().max(1.0) * GROWTH) as u32;
    let (width, height) = (pixels(scene.width), pixels(scene.height));
    let (had_width, had_height) = (canvas.width(), canvas.height());
    if had_width < width {
        canvas.set_width(width);
    }
    if had_height < height {
        canvas.set_height(height);
    }
    // so many CSS pixels for one of its own
    let size = zoom.shrunk / scale;
    let style = canvas.style();
    for (name, had, pixels) in [("width", had_width, width), ("height", had_height, height)] {
        if had < pixels || was != Some(size) {
            let length = format!("{}px", f64::from(had.max(pixels)) * size);
            // a property that exists takes a length
            drop(style.set_property(name, &length));
        }
    }
    size
}

/// Draws the scene into the corner of the canvas, which has room for it. Setting the font brings
/// the style of the whole page up to date, so that this is best called when the page has changed
/// all it will.
pub fn paint(canvas: &HtmlCanvasElement, scene: &Scene, theme: &'static Theme, zoom: Zoom) {
    let Ok(Some(context)) = canvas.get_context("2d") else { return };
    let context: CanvasRenderingContext2d = context.unchecked_into();
    let scale = zoom.scale(scene);
    // fails only for numbers that are none
    drop(context.set_transform(scale, 0.0, 0.0, scale, 0.0, 0.0));
    let whole = |pixels: u32| f64::from(pixels) / scale;
    context.clear_rect(0.0, 0.0, whole(canvas.width()), whole(canvas.height()));
    let mut brush = Brush { strokes: Strokes::default(), theme };
    // no form lies on a text, so all of one kind come together, and their ink is set once
    let (texts, mut forms): (Vec<&Mark>, Vec<&Mark>) =
        scene.marks.iter().partition(|m| matches!(m.form, Form::Text { .. }));
    // nor do slices lie on each other where nothing is a box
    let is_flat = !forms.iter().any(|m| matches!(m.form, Form::Polygon(_)));
    for run in forms.chunk_by_mut(|a, b| is_flat && is_tile(a) && is_tile(b)) {
        run.sort_by_key(|m| m.tone.hue());
        for mark in run.iter() {
            brush.fill(mark);
        }
        for mark in run.iter() {
            brush.form(mark);
        }
    }
    for mark in texts {
        brush.text(mark);
    }
    brush.strokes.play(&context);
}

/// Whether it is a slice with sharp corners and nothing on it.
fn is_tile(mark: &Mark) -> bool {
    let is_sharp = matches!(mark.form, Form::Rect { radius, .. } if radius <= 0.0);
    is_sharp && matches!(mark.tone, Tone::Slice(_))
}

/// Marks as strokes in the colours of a theme.
struct Brush {
    strokes: Strokes,
    theme: &'static Theme,
}

/// Colour of the inside; colour and width of the outline.
type Look = (Option<&'static str>, Option<(&'static str, f64)>);

impl Brush {
    /// The inside of a rectangle with sharp corners: several times as fast as a path.
    fn fill(&mut self, mark: &Mark) {
        if let Form::Rect { x, y, width, height, radius } = mark.form
            && radius <= 0.0
            && let (Some(colour), _) = self.look(mark.tone)
        {
            self.strokes.fill(colour);
            self.strokes.fill_rectangle((x, y), (width, height));
        }
    }

    /// All of a form that [`Brush::fill`] leaves.
    fn form(&mut self, mark: &Mark) {
        let tone = mark.tone;
        match &mark.form {
            Form::Text { .. } => {}
            Form::Line(points) => {
                let (colour, width) = self.line_look(tone);
                self.strokes.pen(colour, width, dash(tone));
                self.strokes.curve(points);
            }
            Form::Polygon(points) => {
                self.strokes.path(points, true);
                self.face(tone);
                self.hatch(tone, points);
            }
            &Form::Rect { x, y, width, height, radius } if radius > 0.0 => {
                self.strokes.rounded((x, y), (width, height), radius);
                self.face(tone);
            }
            &Form::Rect { x, y, width, height, .. } => {
                if let (_, Some((colour, thickness))) = self.look(tone) {
                    self.strokes.pen(colour, thickness, "");
                    self.strokes.stroke_rectangle((x, y), (width, height));
                }
                let (right, bottom) = (x + width, y + height);
                self.hatch(tone, &[(x, y), (right, y), (right, bottom), (x, bottom)]);
            }
        }
    }

    /// Fills and outlines the path.
    fn face(&mut self, tone: Tone) {
        let (inside, outline) = self.look(tone);
        if let Some(colour) = inside {
            self.strokes.fill(colour);
            self.strokes.fill_path();
        }
        if let Some((colour, width)) = outline {
            self.strokes.pen(colour, width, "");
            self.strokes.stroke_path();
        }
    }

    /// The lines over a face whose values are partial.
    fn hatch(&mut self, tone: Tone, corners: &[Point]) {
        let Tone::Partial(hue) = tone else { return };
        self.strokes.pen(self.hue(hue).line, HATCH.1, "");
        self.strokes.faint_segments(&hatch(corners), 0.45);
    }

    fn text(&mut self, mark: &Mark) {
        let Form::Text { x, y, size, align, text } = &mark.form else { return };
        self.strokes.fill(match mark.tone {
            Tone::Note | Tone::Elided => self.theme.note,
            Tone::Series(hue) => self.hue(hue).line,
            _ => self.theme.ink,
        });
        self.strokes.font(*size, FONT);
        self.strokes.align(*align);
        self.strokes.text(text, (*x, y + MIDDLE * size));
    }

    fn hue(&self, hue: u8) -> Hue {
        self.theme.hues[usize::from(hue % Tone::SLICE_HUES)]
    }

    /// How what is filled looks.
    fn look(&self, tone: Tone) -> Look {
        let theme = self.theme;
        match tone {
            Tone::Slice(hue) | Tone::Partial(hue) => {
                let hue = self.hue(hue);
                (Some(hue.fill), Some((hue.line, 1.0)))
            }
            Tone::SliceShade(hue) => {
                let hue = self.hue(hue);
                (Some(hue.shade), Some((hue.line, 1.0)))
            }
            Tone::Series(hue) => (Some(self.hue(hue).line), None),
            Tone::Processor => (Some(theme.processor), Some((theme.processor_line, 1.0))),
            Tone::Elided => (Some(theme.faint), Some((theme.link, 1.0))),
            Tone::Frame => (None, Some((theme.frame, 1.25))),
            Tone::Link => (None, Some((theme.link, 1.0))),
            Tone::Busy => (Some(theme.busy), None),
            Tone::Traffic => (Some(theme.traffic), None),
            Tone::Idle => (Some(theme.faint), None),
            Tone::Label => (Some(theme.ink), None),
            Tone::Note => (Some(theme.note), None),
        }
    }

    /// Colour and width of a line.
    fn line_look(&self, tone: Tone) -> (&'static str, f64) {
        match (tone, self.look(tone).1) {
            (Tone::Series(hue), _) => (self.hue(hue).line, 1.75),
            (_, Some(outline)) => outline,
            (_, None) => (self.theme.link, 1.0),
        }
    }
}

/// The dash of a series; other lines have none.
fn dash(tone: Tone) -> &'static str {
    let Tone::Series(hue) = tone else { return "" };
    DASHES.get(usize::from(hue % Tone::SLICE_HUES)).copied().unwrap_or("")
}

/// The lines of a hatch inside a convex polygon: rising, where x + y is a multiple of the distance.
fn hatch(corners: &[Point]) -> Vec<[Point; 2]> {
    let height = |p: &Point| p.0 + p.1;
    let least = corners.iter().map(height).fold(f64::INFINITY, f64::min);
    let most = corners.iter().map(height).fold(f64::NEG_INFINITY, f64::max);
    let mut out = Vec::new();
    let mut at = ((least / HATCH.0).floor() + 1.0) * HATCH.0;
    while at < most {
        let edges = corners.iter().zip(corners.iter().cycle().skip(1));
        let mut ends = edges.filter_map(|(a, b)| {
            let (from, to) = (height(a) - at, height(b) - at);
            let t = from / (from - to);
            ((from < 0.0) != (to < 0.0)).then_some((a.0 + (b.0 - a.0) * t, a.1 + (b.1 - a.1) * t))
        });
        if let (Some(a), Some(b)) = (ends.next(), ends.next()) {
            out.push([a, b]);
        }
        at += HATCH.0;
    }
    out
}

/// What a picture says to those who do not see it.
pub fn label(scene: &Scene) -> String {
    format!("{}. {}", scene.title, scene.description)
}

/// The faces of those processors that `is_lit` asks for, as SVG elements; `processors` is the size
/// of the mesh.
pub fn outlines(scene: &Scene, processors: u64, is_lit: impl Fn(&[Pnum]) -> bool) -> String {
    let mut out = String::new();
    for mark in scene.marks.iter().filter(|m| !m.pnums.is_empty() && is_lit(&m.pnums)) {
        match &mark.form {
            // Writing to a String cannot fail.
            Form::Rect { x, y, width, height, radius } => {
                _ = write!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\""
                );
            }
            Form::Polygon(points) => {
                out.push_str("<polygon points=\"");
                for (x, y) in points {
                    _ = write!(out, "{x},{y} ");
                }
                out.push('"');
            }
            Form::Line(_) | Form::Text { .. } => continue,
        }
        _ = write!(out, " data-p=\"{}\"/>", holders(&mark.pnums, processors));
    }
    out
}

/// The value of `data-p`: processors separated by spaces, or `all`.
pub fn holders(pnums: &[Pnum], processors: u64) -> String {
    if pnums.len() as u64 >= processors {
        return "all".to_owned();
    }
    let mut out = String::new();
    for (i, pnum) in pnums.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { " " });
        _ = write!(out, "{}", pnum.0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(forms: Vec<(Form, Vec<u32>)>) -> Scene {
        let marks = forms.into_iter().map(|(form, pnums)| Mark {
            form,
            tone: Tone::Slice(0),
            pnums: pnums.into_iter().map(Pnum).collect(),
            tip: None,
        });
        Scene {
            width: 40.0,
            height: 20.0,
            title: "w".into(),
            description: "It is split.".into(),
            marks: marks.collect(),
            table: meshwork_engine::picture::scene::Table::default(),
        }
    }

    #[test]
    fn whole_tensors_say_all() {
        let of = |processors| holders(&[Pnum(0), Pnum(1)], processors);
        assert_eq!([of(2), of(4)], ["all", "0 1"]);
    }

    #[test]
    fn the_label_says_what_the_picture_shows() {
        assert_eq!(label(&scene(Vec::new())), "w. It is split.");
    }

    #[test]
    fn faces_that_are_lit_are_outlined_with_their_processors() {
        let rect = Form::Rect { x: 1.5, y: 0.0, width: 4.0, height: 5.0, radius: 0.0 };
        let side = Form::Polygon(vec![(0.0, 0.0), (1.0, 2.0)]);
        let line = Form::Line(vec![(0.0, 0.0), (1.0, 2.0)]);
        let scene = scene(vec![
            (rect.clone(), vec![0, 2]),
            (side, vec![0, 1, 2, 3]),
            (line, vec![0]),
            (rect, vec![1]),
        ]);
        let out = outlines(&scene, 4, |pnums| pnums.contains(&Pnum(2)));
        assert_eq!(
            out,
            "<rect x=\"1.5\" y=\"0\" width=\"4\" height=\"5\" rx=\"0\" data-p=\"0 2\"/>\
             <polygon points=\"0,0 1,2 \" data-p=\"all\"/>"
        );
    }

    #[test]
    fn a_hatch_stays_inside() {
        let corners = [(10.0, 10.0), (50.0, 10.0), (50.0, 30.0), (10.0, 30.0)];
        let lines = hatch(&corners);
        assert_eq!(lines.len(), 7);
        for (x, y) in lines.into_iter().flatten() {
            assert!((10.0..=50.0).contains(&x) && (10.0..=30.0).contains(&y), "{x} {y}");
        }
        assert!(hatch(&[]).is_empty());
    }
}
