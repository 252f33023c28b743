//! One and two mesh dimensions: a line that wraps, a grid.

use super::Board;
use crate::layout::mesh::MeshDim;
use crate::picture::elide::Slot;
use crate::picture::geometry::text_width;
use crate::picture::scene::{Align, Tone};

/// Processors of a line that stand side by side: in spacious cells, in small ones.
const LINE: (usize, usize) = (8, 32);

/// A line of up to this many is not wrapped.
const UNWRAPPED: usize = 12;

/// Font size of row and column numbers.
const NUMBER: f64 = 10.0;

/// The processors of a one-dimensional mesh; a long line is continued below.
pub(super) fn line(board: &mut Board<'_>, slots: &[Slot], dim: &MeshDim) {
    let cell = board.cell;
    let (dx, dy) = cell.pitch();
    let across = match slots.len() {
        few if few <= UNWRAPPED => few,
        _ if cell.spacious => LINE.0,
        _ => LINE.1,
    };
    let lines: Vec<&[Slot]> = slots.chunks(across.max(1)).collect();
    if cell.spacious {
        for (i, row) in lines.iter().enumerate() {
            let y = i as f64 * dy + cell.height / 2.0;
            let end = (row.len() - 1) as f64 * dx + cell.width / 2.0;
            if row.len() > 1 {
                board.draft.line(Tone::Link, &[(cell.width / 2.0, y), (end, y)]);
            }
            if i > 0 {
                // From the end of the line above, through the gap, to the beginning of this one.
                let (last, between) = (across as f64 - 1.0, i as f64 * dy - cell.gap / 2.0);
                let (from, to) = (last * dx + cell.width / 2.0, cell.width / 2.0);
                let above = (i - 1) as f64 * dy + cell.height / 2.0;
                board
                    .draft
                    .line(Tone::Link, &[(from, above), (from, between), (to, between), (to, y)]);
            }
        }
    }
    for (i, row) in lines.iter().enumerate() {
        for (j, slot) in row.iter().enumerate() {
            place(board, *slot, (j as f64 * dx, i as f64 * dy), |n| vec![n]);
        }
    }
    let width = lines.first().map_or(0.0, |l| l.len() as f64 * dx - cell.gap);
    head(board, &format!("{} {} →", dim.name, dim.size), width, -14.0);
}

/// The processors of a two-dimensional mesh; `numbered` adds the coordinates at the edges.
pub(super) fn grid(
    board: &mut Board<'_>,
    [rows, cols]: [&[Slot]; 2],
    [row_dim, col_dim]: [&MeshDim; 2],
    numbered: bool,
) {
    let cell = board.cell;
    let (dx, dy) = cell.pitch();
    let (width, height) = (cols.len() as f64 * dx - cell.gap, rows.len() as f64 * dy - cell.gap);
    if cell.spacious {
        let (x, y) = (cell.width / 2.0, cell.height / 2.0);
        for i in 0..rows.len() {
            let y = i as f64 * dy + y;
            if cols.len() > 1 {
                board.draft.line(Tone::Link, &[(x, y), (width - x, y)]);
            }
        }
        for j in 0..cols.len() {
            let x = j as f64 * dx + x;
            if rows.len() > 1 {
                board.draft.line(Tone::Link, &[(x, y), (x, height - y)]);
            }
        }
    }
    for (i, row) in rows.iter().enumerate() {
        for (j, col) in cols.iter().enumerate() {
            let at = (j as f64 * dx, i as f64 * dy);
            match row {
                Slot::Block(r) => place(board, *col, at, |c| vec![*r, c]),
                Slot::Gap => place(board, Slot::Gap, at, |_| Vec::new()),
            }
        }
    }
    let (mut left, mut top) = (-8.0, -14.0);
    if numbered {
        for (j, col) in cols.iter().enumerate() {
            let at = (j as f64 * dx + cell.width / 2.0, -9.0);
            number(board, *col, at, Align::Middle);
        }
        for (i, row) in rows.iter().enumerate() {
            number(board, *row, (-6.0, i as f64 * dy + cell.height / 2.0), Align::End);
        }
        let widest = row_dim.size.saturating_sub(1).to_string();
        left -= text_width(&widest, NUMBER) + 4.0;
        top -= 11.0;
    }
    head(board, &format!("{} {} →", col_dim.name, col_dim.size), width, top);
    let text = format!("{} {} ↓", row_dim.name, row_dim.size);
    board.draft.note((left, height / 2.0), Align::End, &text);
}

/// A processor, or the mark of ones left out.
fn place(board: &mut Board<'_>, slot: Slot, at: (f64, f64), coords: impl Fn(u64) -> Vec<u64>) {
    match slot {
        Slot::Block(n) => board.processor(&coords(n), at),
        Slot::Gap => {
            let middle = (at.0 + board.cell.width / 2.0, at.1 + board.cell.height / 2.0);
            board.draft.text(Tone::Elided, middle, board.cell.font, Align::Middle, "⋯");
        }
    }
}

/// The number of a row or column.
fn number(board: &mut Board<'_>, slot: Slot, at: (f64, f64), align: Align) {
    if let Slot::Block(n) = slot {
        board.draft.text(Tone::Note, at, NUMBER, align, &n.to_string());
    }
}

/// A note above, in the middle of `width`, or from its beginning when it is wider.
fn head(board: &mut Board<'_>, text: &str, width: f64, y: f64) {
    if text_width(text, crate::picture::draft::NOTE) > width {
        board.draft.note((0.0, y), Align::Start, text);
    } else {
        board.draft.note((width / 2.0, y), Align::Middle, text);
    }
}
