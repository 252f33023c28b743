//! A drawing as a list of strokes, played on a canvas in one call: from WebAssembly, each call of a
//! canvas costs more than what it draws.
//!
//! `strokes.js` plays the list. What is set on a canvas stays on it, so a stroke that sets what is
//! set already is left out.

use meshwork_engine::picture::scene::Align;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::CanvasRenderingContext2d;

#[wasm_bindgen(module = "/src/strokes.js")]
extern "C" {
    fn play(context: &CanvasRenderingContext2d, list: &[f64], words: &str);
}

/// What stands in the list: the stroke's number, then the numbers named here. Words are a list of
/// their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stroke {
    /// Colour of the inside: a word.
    Fill = 0,
    /// Colour of lines: a word.
    Pen = 1,
    /// Width of lines.
    Width = 2,
    /// Lengths of dashes and gaps, with spaces between: a word.
    Dash = 3,
    /// A word.
    Font = 4,
    /// Where the anchor of texts is: a word.
    Align = 5,
    /// How opaque lines are.
    Alpha = 6,
    /// x, y, width, height.
    FillRectangle = 7,
    /// x, y, width, height.
    OutlineRectangle = 8,
    /// How many points; x and y of each.
    Path = 9,
    /// How many lines; x and y of both ends of each.
    Segments = 10,
    /// x, y, width, height, radius.
    Rounded = 11,
    /// None.
    Close = 12,
    /// None.
    FillPath = 13,
    /// None.
    OutlinePath = 14,
    /// x and y; a word.
    Text = 15,
    /// How lines turn: a word.
    Join = 16,
}

/// A point of the scene.
pub type Point = (f64, f64);

/// The list, and what is set by it.
#[derive(Debug, Default)]
pub struct Strokes {
    list: Vec<f64>,
    words: Vec<String>,
    fill: Option<&'static str>,
    pen: Option<&'static str>,
    width: f64,
    dash: &'static str,
    size: f64,
    align: Option<Align>,
}

impl Strokes {
    /// Plays it on a canvas whose width, dash and alpha of lines are those that canvases have at
    /// first; leaves them so.
    pub fn play(mut self, context: &CanvasRenderingContext2d) {
        self.width(1.0);
        self.dash("");
        play(context, &self.list, &self.words.join("\n"));
    }

    fn stroke(&mut self, stroke: Stroke, numbers: &[f64]) {
        self.list.push(f64::from(stroke as u8));
        self.list.extend(numbers);
    }

    fn word(&mut self, stroke: Stroke, word: &str) {
        self.stroke(stroke, &[]);
        self.words.push(word.to_owned());
    }

    /// Sets the colour of the inside.
    pub fn fill(&mut self, colour: &'static str) {
        if self.fill != Some(colour) {
            self.fill = Some(colour);
            self.word(Stroke::Fill, colour);
        }
    }

    /// Sets colour, width and dash of lines.
    pub fn pen(&mut self, colour: &'static str, width: f64, dash: &'static str) {
        if self.pen != Some(colour) {
            self.pen = Some(colour);
            self.word(Stroke::Pen, colour);
        }
        self.width(width);
        self.dash(dash);
    }

    fn width(&mut self, width: f64) {
        // 0 before anything is set
        let now = if self.width > 0.0 { self.width } else { 1.0 };
        if (now - width).abs() > f64::EPSILON {
            self.stroke(Stroke::Width, &[width]);
        }
        self.width = width;
    }

    fn dash(&mut self, dash: &'static str) {
        if self.dash != dash {
            self.dash = dash;
            self.word(Stroke::Dash, dash);
        }
    }

    /// Sets the font by its size and family.
    pub fn font(&mut self, size: f64, family: &str) {
        if (self.size - size).abs() > f64::EPSILON {
            self.size = size;
            self.word(Stroke::Font, &format!("{size}px {family}"));
        }
    }

