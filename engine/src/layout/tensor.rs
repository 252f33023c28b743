//! How one tensor lies on the mesh.
//!
//! A [`TensorLayout`] holds, per tensor dimension, the ordered list of mesh dimensions that split
//! it (first = outermost blocks), and, per mesh dimension, whether the processors along it hold
//! *partial* values whose sum (maximum, minimum) is the tensor. Along all other mesh dimensions
//! the tensor is replicated. `h[batch hidden]` on `rows:2 cols:2`:
//!
//! ```text
//!   {batch: rows, hidden: cols}      quarters, one per processor
//!   {batch: rows} partial sum cols   halves by batch, the two processors of a row hold summands
//! ```
//!
//! One mesh dimension is used at most once in a layout: it splits one dimension, or is partial.

use super::dims::Shape;
use super::mesh::Mesh;
use crate::index::{Idx as _, MeshAxis, Pnum, TensorAxis};
use std::sync::Arc;

/// How partial values combine to the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Combine {
    /// They are summed.
    Sum,
    /// The greatest counts.
    Max,
    /// The least counts.
    Min,
}

impl Combine {
    /// `sum`, `max`, `min`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// The layout of one tensor: splits and partial values. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorLayout {
    split: Arc<[Vec<MeshAxis>]>,
    partial: Vec<(MeshAxis, Combine)>,
}

/// Why a layout is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutError {
    /// The mesh dimension splits two tensor dimensions, or splits one twice.
    AxisTwice(MeshAxis, TensorAxis, TensorAxis),
    /// The mesh dimension both splits and is partial, or is partial twice.
    SplitAndPartial(MeshAxis),
    /// The parts do not divide the dimension.
    NotDivisible(TensorAxis),
}

impl TensorLayout {
    /// The tensor of this rank whole on every processor.
    pub fn replicated(rank: usize) -> Self {
        Self { split: vec![Vec::new(); rank].into(), partial: Vec::new() }
    }

    /// A layout of a tensor of `shape` on `mesh`, checked.
    pub fn new(
        split: Vec<Vec<MeshAxis>>,
        mut partial: Vec<(MeshAxis, Combine)>,
        shape: &Shape,
        mesh: &Mesh,
    ) -> Result<Self, LayoutError> {
        let mut owner: Vec<Option<TensorAxis>> = vec![None; mesh.dims().len()];
        for (i, axes) in split.iter().enumerate() {
            let here = TensorAxis::new(i);
            for &a in axes {
                if let Some(before) = owner[a.index()] {
                    return Err(LayoutError::AxisTwice(a, before, here));
                }
                owner[a.index()] = Some(here);
            }
            if !shape.dim(here).size.is_multiple_of(mesh.group_size(axes)) {
                return Err(LayoutError::NotDivisible(here));
            }
        }
        partial.sort_unstable();
        for (i, &(a, _)) in partial.iter().enumerate() {
            if owner[a.index()].is_some() || partial[..i].iter().any(|&(b, _)| a == b) {
                return Err(LayoutError::SplitAndPartial(a));
            }
        }
        Ok(Self { split: split.into(), partial })
    }

    /// How many tensor dimensions.
    pub fn rank(&self) -> usize {
        self.split.len()
    }

    /// The mesh dimensions that split a tensor dimension, outermost first.
    pub fn split(&self, axis: TensorAxis) -> &[MeshAxis] {
        &self.split[axis.index()]
    }

    /// The splits of all tensor dimensions in order.
    pub fn splits(&self) -> &[Vec<MeshAxis>] {
        &self.split
    }

    /// Whether it is cut or partial along a mesh dimension.
    pub fn uses(&self, axis: MeshAxis) -> bool {
        self.split.iter().flatten().chain(self.partial.iter().map(|(a, _)| a)).any(|a| *a == axis)
    }

    /// The mesh dimensions along which values are partial, in order.
    pub fn partial(&self) -> &[(MeshAxis, Combine)] {
        &self.partial
    }

    /// Whether every processor's slice is final.
    pub fn is_settled(&self) -> bool {
        self.partial.is_empty()
    }

    /// The same splits without partial values.
    #[must_use]
    pub fn settled(&self) -> Self {
        Self { split: Arc::clone(&self.split), partial: Vec::new() }
    }

    /// The same partial values under the splits of another layout, where that is legal.
    pub fn under(&self, other: &Self, shape: &Shape, mesh: &Mesh) -> Option<Self> {
        Self::new(other.splits().to_vec(), self.partial.clone(), shape, mesh).ok()
    }

    /// The tensor dimension that a mesh dimension splits.
    pub fn split_by(&self, axis: MeshAxis) -> Option<TensorAxis> {
        self.split.iter().position(|s| s.contains(&axis)).map(TensorAxis::new)
    }

    /// How the values combine along a mesh dimension, if they are partial there.
    pub fn partial_over(&self, axis: MeshAxis) -> Option<Combine> {
        self.partial.iter().find(|(a, _)| *a == axis).map(|&(_, c)| c)
    }

    /// Mesh dimensions along which all processors hold the same.
    pub fn replicated_over(&self, mesh: &Mesh) -> Vec<MeshAxis> {
        let used = |a: &MeshAxis| self.split_by(*a).is_some() || self.partial_over(*a).is_some();
        mesh.axes().filter(|a| !used(a)).collect()
    }

    /// Sizes of a slice, one per tensor dimension.
    pub fn slice_sizes(&self, shape: &Shape, mesh: &Mesh) -> Vec<u64> {
        shape.dims().iter().zip(&*self.split).map(|(d, s)| d.size / mesh.group_size(s)).collect()
    }

    /// Elements in a slice.
    pub fn slice_elements(&self, shape: &Shape, mesh: &Mesh) -> u64 {
        let parts = shape.dims().iter().zip(&*self.split);
        parts.fold(1, |n, (d, s)| n.saturating_mul(d.size / mesh.group_size(s)))
    }

    /// Which block of each tensor dimension a processor holds (the slice begins at block × size).
    pub fn blocks(&self, mesh: &Mesh, pnum: Pnum) -> Vec<u64> {
        let block = |axes: &Vec<MeshAxis>| {
            axes.iter().fold(0, |b, &a| b * mesh.size(a) + mesh.coord(pnum, a))
        };
        self.split.iter().map(block).collect()
    }

    /// The index of the first element of a processor's slice, one per tensor dimension.
    pub fn slice_begin(&self, shape: &Shape, mesh: &Mesh, pnum: Pnum) -> Vec<u64> {
        let sizes = self.slice_sizes(shape, mesh);
        self.blocks(mesh, pnum).iter().zip(sizes).map(|(b, s)| b * s).collect()
    }
}
