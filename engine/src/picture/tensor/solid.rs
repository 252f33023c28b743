//! Rank 3: a box in oblique projection, its first dimension into the depth.
//!
//! Every slice shows a face with its label. Where the front alone cannot do that (the depth is
//! cut), the slices behind are labelled on the top or on the right side if the rows or the
//! columns are whole; if all three are cut, the box is pulled apart into its layers.

use super::cut::Cut;
use super::paint::{Axis, Look, Painter, Side, soft};
use crate::picture::draft::{Draft, arrange, rect};
use crate::picture::elide::{Ruler, Slot, Span};
use crate::picture::scene::{Align, Form, Tone};

/// How wide a row of layers may become before it wraps.
const ROW_WIDTH: f64 = 720.0;

/// Thickness of a layer that was pulled out, in pixels across and up.
const LAYER: (f64, f64) = (13.0, 9.0);

/// Which faces carry the labels of the slices behind the first layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// The depth is whole: there are none.
    Nothing,
    /// Their tops.
    Tops,
    /// Their right sides.
    Sides,
}

/// Where the faces of a box lie.
#[derive(Debug)]
struct Shape3 {
    depth: Ruler,
    rows: Ruler,
    cols: Ruler,
    /// Pixels across and up per unit of depth.
    step: (f64, f64),
    behind: Behind,
}

/// Draws the box of the slices with the leading blocks `prefix`; `axes` are its three.
pub(super) fn draw(cut: &Cut<'_>, look: &Look, prefix: &[u64], axes: &[Axis]) -> Draft {
    let [depth, rows, cols] = axes else { return Draft::new() };
    let behind = match (depth.is_cut(), rows.is_cut(), cols.is_cut()) {
        (false, _, _) => Behind::Nothing,
        (true, false, _) => Behind::Tops,
        (true, true, false) => Behind::Sides,
        (true, true, true) => return layers(cut, look, prefix, axes),
    };
    let mut painter = Painter::new(cut, look, prefix);
    let shape = solid_shape(cut, look, [depth, rows, cols], behind);
    solid(&mut painter, [depth, rows, cols], &shape);
    notes(&mut painter, [depth, rows, cols], &shape);
    painter.draft
}

/// Sizes of a box that is drawn in one piece.
fn solid_shape(cut: &Cut<'_>, look: &Look, axes: [&Axis; 3], behind: Behind) -> Shape3 {
    let [depth, rows, cols] = axes;
    let size = depth.dim.and_then(|d| cut.shape.dims().get(d)).map_or(1, |d| d.size);
    let each = soft(size) * 0.36 / depth.slots.len() as f64;
    let (mut width, mut height) = (look.width, look.height);
    let step = match behind {
        Behind::Nothing => (each * 0.8, each * 0.55),
        Behind::Tops => {
            let up = (each * 0.55).max(look.font * 1.3 + 4.0);
            width += look.font * 1.2;
            // A deep box would run off to the right: many layers rise more steeply.
            (if depth.slots.len() > 4 { up * 0.6 } else { up * 1.2 }, up)
        }
        Behind::Sides => {
            let across = (each * 0.8).max(look.width);
            height += look.width * 0.4;
            (across, across * 0.4)
        }
    };
    Shape3 {
        depth: Ruler::new(depth.slots.clone(), 1.0, 1.0),
        rows: rows.ruler(height),
        cols: cols.ruler(width),
        step,
        behind,
    }
}

/// The three visible faces of a box, slice by slice.
fn solid(painter: &mut Painter<'_>, axes: [&Axis; 3], shape: &Shape3) {
    let (depths, rows, cols) = (shape.depth.spans(), shape.rows.spans(), shape.cols.spans());
    let (Some(near), Some(top), Some(last)) = (depths.first(), rows.first(), cols.last()) else {
        return;
    };
    let width = shape.cols.length();
    let (dx, dy) = shape.step;
    let mut face = |at: [&Span; 3], side: Side, form: Form, label: Option<(f64, f64)>| {
        let numbers = at.map(|span| span.slot);
        if let [Slot::Block(a), Slot::Block(r), Slot::Block(c)] = numbers {
            let [ad, rd, cd] = axes.map(|axis| axis.dim);
            painter.face(&[(ad, a), (rd, r), (cd, c)], side, form, label);
        } else {
            let gaps = numbers.iter().filter(|s| **s == Slot::Gap).count();
            painter.gap(form, label.filter(|_| gaps == 1));
        }
    };
    for a in depths.iter().rev() {
        let (near_x, near_y) = (a.start * dx, -a.start * dy);
        let (far_x, far_y) = (a.end() * dx, -a.end() * dy);
        let behind = a.start > near.start;
        for c in &cols {
            let form = Form::Polygon(vec![
                (near_x + c.start, near_y),
                (far_x + c.start, far_y),
                (far_x + c.end(), far_y),
                (near_x + c.end(), near_y),
            ]);
            let middle = (c.middle() + f64::midpoint(near_x, far_x), f64::midpoint(near_y, far_y));
            let labelled = behind && shape.behind == Behind::Tops;
            face([a, top, c], Side::Shaded, form, labelled.then_some(middle));
        }
        for r in &rows {
            let form = Form::Polygon(vec![
                (width + near_x, near_y + r.start),
                (width + far_x, far_y + r.start),
                (width + far_x, far_y + r.end()),
                (width + near_x, near_y + r.end()),
            ]);
            let middle =
                (width + f64::midpoint(near_x, far_x), r.middle() + f64::midpoint(near_y, far_y));
            let labelled = behind && shape.behind == Behind::Sides;
            face([a, r, last], Side::Shaded, form, labelled.then_some(middle));
        }
    }
    for r in &rows {
        for c in &cols {
            let form = rect(c.start, r.start, c.length, r.length, 0.0);
            face([near, r, c], Side::Front, form, Some((c.middle(), r.middle())));
        }
    }
    outline(&mut painter.draft, shape);
}

