//! A tensor cut into its distinct slices: which there are, where each begins, who holds it.
//!
//! A slice is named by its *block*: one number per tensor dimension. `h[batch:8 hidden:8]` by
//! `batch:rows hidden:cols` has the blocks (0,0) (0,1) (1,0) (1,1). Nothing here is listed ahead
//! of need, so a tensor on very many processors costs what is drawn of it.

use super::Sliced;
use crate::index::{Idx as _, MeshAxis, Pnum, TensorAxis};
use crate::layout::dims::Shape;
use crate::layout::mesh::Mesh;
use crate::layout::tensor::{Combine, TensorLayout};
use crate::picture::elide;
use crate::picture::scene::{Table, Tone};
use crate::picture::words;

/// The most rows a table lists.
const TABLE_ROWS: u64 = 256;

/// Steps of the hue along each tensor dimension. None is a multiple of the number of hues, nor
/// are sums and differences of two that follow each other: neighbours differ, diagonal ones too.
const HUE_STEPS: [u64; 4] = [1, 3, 6, 4];

/// A tensor and its layout, seen as slices.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    pub(super) name: &'a str,
    pub(super) shape: &'a Shape,
    pub(super) mesh: &'a Mesh,
    layout: &'a TensorLayout,
    /// Mesh dimensions along which the slices are summands (or candidates for max, min).
    pending: Vec<(MeshAxis, Combine)>,
    /// The same in words: `sum over cols pending`; `None` when the slices are final.
    pending_words: Option<String>,
    /// The mesh dimension of the cells of a pipeline, if the tensor exists on some of them alone.
    pipe: Option<MeshAxis>,
    /// Blocks per tensor dimension.
    pub(super) parts: Vec<u64>,
    /// Sizes of a slice.
    pub(super) sizes: Vec<u64>,
    /// Serial numbers of the holders of block 0, in order.
    offsets: Vec<u32>,
    /// Distance of serial numbers along each mesh dimension.
    strides: Vec<u64>,
}

impl<'a> Cut<'a> {
    /// The slices of a tensor. What is partial beside the layout and splits the tensor is settled
    /// and does not count.
    pub(super) fn new(sliced: Sliced<'a>) -> Self {
        let Sliced { name, shape, layout, partial, mesh, cells } = sliced;
        let mut pending = layout.partial().to_vec();
        for &axis in partial {
            if layout.split_by(axis).is_none() && pending.iter().all(|&(a, _)| a != axis) {
                pending.push((axis, Combine::Sum));
            }
        }
        pending.sort_unstable();
        let mut strides = vec![1; mesh.dims().len()];
        for i in (1..strides.len()).rev() {
            strides[i - 1] = strides[i] * mesh.dims()[i].size;
        }
        let mut offsets = vec![0];
        for axis in mesh.axes().filter(|&a| layout.split_by(a).is_none()) {
            let stride = strides[axis.index()] as u32;
            let along: Vec<u32> = match cells.filter(|c| c.0 == axis) {
                Some((_, ranks)) => ranks.iter().map(|&rank| rank as u32).collect(),
                None => (0..mesh.size(axis) as u32).collect(),
            };
            offsets =
                offsets.iter().flat_map(|o| along.iter().map(move |c| o + c * stride)).collect();
        }
        let sizes = layout.slice_sizes(shape, mesh);
        let parts = layout.splits().iter().map(|axes| mesh.group_size(axes)).collect();
        let pending_words = in_words(&pending, mesh);
        Self {
            name,
            shape,
            mesh,
            layout,
            pending,
            pending_words,
            pipe: cells.map(|(axis, _)| axis),
            parts,
            sizes,
            offsets,
            strides,
        }
    }

    /// How many distinct slices.
    pub(super) fn count(&self) -> u64 {
        self.parts.iter().product()
    }

    /// How many processors hold each.
    pub(super) fn copies(&self) -> usize {
        self.offsets.len()
    }

    /// The processors that hold a block, in order.
    pub(super) fn holders(&self, block: &[u64]) -> Vec<Pnum> {
        let mut base = 0;
        for (&number, axes) in block.iter().zip(self.layout.splits()) {
            let mut rest = number;
            for &axis in axes.iter().rev() {
                base += rest % self.mesh.size(axis) * self.strides[axis.index()];
                rest /= self.mesh.size(axis);
            }
        }
        self.offsets.iter().map(|o| Pnum(base as u32 + o)).collect()
    }

    /// `4..8`: the elements of one block along one dimension.
    pub(super) fn range(&self, dim: usize, number: u64) -> String {
        let size = self.sizes.get(dim).copied().unwrap_or(1);
        format!("{}..{}", number * size, (number + 1) * size)
    }

