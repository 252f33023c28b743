//! The mesh: processors arranged in named dimensions.
//!
//! `rows:2 cols:3` is six processors, numbered row-major (last mesh dimension fastest):
//!
//! ```text
//!            cols 0  1  2
//!   rows 0        0  1  2
//!   rows 1        3  4  5
//! ```
//!
//! A *group* over some mesh dimensions is a set of processors that agree on all other coordinates;
//! the groups over `cols` above are {0,1,2} and {3,4,5}. Collectives run within groups.

use super::dims::Name;
use crate::index::{Idx as _, MeshAxis, Pnum};
use std::fmt;

/// The most mesh dimensions a mesh may have.
pub const MAX_MESH_DIMS: usize = 8;

/// The most processors a mesh may have.
pub const MAX_PROCESSORS: u64 = 1 << 20;

/// A named mesh dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MeshDim {
    /// Its name.
    pub name: Name,
    /// Processors along it, at least 1.
    pub size: u64,
}

/// Processors in named dimensions. The mesh without dimensions is one processor.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Mesh {
    dims: Vec<MeshDim>,
}

/// Why a list of mesh dimensions is no mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeshError {
    /// Two mesh dimensions have this name.
    Duplicate(Name),
    /// More than [`MAX_MESH_DIMS`] dimensions, or more than [`MAX_PROCESSORS`] processors.
    TooLarge,
    /// A dimension of size 0.
    Empty(Name),
}

impl Mesh {
    /// A mesh of the named dimensions.
    pub fn new(dims: Vec<MeshDim>) -> Result<Self, MeshError> {
        for (i, d) in dims.iter().enumerate() {
            if dims[..i].iter().any(|e| e.name == d.name) {
                return Err(MeshError::Duplicate(Name::clone(&d.name)));
            }
            if d.size == 0 {
                return Err(MeshError::Empty(Name::clone(&d.name)));
            }
        }
        let processors = dims.iter().fold(1, |n: u64, d| n.saturating_mul(d.size));
        if dims.len() > MAX_MESH_DIMS || processors > MAX_PROCESSORS {
            return Err(MeshError::TooLarge);
        }
        Ok(Self { dims })
    }

    /// The mesh dimensions in order.
    pub fn dims(&self) -> &[MeshDim] {
        &self.dims
    }

    /// The axes in order.
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = MeshAxis> + use<> {
        (0..self.dims.len()).map(MeshAxis::new)
    }

    /// The mesh dimension at an axis.
    pub fn dim(&self, axis: MeshAxis) -> &MeshDim {
        &self.dims[axis.index()]
    }

    /// Processors along an axis.
    pub fn size(&self, axis: MeshAxis) -> u64 {
        self.dims[axis.index()].size
    }

    /// The axis of the mesh dimension with this name.
    pub fn axis(&self, name: &str) -> Option<MeshAxis> {
        self.dims.iter().position(|d| &*d.name == name).map(MeshAxis::new)
    }

    /// Number of processors.
    pub fn processors(&self) -> u64 {
        self.dims.iter().map(|d| d.size).product()
    }

    /// All processors in order.
    pub fn pnums(&self) -> impl DoubleEndedIterator<Item = Pnum> + use<> {
        (0..self.processors() as u32).map(Pnum)
    }

    /// Coordinate of a processor along one axis.
    pub fn coord(&self, pnum: Pnum, axis: MeshAxis) -> u64 {
        let after: u64 = self.dims[axis.index() + 1..].iter().map(|d| d.size).product();
        u64::from(pnum.0) / after % self.size(axis)
    }

    /// Coordinates of a processor, one per mesh dimension.
    pub fn coords(&self, pnum: Pnum) -> Vec<u64> {
        self.axes().map(|a| self.coord(pnum, a)).collect()
    }

    /// The processor at these coordinates; `None` when one is out of range or their number differs.
    pub fn pnum(&self, coords: &[u64]) -> Option<Pnum> {
        if coords.len() != self.dims.len() {
            return None;
        }
        let mut serial = 0;
        for (c, d) in coords.iter().zip(&self.dims) {
            if *c >= d.size {
                return None;
            }
            serial = serial * d.size + c;
        }
        Some(Pnum(serial as u32))
    }

    /// How many processors a group over these axes has.
    pub fn group_size(&self, axes: &[MeshAxis]) -> u64 {
        axes.iter().map(|&a| self.size(a)).product()
    }

    /// The groups over `axes`, each with its members ordered by their coordinates along `axes`,
    /// the first named slowest. Groups come in the order of their smallest member.
    pub fn groups(&self, axes: &[MeshAxis]) -> Vec<Vec<Pnum>> {
        let stride =
            |a: MeshAxis| -> u64 { self.dims[a.index() + 1..].iter().map(|d| d.size).product() };
        let mut offsets: Vec<u64> = vec![0];
        for &a in axes {
            let step = stride(a);
            offsets =
                offsets.iter().flat_map(|o| (0..self.size(a)).map(move |c| o + c * step)).collect();
        }
        self.pnums()
            .filter(|&p| axes.iter().all(|&a| self.coord(p, a) == 0))
            .map(|p| offsets.iter().map(|o| Pnum(p.0 + *o as u32)).collect())
            .collect()
    }

    /// The group over `axes` that a processor belongs to, ordered as in [`Mesh::groups`].
    pub fn group(&self, pnum: Pnum, axes: &[MeshAxis]) -> Vec<Pnum> {
        self.groups(axes).into_iter().find(|g| g.contains(&pnum)).unwrap_or_else(|| vec![pnum])
    }

    /// Names of axes, joined with `+`.
    pub fn names(&self, axes: &[MeshAxis]) -> String {
        let names: Vec<&str> = axes.iter().map(|&a| &*self.dim(a).name).collect();
        names.join("+")
    }
}

impl fmt::Display for Mesh {
    /// `rows:2 cols:3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.dims.iter().enumerate() {
            write!(f, "{}{}:{}", if i > 0 { " " } else { "" }, d.name, d.size)?;
        }
        Ok(())
    }
}
