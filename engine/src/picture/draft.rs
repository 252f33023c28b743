//! The drawing board: marks at any coordinates, at the end shifted to where a scene wants them.

use super::geometry::Bounds;
use super::scene::{Align, Form, Mark, Scene, Table, Tone};

/// Room around a picture, so that strokes are not cut.
const MARGIN: f64 = 10.0;

/// Font size of notes (dimension names, captions).
pub(super) const NOTE: f64 = 12.0;

/// Marks being collected.
#[derive(Debug, Default)]
pub(super) struct Draft {
    marks: Vec<Mark>,
}

/// What a scene says in words.
#[derive(Debug)]
pub(super) struct Words {
    /// Title of the scene.
    pub(super) title: String,
    /// Its description.
    pub(super) description: String,
    /// Its twin.
    pub(super) table: Table,
}

impl Draft {
    /// An empty board.
    pub(super) const fn new() -> Self {
        Self { marks: Vec::new() }
    }

    /// Adds a mark on top of the others.
    pub(super) fn push(&mut self, tone: Tone, form: Form) {
        self.marks.push(Mark { form, tone, pnums: Vec::new(), tip: None });
    }

    /// Adds a finished mark on top of the others.
    pub(super) fn add(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// Adds a line through points.
    pub(super) fn line(&mut self, tone: Tone, points: &[(f64, f64)]) {
        self.push(tone, Form::Line(points.to_vec()));
    }

    /// Adds a text; `at` is its anchor.
    pub(super) fn text(&mut self, tone: Tone, at: (f64, f64), size: f64, align: Align, text: &str) {
        let text = text.to_owned();
        self.push(tone, Form::Text { x: at.0, y: at.1, size, align, text });
    }

    /// Adds a note.
    pub(super) fn note(&mut self, at: (f64, f64), align: Align, text: &str) {
        self.text(Tone::Note, at, NOTE, align, text);
    }

    /// Bounds of all marks.
    pub(super) fn bounds(&self) -> Bounds {
        self.marks.iter().fold(Bounds::NONE, |b, m| b.join(m.form.bounds()))
    }

    /// Where x = 0 will be in the scene.
    pub(super) fn left(&self) -> f64 {
        if self.marks.is_empty() { MARGIN } else { MARGIN - self.bounds().left }
    }

    /// Where y = 0 will be in the scene.
    pub(super) fn above(&self) -> f64 {
        if self.marks.is_empty() { MARGIN } else { MARGIN - self.bounds().top }
    }

    /// Puts another board on top of this one, shifted.
    pub(super) fn place(&mut self, other: Self, dx: f64, dy: f64) {
        for mut mark in other.marks {
            mark.form.shift(dx, dy);
            self.marks.push(mark);
        }
    }

    /// The scene: everything shifted so that it begins at the margin.
    pub(super) fn finish(self, words: Words) -> Scene {
        let Bounds { left, top, right, bottom } = if self.marks.is_empty() {
            rect(0.0, 0.0, 0.0, 0.0, 0.0).bounds()
        } else {
            self.bounds()
        };
        let mut shifted = Self::new();
        shifted.place(self, MARGIN - left, MARGIN - top);
        let Words { title, description, table } = words;
        Scene {
            width: (right - left + 2.0 * MARGIN).ceil(),
            height: (bottom - top + 2.0 * MARGIN).ceil(),
            title,
            description,
            marks: shifted.marks,
            table,
        }
    }
}

/// A rectangle.
pub(super) const fn rect(x: f64, y: f64, width: f64, height: f64, radius: f64) -> Form {
    Form::Rect { x, y, width, height, radius }
}

/// Boards of about one size in rows: their places from the left top, in reading order. At most
/// `across` stand in a row; `gap` is the room between two.
pub(super) fn arrange(boards: Vec<Draft>, across: usize, gap: f64) -> Draft {
    let all: Vec<Bounds> = boards.iter().map(Draft::bounds).collect();
    let across = across.max(1);
    let widest = |column: usize| {
        all.iter().skip(column).step_by(across).map(Bounds::width).fold(0.0, f64::max)
    };
    let widths: Vec<f64> = (0..across).map(widest).collect();
    let heights: Vec<f64> =
        all.chunks(across).map(|row| row.iter().map(Bounds::height).fold(0.0, f64::max)).collect();
    let mut sheet = Draft::new();
    for (i, (board, bounds)) in boards.into_iter().zip(&all).enumerate() {
        let (row, column) = (i / across, i % across);
        let x: f64 = widths[..column].iter().map(|w| w + gap).sum();
        let y: f64 = heights[..row].iter().map(|h| h + gap).sum();
        sheet.place(board, x - bounds.left, y - bounds.top);
    }
    sheet
}