    /// Sets where the anchor of texts is.
    pub fn align(&mut self, align: Align) {
        if self.align != Some(align) {
            self.align = Some(align);
            let word = match align {
                Align::Start => "left",
                Align::Middle => "center",
                Align::End => "right",
            };
            self.word(Stroke::Align, word);
        }
    }

    /// Fills a rectangle.
    pub fn fill_rectangle(&mut self, (x, y): Point, (width, height): Point) {
        self.stroke(Stroke::FillRectangle, &[x, y, width, height]);
    }

    /// Outlines a rectangle.
    pub fn stroke_rectangle(&mut self, (x, y): Point, (width, height): Point) {
        self.stroke(Stroke::OutlineRectangle, &[x, y, width, height]);
    }

    /// Begins a path through points; a closed one ends where it began.
    pub fn path(&mut self, points: &[Point], is_closed: bool) {
        self.stroke(Stroke::Path, &[points.len() as f64]);
        self.list.extend(points.iter().flat_map(|&point| <[f64; 2]>::from(point)));
        if is_closed {
            self.stroke(Stroke::Close, &[]);
        }
    }

    /// Begins a path of a rectangle with round corners.
    pub fn rounded(&mut self, (x, y): Point, (width, height): Point, radius: f64) {
        self.stroke(Stroke::Rounded, &[x, y, width, height, radius]);
    }

    /// Fills the path.
    pub fn fill_path(&mut self) {
        self.stroke(Stroke::FillPath, &[]);
    }

    /// Draws the path's outline.
    pub fn stroke_path(&mut self) {
        self.stroke(Stroke::OutlinePath, &[]);
    }

    /// Draws a curve through points: it has sharp turns, which a mitre would lengthen.
    pub fn curve(&mut self, points: &[Point]) {
        self.path(points, false);
        self.word(Stroke::Join, "round");
        self.stroke_path();
        self.word(Stroke::Join, "miter");
    }

    /// Draws lines that let through what is below them.
    pub fn faint_segments(&mut self, segments: &[[Point; 2]], alpha: f64) {
        self.stroke(Stroke::Segments, &[segments.len() as f64]);
        self.list.extend(segments.iter().flatten().flat_map(|&point| <[f64; 2]>::from(point)));
        self.stroke(Stroke::Alpha, &[alpha]);
        self.stroke_path();
        self.stroke(Stroke::Alpha, &[1.0]);
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str, at: Point) {
        self.stroke(Stroke::Text, &<[f64; 2]>::from(at));
        self.words.push(text.replace('\n', " "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_not_set_again() {
        let mut strokes = Strokes::default();
        for x in [0.0, 1.0] {
            strokes.fill("red");
            strokes.pen("blue", 1.0, "");
            strokes.font(10.0, "serif");
            strokes.align(Align::Middle);
            strokes.text("a\nb", (x, 2.0));
        }
        assert_eq!(strokes.words, ["red", "blue", "10px serif", "center", "a b", "a b"]);
        assert_eq!(strokes.list, [0.0, 1.0, 4.0, 5.0, 15.0, 0.0, 2.0, 15.0, 1.0, 2.0]);
        strokes.pen("blue", 2.0, "4 2");
        strokes.pen("blue", 1.0, "");
        assert_eq!(strokes.list[10..], [2.0, 2.0, 3.0, 2.0, 1.0, 3.0]);
        assert_eq!(strokes.words[6..], ["4 2", ""]);
    }

    #[test]
    fn paths_carry_their_points() {
        let mut strokes = Strokes::default();
        strokes.path(&[(1.0, 2.0), (3.0, 4.0)], true);
        strokes.faint_segments(&[[(5.0, 6.0), (7.0, 8.0)]], 0.5);
        let path = [9.0, 2.0, 1.0, 2.0, 3.0, 4.0, 12.0];
        assert_eq!(strokes.list[..7], path);
        assert_eq!(strokes.list[7..], [10.0, 1.0, 5.0, 6.0, 7.0, 8.0, 6.0, 0.5, 14.0, 6.0, 1.0]);
    }
}
