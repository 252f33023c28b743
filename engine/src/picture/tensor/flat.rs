//! Rank 0, 1 and 2: a cell, a strip (wrapped when it has many blocks), a matrix.

use super::cut::Cut;
use super::paint::{Axis, Look, Painter, Side};
use crate::picture::draft::{Draft, rect};
use crate::picture::elide::{Ruler, Slot};
use crate::picture::scene::Tone;

/// Height of a strip.
const STRIP_HEIGHT: f64 = 40.0;

/// The most blocks of a strip on one line.
const STRIP_LINE: usize = 16;

/// Draws a tensor of the given axes, at most two.
pub(super) fn draw(cut: &Cut<'_>, look: &Look, axes: &[Axis]) -> Draft {
    let single = Axis::single();
    let mut painter = Painter::new(cut, look, &[]);
    match axes {
        [rows, cols, ..] => {
            let down = rows.ruler(look.height);
            grid(&mut painter, (rows, &down), (cols, &cols.ruler(look.width)), 0.0);
            if let Some(dim) = rows.dim {
                painter.left_note(dim, -8.0, down.length() / 2.0);
            }
        }
        [cols] => {
            let down = single.ruler(STRIP_HEIGHT);
            for (i, line) in cols.ruler(look.width).wrapped(STRIP_LINE).iter().enumerate() {
                grid(&mut painter, (&single, &down), (cols, line), i as f64 * (STRIP_HEIGHT + 8.0));
            }
        }
        [] => {
            let across = single.ruler(look.width.max(STRIP_HEIGHT));
            let down = single.ruler(STRIP_HEIGHT);
            grid(&mut painter, (&single, &down), (&single, &across), 0.0);
        }
    }
    if let Some((dim, axis)) = axes.last().and_then(|a| a.dim.map(|d| (d, a))) {
        let line =
            axis.ruler(look.width).wrapped(if axes.len() == 1 { STRIP_LINE } else { usize::MAX });
        painter.line_note(dim, line.first().map_or(0.0, Ruler::length), -13.0);
    }
    painter.draft
}

/// A matrix of slices with its frame, its left top corner at (0, `top`).
fn grid(painter: &mut Painter<'_>, rows: (&Axis, &Ruler), cols: (&Axis, &Ruler), top: f64) {
    let (width, height) = (cols.1.length(), rows.1.length());
    for r in rows.1.spans() {
        for c in cols.1.spans() {
            if let (Slot::Block(row), Slot::Block(col)) = (r.slot, c.slot) {
                let form = rect(c.start, top + r.start, c.length, r.length, 0.0);
                let at = (c.middle(), top + r.middle());
                painter.face(&[(rows.0.dim, row), (cols.0.dim, col)], Side::Front, form, Some(at));
            }
        }
    }
    for c in cols.1.spans().iter().filter(|c| c.slot == Slot::Gap) {
        let at = (c.middle(), top + height / 2.0);
        painter.gap(rect(c.start, top, c.length, height, 0.0), Some(at));
    }
    for r in rows.1.spans().iter().filter(|r| r.slot == Slot::Gap) {
        let at = (width / 2.0, top + r.middle());
        painter.gap(rect(0.0, top + r.start, width, r.length, 0.0), Some(at));
    }
    painter.draft.push(Tone::Frame, rect(0.0, top, width, height, 0.0));
}