/// The nine visible edges of the whole box.
fn outline(draft: &mut Draft, shape: &Shape3) {
    let (width, height) = (shape.cols.length(), shape.rows.length());
    let (dx, dy) = (shape.step.0 * shape.depth.length(), shape.step.1 * shape.depth.length());
    draft.push(
        Tone::Frame,
        Form::Polygon(vec![
            (0.0, 0.0),
            (dx, -dy),
            (width + dx, -dy),
            (width + dx, height - dy),
            (width, height),
            (0.0, height),
        ]),
    );
    draft.line(Tone::Frame, &[(0.0, 0.0), (width, 0.0), (width, height)]);
    draft.line(Tone::Frame, &[(width, 0.0), (width + dx, -dy)]);
}

/// Names of the three dimensions at the edges of a box.
fn notes(painter: &mut Painter<'_>, axes: [&Axis; 3], shape: &Shape3) {
    let [depth, rows, cols] = axes;
    let deep = shape.depth.length();
    if let Some(dim) = rows.dim {
        painter.left_note(dim, -8.0, shape.rows.length() / 2.0);
    }
    if let Some(dim) = cols.dim {
        painter.line_note(dim, shape.cols.length(), shape.rows.length() + 14.0);
    }
    if let Some(dim) = depth.dim {
        let text = painter.one_line(dim);
        let at = (deep * shape.step.0 * 0.5 - 6.0, -(deep * shape.step.1).max(11.0));
        painter.draft.note(at, Align::End, &text);
    }
}

/// A box of which all three dimensions are cut: one thin box per layer.
fn layers(cut: &Cut<'_>, look: &Look, prefix: &[u64], axes: &[Axis]) -> Draft {
    let [depth, rows, cols] = axes else { return Draft::new() };
    let (down, right) = (rows.ruler(look.height), cols.ruler(look.width));
    let mut boards = Vec::new();
    for &slot in &depth.slots {
        let mut painter = Painter::new(cut, look, prefix);
        match slot {
            Slot::Gap => painter.draft.text(Tone::Elided, (0.0, 0.0), 20.0, Align::Start, "⋯"),
            Slot::Block(number) => {
                let shape = Shape3 {
                    depth: Ruler::new(vec![slot], 1.0, 1.0),
                    rows: down.clone(),
                    cols: right.clone(),
                    step: LAYER,
                    behind: Behind::Nothing,
                };
                solid(&mut painter, [depth, rows, cols], &shape);
                if let Some(dim) = depth.dim {
                    let range = cut.range(dim, number);
                    let name = cut.shape.dims().get(dim).map_or("", |d| &*d.name);
                    let at = (LAYER.0, -LAYER.1 - 10.0);
                    painter.draft.note(at, Align::Start, &format!("{name} {range}"));
                }
                if let Some(dim) = cols.dim {
                    painter.line_note(dim, shape.cols.length(), shape.rows.length() + 14.0);
                }
            }
        }
        boards.push(painter.draft);
    }
    let widest = boards.iter().map(|b| b.bounds().width()).fold(1.0, f64::max) + 20.0;
    let across = ((ROW_WIDTH / widest) as usize).max(1);
    let mut painter = Painter::new(cut, look, prefix);
    let first = boards.first().map_or(0.0, |b| -b.bounds().top);
    painter.draft = arrange(boards, across, 20.0);
    if let Some(dim) = rows.dim {
        painter.left_note(dim, -8.0, first + down.length() / 2.0);
    }
    if let Some(dim) = depth.dim {
        let bounds = painter.draft.bounds();
        let text = format!("layers over {}", painter.one_line(dim));
        painter.draft.note((bounds.left, bounds.top - 14.0), Align::Start, &text);
    }
    painter.draft
}
