//! A tensor as in Figures 2–5 of the Mesh-TensorFlow paper: cut into its distinct slices, each
//! labelled with the serial numbers of the processors that hold it.
//!
//! ```text
//!              hidden 8 / cols
//!            ┌───────┬───────┐
//!   batch 8  │   0   │   1   │      h[batch:8 hidden:8], batch:rows hidden:cols,
//!   / rows   ├───────┼───────┤      mesh rows:2 cols:2
//!            │   2   │   3   │
//!            └───────┴───────┘
//! ```
//!
//! Rank 0 is a cell, rank 1 a strip, rank 2 a matrix, rank 3 a box whose first dimension goes
//! into the depth, rank 4 and more a grid of boxes over the leading dimensions. Lengths follow
//! sizes softly (by logarithm), so that labels fit.

mod cut;
mod paint;
mod flat;
mod solid;

use super::draft::{Draft, Words, arrange};
use super::elide::{self, Slot};
use super::scene::{Align, Scene, Table, Tone};
use super::words;
use crate::index::MeshAxis;
use crate::layout::dims::Shape;
use crate::layout::mesh::Mesh;
use crate::layout::tensor::TensorLayout;
use cut::Cut;
use paint::{Axis, Look};

/// The most slices drawn of one tensor.
const MOST_SLICES: u64 = 256;

/// The most blocks drawn along a strip, down and across a matrix, in the depth of a box, down and
/// across a box, and the most boxes.
const STRIP: u64 = 256;
const MATRIX: [u64; 2] = [64, 32];
const BOX: [u64; 3] = [16, 16, 16];
const BOXES: u64 = 64;

/// How wide a row of boxes may become before it wraps.
const ROW_WIDTH: f64 = 900.0;

/// What of a tensor is drawn: blocks per drawn dimension, and boxes.
struct Plan {
    /// How many blocks are drawn per inner dimension (the last three, or fewer).
    shown: Vec<u64>,
    /// How many leading dimensions go over the grid of boxes.
    outer: usize,
    /// How many boxes there are.
    boxes: u64,
    /// How many of them are drawn.
    boxes_shown: u64,
}

impl Plan {
    fn new(cut: &Cut<'_>) -> Self {
        let rank = cut.parts.len();
        let outer = rank.saturating_sub(3);
        let boxes = cut.parts[..outer].iter().product();
        let caps: &[u64] = match rank {
            0 => &[],
            1 => &[STRIP],
            2 if cut.parts.contains(&1) => &[STRIP, STRIP],
            2 => &MATRIX,
            _ => &BOX,
        };
        let parts: Vec<u64> = [boxes].iter().chain(&cut.parts[outer..]).copied().collect();
        let caps: Vec<u64> = [BOXES].iter().chain(caps).copied().collect();
        let mut shown = elide::shown(&parts, &caps, MOST_SLICES);
        let boxes_shown = shown.remove(0);
        Self { shown, outer, boxes, boxes_shown }
    }

    /// All blocks that are drawn.
    fn blocks(&self, cut: &Cut<'_>) -> Vec<Vec<u64>> {
        let number = |slot: Slot| match slot {
            Slot::Block(number) => Some(number),
            Slot::Gap => None,
        };
        let (leading, inner) = cut.parts.split_at(self.outer);
        let mut blocks: Vec<Vec<u64>> = elide::slots(self.boxes, self.boxes_shown)
            .into_iter()
            .filter_map(number)
            .map(|serial| elide::coordinates(serial, leading.iter().copied()))
            .collect();
        for (&parts, &shown) in inner.iter().zip(&self.shown) {
            let along: Vec<u64> =
                elide::slots(parts, shown).into_iter().filter_map(number).collect();
            let longer = |block: Vec<u64>| {
                let more = along.iter().map(move |&b| {
                    let mut block = block.clone();
                    block.push(b);
                    block
                });
                more.collect::<Vec<_>>()
            };
            blocks = blocks.into_iter().flat_map(longer).collect();
        }
        blocks
    }

