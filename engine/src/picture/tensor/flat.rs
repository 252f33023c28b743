//! Rank 0, 1 and 2: a cell, a strip, a matrix.
//!
//! What is cut along one dimension only, into many blocks, is drawn in pieces: a strip and the
//! columns of a matrix go on in the line below, the rows of a matrix in the column beside.

use super::cut::Cut;
use super::paint::{Axis, Look, Painter, Side};
use crate::picture::draft::{Draft, rect};
use crate::picture::elide::{Ruler, Slot};
use crate::picture::scene::Tone;

/// Height of a strip, and of a cell.
const STRIP_HEIGHT: f64 = 40.0;

/// Room between two pieces.
const BETWEEN: f64 = 8.0;

/// How many blocks stand in one piece, of so many along a line.
pub(super) const fn piece(blocks: usize) -> usize {
    match blocks {
        0..=64 => 16,
        _ => 32,
    }
}

/// Draws a tensor of the given axes, at most two.
pub(super) fn draw(cut: &Cut<'_>, look: &Look, axes: &[Axis]) -> Draft {
    let single = Axis::single();
    let mut painter = Painter::new(cut, look, &[]);
    let (rows, cols) = match axes {
        [rows, cols, ..] => (rows, cols),
        [cols] => (&single, cols),
        [] => (&single, &single),
    };
    let least = if axes.len() < 2 { STRIP_HEIGHT } else { look.height };
    let wide = if axes.is_empty() { look.width.max(STRIP_HEIGHT) } else { look.width };
    let (down, across) = (rows.ruler(least), cols.ruler(wide));
    // Only one of the two is ever in more than one piece.
    let downs = if cols.is_cut() { vec![down] } else { down.wrapped(piece(rows.slots.len())) };
    let acrosses =
        if rows.is_cut() { vec![across] } else { across.wrapped(piece(cols.slots.len())) };
    let (mut x, mut y) = (0.0, 0.0);
    for down in &downs {
        for across in &acrosses {
            grid(&mut painter, (rows, down), (cols, across), (x, y));
            y += if acrosses.len() > 1 { down.length() + BETWEEN } else { 0.0 };
        }
        x += acrosses.first().map_or(0.0, Ruler::length) + BETWEEN;
    }
    if let Some(dim) = rows.dim {
        let height = painter.draft.bounds().height();
        painter.left_note(dim, -8.0, height / 2.0);
    }
    if let Some(dim) = cols.dim {
        painter.line_note(dim, acrosses.first().map_or(0.0, Ruler::length), -13.0);
    }
    painter.draft
}

/// A matrix of slices with its frame, its left top corner at `at`.
fn grid(
    painter: &mut Painter<'_>,
    rows: (&Axis, &Ruler),
    cols: (&Axis, &Ruler),
    (left, top): (f64, f64),
) {
    let (width, height) = (cols.1.length(), rows.1.length());
    for r in rows.1.spans() {
        for c in cols.1.spans() {
            if let (Slot::Block(row), Slot::Block(col)) = (r.slot, c.slot) {
                let form = rect(left + c.start, top + r.start, c.length, r.length, 0.0);
                let at = (left + c.middle(), top + r.middle());
                painter.face(&[(rows.0.dim, row), (cols.0.dim, col)], Side::Front, form, Some(at));
            }
        }
    }
    for c in cols.1.spans().iter().filter(|c| c.slot == Slot::Gap) {
        let at = (left + c.middle(), top + height / 2.0);
        painter.gap(rect(left + c.start, top, c.length, height, 0.0), Some(at));
    }
    for r in rows.1.spans().iter().filter(|r| r.slot == Slot::Gap) {
        let at = (left + width / 2.0, top + r.middle());
        painter.gap(rect(left, top + r.start, width, r.length, 0.0), Some(at));
    }
    painter.draft.push(Tone::Frame, rect(left, top, width, height, 0.0));
}
