//! Three small mesh dimensions: planes of processors behind each other, in oblique projection.
//!
//! Rows go down, columns to the right, planes into the depth (to the right and up). Columns are
//! as far apart as all planes need, so no processor hides another.

use super::Board;
use crate::layout::mesh::MeshDim;
use crate::picture::scene::{Align, Tone};

/// Draws a lattice of `counts` rows, columns and planes.
pub(super) fn draw(board: &mut Board<'_>, counts: [usize; 3], names: [&MeshDim; 3]) {
    let cell = board.cell;
    let [rows, cols, planes] = counts;
    let depth = (cell.width + 6.0, 24.0);
    let wide = planes as f64 * depth.0 + 16.0;
    let high = (planes as f64 - 1.0) * depth.1 + cell.height + 14.0;
    let at = |r: usize, c: usize, p: usize| {
        let (r, c, p) = (r as f64, c as f64, p as f64);
        (c * wide + p * depth.0, r * high - p * depth.1)
    };
    let middle = |r: usize, c: usize, p: usize| {
        let (x, y) = at(r, c, p);
        (x + cell.width / 2.0, y + cell.height / 2.0)
    };
    for r in 0..rows {
        for c in 0..cols {
            board.draft.line(Tone::Link, &[middle(r, c, 0), middle(r, c, planes - 1)]);
        }
    }
    for p in (0..planes).rev() {
        for r in 0..rows {
            board.draft.line(Tone::Link, &[middle(r, 0, p), middle(r, cols - 1, p)]);
        }
        for c in 0..cols {
            board.draft.line(Tone::Link, &[middle(0, c, p), middle(rows - 1, c, p)]);
        }
    }
    for p in (0..planes).rev() {
        for r in 0..rows {
            for c in 0..cols {
                board.processor(&[r as u64, c as u64, p as u64], at(r, c, p));
            }
        }
    }
    let [row_dim, col_dim, plane_dim] = names;
    let bottom = at(rows - 1, 0, 0).1 + cell.height;
    let text = format!("{} {} ↓", row_dim.name, row_dim.size);
    board.draft.note((-8.0, bottom / 2.0), Align::End, &text);
    let front = (cols as f64 - 1.0) * wide + cell.width;
    let text = format!("{} {} →", col_dim.name, col_dim.size);
    board.draft.note((front / 2.0, bottom + 14.0), Align::Middle, &text);
    let (x, y) = at(0, 0, planes - 1);
    let text = format!("{} {} ↗", plane_dim.name, plane_dim.size);
    board.draft.note((x, y - 14.0), Align::Start, &text);
}
