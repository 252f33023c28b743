//! What flat and solid pictures of tensors share: sizes of labels, drawn axes, faces of slices.

use super::cut::Cut;
use crate::picture::draft::Draft;
use crate::picture::elide::{Ruler, Slot};
use crate::picture::geometry::CHAR_WIDTH;
use crate::picture::scene::{Align, Form, Mark, Tone};
use crate::picture::words;

/// Sizes of labels in one picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// Font size.
    pub(super) font: f64,
    /// Least width of a cell.
    pub(super) width: f64,
    /// Least height of a cell.
    pub(super) height: f64,
}

impl Look {
    /// For labels of at most `chars` characters; `tight` leaves less room around them.
    pub(super) fn new(font: f64, chars: usize, tight: bool) -> Self {
        let room = if font < 11.0 { 8.0 } else { 14.0 };
        let height = if tight { font * 1.3 } else { font * 1.3 + 8.0 };
        Self { font, width: (chars as f64 * CHAR_WIDTH * font + room).max(font * 2.0), height }
    }
}

/// A dimension that is drawn along a line.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Which tensor dimension; `None` for a line that only gives a strip its height.
    pub(super) dim: Option<usize>,
    /// Its size.
    size: u64,
    /// Its blocks.
    pub(super) slots: Vec<Slot>,
    /// Least length of a block, and of a gap.
    gap: f64,
}

impl Axis {
    /// The axis of a tensor dimension.
    pub(super) fn new(dim: usize, size: u64, slots: Vec<Slot>, look: &Look) -> Self {
        Self { dim: Some(dim), size, slots, gap: look.height.max(22.0) }
    }

    /// An axis of one block that stands for no dimension.
    pub(super) fn single() -> Self {
        Self { dim: None, size: 1, slots: vec![Slot::Block(0)], gap: 0.0 }
    }

    /// The ruler of the axis: its whole length soft in its size, blocks at least `least` long.
    pub(super) fn ruler(&self, least: f64) -> Ruler {
        let blocks = self.slots.len() as f64;
        Ruler::new(self.slots.clone(), (soft(self.size) / blocks).max(least).round(), self.gap)
    }

    /// Whether it has more than one block.
    pub(super) fn is_cut(&self) -> bool {
        self.slots.len() > 1
    }
}

/// Length of an edge in pixels, by the logarithm of its size.
pub(super) fn soft(size: u64) -> f64 {
    (40.0 + 22.0 * (size.max(1) as f64).log2()).min(240.0)
}

/// A board on which faces of slices are put.
#[derive(Debug)]
pub(super) struct Painter<'a> {
    pub(super) draft: Draft,
    pub(super) cut: &'a Cut<'a>,
    pub(super) look: &'a Look,
    /// Blocks of the leading dimensions, which all faces on this board share.
    pub(super) prefix: &'a [u64],
}

/// Which side of a slice a face is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Its front.
    Front,
    /// Its top or right side.
    Shaded,
}

impl<'a> Painter<'a> {
    /// An empty board.
    pub(super) const fn new(cut: &'a Cut<'a>, look: &'a Look, prefix: &'a [u64]) -> Self {
        Self { draft: Draft::new(), cut, look, prefix }
    }

    /// A face of the slice at `inner` (dimension and block, in order); a label if `at` says where.
    pub(super) fn face(
        &mut self,
        inner: &[(Option<usize>, u64)],
        side: Side,
        form: Form,
        at: Option<(f64, f64)>,
    ) {
        let mut block = self.prefix.to_vec();
        block.extend(inner.iter().filter(|(dim, _)| dim.is_some()).map(|&(_, b)| b));
        let pnums = self.cut.holders(&block);
        let hue = self.cut.hue(&block);
        let tone = match side {
            // The face with the label is the one that shows the hatch.
            _ if self.cut.pending().is_some() && at.is_some() => Tone::Partial(hue),
            Side::Front => Tone::Slice(hue),
            Side::Shaded => Tone::SliceShade(hue),
        };
        let label = words::label(&pnums);
        let tip = Some(self.cut.tip(&block, &pnums));
        self.draft.add(Mark { form, tone, pnums, tip });
        if let Some(at) = at {
            self.draft.text(Tone::Label, at, self.look.font, Align::Middle, &label);
        }
    }

    /// A face of what is left out, with an ellipsis in its middle if `at` says where.
    pub(super) fn gap(&mut self, form: Form, at: Option<(f64, f64)>) {
        self.draft.push(Tone::Elided, form);
        if let Some(at) = at {
            self.draft.text(Tone::Elided, at, 14.0, Align::Middle, "⋯");
        }
    }

    /// The note of a dimension on two lines, left of `x`.
    pub(super) fn left_note(&mut self, dim: usize, x: f64, y: f64) {
        let (name, by) = self.cut.edge(dim);
        match by {
            None => self.draft.note((x, y), Align::End, &name),
            Some(by) => {
                self.draft.note((x, y - 8.0), Align::End, &name);
                self.draft.note((x, y + 8.0), Align::End, &by);
            }
        }
    }

    /// The note of a dimension on one line, over or under an edge from 0 to `length`.
    pub(super) fn line_note(&mut self, dim: usize, length: f64, y: f64) {
        let text = self.one_line(dim);
        let wide = crate::picture::geometry::text_width(&text, crate::picture::draft::NOTE);
        if wide > length {
            self.draft.note((0.0, y), Align::Start, &text);
        } else {
            self.draft.note((length / 2.0, y), Align::Middle, &text);
        }
    }

    /// `batch 8 / rows`.
    pub(super) fn one_line(&self, dim: usize) -> String {
        let (name, by) = self.cut.edge(dim);
        by.map_or(name.clone(), |by| format!("{name} {by}"))
    }
}