    /// What is left out, one sentence per dimension.
    fn left_out(&self, cut: &Cut<'_>) -> String {
        let inner = cut.parts[self.outer..].iter().zip(&self.shown).enumerate();
        let mut told: Vec<String> = inner
            .filter_map(|(i, (&parts, &shown))| {
                let name = &cut.shape.dims()[self.outer + i].name;
                let drawn = elide::words(parts, shown)?;
                Some(format!(" Of the {parts} blocks along {name}, {drawn} are drawn."))
            })
            .collect();
        if let Some(drawn) = elide::words(self.boxes, self.boxes_shown) {
            told.push(format!(" Of the {} boxes, {drawn} are drawn.", self.boxes));
        }
        told.concat()
    }
}

/// A tensor of `shape` under a `layout` on `mesh`: what its picture and its table show.
#[derive(Debug, Clone, Copy)]
pub struct Sliced<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its shape.
    pub shape: &'a Shape,
    /// How it is cut.
    pub layout: &'a TensorLayout,
    /// Mesh dimensions over which a sum is pending, beside those that the layout itself calls
    /// partial.
    pub partial: &'a [MeshAxis],
    /// The mesh.
    pub mesh: &'a Mesh,
    /// The cells of a pipeline, along a mesh dimension, where alone it exists.
    pub cells: Option<(MeshAxis, &'a [u64])>,
}

impl<'a> Sliced<'a> {
    /// A tensor that exists everywhere and is as final as its layout says.
    pub const fn new(
        name: &'a str,
        shape: &'a Shape,
        layout: &'a TensorLayout,
        mesh: &'a Mesh,
    ) -> Self {
        Self { name, shape, layout, partial: &[], mesh, cells: None }
    }

    /// The picture with its table. Every face of a slice holds in its mark the processors that hold
    /// the slice.
    pub fn scene(self) -> Scene {
        let cut = Cut::new(self);
        Scene { table: cut.table(), ..drawn(&cut) }
    }

    /// The table of the picture alone.
    pub fn table(self) -> Table {
        Cut::new(self).table()
    }

    /// The picture without its table, which takes longer than all that is drawn.
    pub fn sketch(self) -> Scene {
        drawn(&Cut::new(self))
    }
}

fn drawn(cut: &Cut<'_>) -> Scene {
    let plan = Plan::new(cut);
    let look = look(cut, &plan);
    let mut draft = match cut.parts.len() {
        0..=2 => flat::draw(cut, &look, &axes(cut, &plan, &look)),
        3 => solid::draw(cut, &look, &[], &axes(cut, &plan, &look)),
        _ => boxes(cut, &plan, &look),
    };
    if let Some(pending) = cut.pending() {
        let bounds = draft.bounds();
        draft.note(
            (bounds.left, bounds.bottom + 14.0),
            Align::Start,
            &format!("hatched: {pending}"),
        );
    }
    draft.finish(words_of(cut, &plan))
}

/// Sizes of labels: those of the longest label, in a font that suits the crowd.
fn look(cut: &Cut<'_>, plan: &Plan) -> Look {
    // A line that is drawn in pieces is as crowded as a piece.
    let in_pieces = plan.shown.iter().filter(|s| **s > 1).count() <= 1 && cut.parts.len() <= 2;
    let crowd = |&blocks: &u64| {
        if in_pieces { blocks.min(flat::piece(blocks as usize) as u64) } else { blocks }
    };
    let most = plan.shown.iter().map(crowd).max().unwrap_or(1);
    let font = match most {
        0..=8 => 13.0,
        9..=16 => 11.5,
        _ => 10.0,
    };
    let chars = |block: Vec<u64>| words::label(&cut.holders(&block)).chars().count();
    let longest = plan.blocks(cut).into_iter().map(chars).max().unwrap_or(1);
    Look::new(font, longest, most > 16)
}

/// The drawn axes of the inner dimensions.
fn axes(cut: &Cut<'_>, plan: &Plan, look: &Look) -> Vec<Axis> {
    let inner = plan.shown.iter().enumerate();
    inner
        .map(|(i, &shown)| {
            let dim = plan.outer + i;
            let size = cut.shape.dims()[dim].size;
            let slots = elide::slots(cut.parts[dim], shown);
            Axis::new(dim, size, slots, look)
        })
        .collect()
}

