//! Layout rules: a set of pairs from tensor dimension to mesh dimensions.
//!
//! `batch:rows hidden:cols` sends the dimension `batch` of every tensor to the mesh dimension
//! `rows` and `hidden` to `cols`. A rule whose tensor dimension or mesh dimension does not occur
//! has no effect. `batch:rows+cols` splits over both, `rows` outermost.

use super::dims::{Dimension, Name, Shape};
use super::mesh::Mesh;
use super::tensor::{LayoutError, TensorLayout};
use crate::index::MeshAxis;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The tensor dimension.
    pub dim: Name,
    /// The mesh dimensions that split it, outermost first.
    pub mesh_dims: Vec<Name>,
}

/// A set of rules with at most one per tensor dimension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LayoutRules {
    rules: Vec<Rule>,
}

impl LayoutRules {
    /// The rules; `Err` holds the tensor dimension that has two different ones.
    pub fn new(rules: Vec<Rule>) -> Result<Self, Name> {
        let mut kept: Vec<Rule> = Vec::new();
        for rule in rules {
            match kept.iter().find(|r| r.dim == rule.dim) {
                Some(same) if *same == rule => {}
                Some(_) => return Err(rule.dim),
                None => kept.push(rule),
            }
        }
        Ok(Self { rules: kept })
    }

    /// The rules in the order they were given.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The mesh axes that split a tensor dimension, outermost first.
    pub fn mesh_axes(&self, dim: &str, mesh: &Mesh) -> Vec<MeshAxis> {
        let rule = self.rules.iter().find(|r| &*r.dim == dim);
        rule.map_or(Vec::new(), |r| r.mesh_dims.iter().filter_map(|m| mesh.axis(m)).collect())
    }

    /// The layout these rules give a tensor.
    pub fn tensor_layout(&self, shape: &Shape, mesh: &Mesh) -> Result<TensorLayout, LayoutError> {
        let split = shape.dims().iter().map(|d| self.mesh_axes(&d.name, mesh)).collect();
        TensorLayout::new(split, Vec::new(), shape, mesh)
    }

    /// The rules that all can be followed for this shape: where two of its dimensions go to one
    /// mesh dimension, the later one is left whole.
    #[must_use]
    pub fn first_come(&self, shape: &Shape, mesh: &Mesh) -> Self {
        let mut taken: Vec<MeshAxis> = Vec::new();
        let mut is_free = |rule: &&Rule| {
            let axes = self.mesh_axes(&rule.dim, mesh);
            let is_free = axes.iter().all(|a| !taken.contains(a));
            taken.extend(axes);
            is_free
        };
        let rule = |d: &Dimension| self.rules.iter().find(|r| r.dim == d.name);
        Self { rules: shape.dims().iter().filter_map(rule).filter(&mut is_free).cloned().collect() }
    }
}
