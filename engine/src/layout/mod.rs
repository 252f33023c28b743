//! The layout algebra: dimensions and shapes, meshes and processors, tensor layouts, layout rules.

pub mod dims;
pub mod mesh;
pub mod tensor;
pub mod rules;