/// Rank 4 and more: one box per block of the leading dimensions.
fn boxes(cut: &Cut<'_>, plan: &Plan, look: &Look) -> Draft {
    let leading = &cut.parts[..plan.outer];
    let axes = axes(cut, plan, look);
    let panel = |slot: Slot| {
        let Slot::Block(serial) = slot else {
            let mut draft = Draft::new();
            draft.text(Tone::Elided, (0.0, 0.0), 20.0, Align::Start, "⋯");
            return draft;
        };
        let block = elide::coordinates(serial, leading.iter().copied());
        let mut draft = solid::draw(cut, look, &block, &axes);
        let bounds = draft.bounds();
        let named = block.iter().zip(cut.shape.dims()).enumerate();
        let caption: Vec<String> =
            named.map(|(i, (&b, d))| format!("{} {}", d.name, cut.range(i, b))).collect();
        draft.note((bounds.left, bounds.top - 14.0), Align::Start, &caption.join(", "));
        draft
    };
    let slots = elide::slots(plan.boxes, plan.boxes_shown);
    let boards: Vec<Draft> = slots.into_iter().map(panel).collect();
    let width = boards.first().map_or(1.0, |b| b.bounds().width() + 28.0);
    let fit = ((ROW_WIDTH / width) as usize).max(1);
    let last = leading.iter().rev().find(|p| **p > 1).map_or(1, |p| *p as usize);
    let across = if plan.boxes_shown == plan.boxes && last <= fit { last } else { fit };
    // One leading dimension that is cut makes a line of boxes, which wraps where it must.
    let mut draft = arrange(boards, across, 28.0);
    let edges: Vec<String> = (0..plan.outer)
        .map(|dim| {
            let (name, by) = cut.edge(dim);
            by.map_or(name.clone(), |by| format!("{name} {by}"))
        })
        .collect();
    let bounds = draft.bounds();
    let text = format!("boxes over {}", words::and(&edges));
    draft.note((bounds.left, bounds.top - 20.0), Align::Start, &text);
    draft
}

/// Title and description.
fn words_of(cut: &Cut<'_>, plan: &Plan) -> Words {
    let Cut { name, shape, mesh, .. } = *cut;
    let splits = cut.splits();
    let split = splits.as_ref().map_or("whole".to_owned(), |s| format!("split by {s}"));
    let pending = cut.pending();
    let suffix = pending.map_or(String::new(), |p| format!(", {p}"));
    let title = format!("{name}{shape}, {split}{suffix}");

    let processors = words::count(mesh.processors(), "processor");
    let on = if mesh.dims().is_empty() {
        processors
    } else {
        format!("the {processors} of the mesh {mesh}")
    };
    let slice = shape.with_sizes(&cut.sizes);
    let copies = words::count(cut.copies() as u64, "processor");
    let each = match (cut.count(), splits) {
        (1, None) => format!("It is not split: {copies} hold{} all of it.", plural_verb(cut)),
        (n, Some(s)) => {
            format!(
                "It is split by {s} into {} {slice}, each on {copies}.",
                words::count(n, "slice")
            )
        }
        (n, None) => format!("It has {}.", words::count(n, "slice")),
    };
    let replicated =
        cut.replicated().map_or(String::new(), |r| format!(" Processors along {r} hold the same."));
    let pending =
        pending.map_or(String::new(), |p| format!(" The values are partial (hatched): {p}."));
    let left_out = plan.left_out(cut);
    let in_pieces = match plan.shown.as_slice() {
        [n] | [1, n] | [n, 1] if *n as usize > flat::piece(*n as usize) => {
            " It is drawn in pieces that follow each other."
        }
        _ => "",
    };
    let description =
        format!("Tensor {name}{shape} on {on}. {each}{replicated}{pending}{left_out}{in_pieces}");
    Words { title, description, table: Table::default() }
}

/// The ending of a verb whose subject is the holders.
fn plural_verb(cut: &Cut<'_>) -> &'static str {
    if cut.copies() == 1 { "s" } else { "" }
}