    /// The hue of a block.
    pub(super) fn hue(&self, block: &[u64]) -> u8 {
        let few = self.count() <= u64::from(Tone::SLICE_HUES);
        // Few slices: each its own hue, in order. Many: steps by dimension, over those that are cut.
        let cut = block.iter().zip(&self.parts).filter(|(_, parts)| **parts > 1);
        let number = cut.enumerate().fold(0, |n, (i, (b, parts))| {
            if few { n * parts + b } else { n + b * HUE_STEPS[i % HUE_STEPS.len()] }
        });
        (number % u64::from(Tone::SLICE_HUES)) as u8
    }

    /// `sum over cols pending`; `None` when the slices are final.
    pub(super) fn pending(&self) -> Option<&str> {
        self.pending_words.as_deref()
    }

    /// What a pointer on a block is told: `slice [0..4, 8..16] of w on processors 0, 2`.
    pub(super) fn tip(&self, block: &[u64], holders: &[Pnum]) -> String {
        let mut tip = String::new();
        for (dim, &number) in block.iter().enumerate() {
            tip.push_str(if dim == 0 { "slice [" } else { ", " });
            tip.push_str(&self.range(dim, number));
        }
        tip.push_str(if block.is_empty() { "" } else { "] of " });
        tip.push_str(self.name);
        tip.push_str(" on ");
        tip.push_str(&words::processors(holders));
        if let Some(pending) = self.pending() {
            tip.push_str("; ");
            tip.push_str(pending);
        }
        tip
    }

    /// `batch 8 / rows`: a dimension, its size, and the mesh dimensions that cut it.
    pub(super) fn edge(&self, dim: usize) -> (String, Option<String>) {
        let axis = TensorAxis::new(dim);
        let d = self.shape.dim(axis);
        let axes = self.layout.split(axis);
        let by = (!axes.is_empty()).then(|| format!("/ {}", self.mesh.names(axes)));
        (format!("{} {}", d.name, d.size), by)
    }

    /// `batch over rows and hidden over cols`, for the dimensions that are cut.
    pub(super) fn splits(&self) -> Option<String> {
        let dims = self.shape.dims().iter().zip(self.layout.splits());
        let cut = dims.filter(|(_, axes)| !axes.is_empty());
        let cut: Vec<String> =
            cut.map(|(d, axes)| format!("{} over {}", d.name, self.mesh.names(axes))).collect();
        (!cut.is_empty()).then(|| words::and(&cut))
    }

    /// The mesh dimensions along which processors hold the same, in words.
    pub(super) fn replicated(&self) -> Option<String> {
        let axes = self.layout.replicated_over(self.mesh);
        let axes: Vec<String> = axes
            .into_iter()
            .filter(|&a| self.mesh.size(a) > 1 && self.pipe != Some(a))
            .filter(|&a| self.pending.iter().all(|&(p, _)| p != a))
            .map(|a| self.mesh.dim(a).name.to_string())
            .collect();
        (!axes.is_empty()).then(|| words::and(&axes))
    }

    /// One row per distinct slice: block, elements per dimension, holders, partial or not.
    pub(super) fn table(&self) -> Table {
        let names = self.shape.dims().iter().map(|d| d.name.to_string());
        let mut head = vec!["slice".to_owned()];
        head.extend(names);
        head.extend(["processors".to_owned(), "values".to_owned()]);
        let all = self.count();
        let listed = all.min(TABLE_ROWS);
        let values = self.pending().unwrap_or("final");
        // The first ones, and always the last.
        let serials = (0..listed).map(|i| if i + 1 == listed { all - 1 } else { i });
        let row = |serial: u64| {
            let block = elide::coordinates(serial, self.parts.iter().copied());
            let numbers: Vec<String> = block.iter().map(u64::to_string).collect();
            let mut row = vec![format!("({})", numbers.join(", "))];
            row.extend(block.iter().enumerate().map(|(dim, &b)| self.range(dim, b)));
            row.extend([words::list(&self.holders(&block)), values.to_owned()]);
            row
        };
        let caption = if listed < all {
            format!("Slices of {}: the first {} and the last of {all}", self.name, listed - 1)
        } else {
            format!("Slices of {} and the processors that hold them", self.name)
        };
        Table { caption, head, rows: serials.map(row).collect() }
    }
}

/// What is pending, in words.
fn in_words(pending: &[(MeshAxis, Combine)], mesh: &Mesh) -> Option<String> {
    let kinds = [Combine::Sum, Combine::Max, Combine::Min].into_iter().filter_map(|kind| {
        let of_kind = pending.iter().filter(|(_, k)| *k == kind);
        let axes: Vec<MeshAxis> = of_kind.map(|&(a, _)| a).collect();
        let named = !axes.is_empty();
        named.then(|| format!("{} over {}", kind.name(), mesh.names(&axes)))
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| format!("{} pending", words::and(&kinds)))
}
