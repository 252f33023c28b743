//! How layouts pass through a reshape.
//!
//! A reshape keeps the row-major order of the elements, so cutting a dimension into n blocks cuts
//! the new shape into the same blocks exactly where a new dimension begins at the same place: the
//! product of the sizes before it is the same. Whatever else is split has to move first or after.
//!
//! ```text
//! x[batch length heads·key] → [batch length heads key]     heads·key on cols ↔ heads on cols
//! x[a b] → [ab]                                            a on rows ↔ ab on rows; b has to move
//! ```

use super::relayout::{Price, plan};
use crate::index::{Idx as _, MeshAxis};
use crate::layout::dims::Shape;
use crate::layout::mesh::Mesh;
use crate::layout::tensor::TensorLayout;

/// The two layouts between which the reshape moves nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Of the old shape.
    pub old: TensorLayout,
    /// Of the new shape.
    pub new: TensorLayout,
}

/// The passage on the cheapest way from one settled layout to the other.
pub fn passage(
    (old, from): (&Shape, &TensorLayout),
    (new, to): (&Shape, &TensorLayout),
    mesh: &Mesh,
) -> Passage {
    let early = {
        let old_layout = translate(new, to, old, mesh);
        Passage { new: translate(old, &old_layout, new, mesh), old: old_layout }
    };
    let late = {
        let new_layout = translate(old, from, new, mesh);
        Passage { old: translate(new, &new_layout, old, mesh), new: new_layout }
    };
    let price = |p: &Passage| {
        let (before, after) = (plan(from, &p.old, old, mesh).1, plan(&p.new, to, new, mesh).1);
        Price {
            sent: before.sent + after.sent,
            sending: before.sending + after.sending,
            steps: before.steps + after.steps,
        }
    };
    // Where that is as cheap, the operand stays as it is, so that a pending sum passes through and
    // is scattered where it would be settled first.
    if price(&early) < price(&late) { early } else { late }
}

/// Whether a reshape between these layouts moves nothing.
pub fn passes(old: &Shape, from: &TensorLayout, new: &Shape, to: &TensorLayout) -> bool {
    let cuts = |shape: &Shape, layout: &TensorLayout| -> Vec<(u64, Vec<MeshAxis>)> {
        let places = places(shape).into_iter();
        let cut = places.map(|(before, i)| (before, layout.splits()[i].clone()));
        cut.filter(|(_, axes)| !axes.is_empty()).collect()
    };
    old.elements() == new.elements() && cuts(old, from) == cuts(new, to)
}

/// The splits of `from` that the other shape can have too.
fn translate(from: &Shape, layout: &TensorLayout, to: &Shape, mesh: &Mesh) -> TensorLayout {
    let mut split = vec![Vec::new(); to.rank()];
    let theirs = places(to);
    for (before, i) in places(from) {
        let Some(&(_, j)) = theirs.iter().find(|p| p.0 == before) else { continue };
        let axes = &layout.splits()[i];
        let fits = |n: &usize| {
            let parts = mesh.group_size(&axes[..*n]);
            from.dims()[i].size.is_multiple_of(parts) && to.dims()[j].size.is_multiple_of(parts)
        };
        let most = (0..=axes.len()).rev().find(fits).unwrap_or(0);
        split[j] = axes[..most].to_vec();
    }
    TensorLayout::new(split, Vec::new(), to, mesh)
        .unwrap_or_else(|_| TensorLayout::replicated(to.rank()))
}

/// Dimensions of more than one element: the product of the sizes before each, and its place.
fn places(shape: &Shape) -> Vec<(u64, usize)> {
    let mut before = 1;
    let mut out = Vec::new();
    for axis in shape.axes() {
        let size = shape.dim(axis).size;
        if size > 1 {
            out.push((before, axis.index()));
        }
        before *= size;
    }
    out
}
