//! Short ways to say meshes, shapes and layouts in tests of pictures.

use meshwork_engine::layout::dims::{Dimension, Shape};
use meshwork_engine::layout::mesh::{Mesh, MeshDim};
use meshwork_engine::layout::rules::{LayoutRules, Rule};
use meshwork_engine::picture::scene::{Scene, Tone};
use meshwork_engine::picture::tensor::Sliced;

/// `a:2 b:x+y` as pairs.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split_whitespace().map(|pair| pair.split_once(':').unwrap()).collect()
}

/// The mesh `rows:2 cols:2`.
pub(crate) fn mesh(text: &str) -> Mesh {
    let dim =
        |(name, size): (&str, &str)| MeshDim { name: name.into(), size: size.parse().unwrap() };
    Mesh::new(pairs(text).into_iter().map(dim).collect()).unwrap()
}

/// The shape `batch:8 io:4`.
pub(crate) fn shape(text: &str) -> Shape {
    let dim = |(name, size): (&str, &str)| Dimension::new(name, size.parse().unwrap());
    Shape::new(pairs(text).into_iter().map(dim).collect()).unwrap()
}

/// The rules `batch:rows hidden:cols+planes`.
pub(crate) fn rules(text: &str) -> LayoutRules {
    let rule = |(dim, by): (&str, &str)| Rule {
        dim: dim.into(),
        mesh_dims: by.split('+').map(Into::into).collect(),
    };
    LayoutRules::new(pairs(text).into_iter().map(rule).collect()).unwrap()
}

/// The picture of a tensor under rules, with sums pending over `partial`.
pub(crate) fn tensor(name: &str, dims: &str, by: &str, partial: &[&str], on: &str) -> Scene {
    let (shape, mesh) = (shape(dims), mesh(on));
    let layout = rules(by).tensor_layout(&shape, &mesh).unwrap();
    let partial: Vec<_> = partial.iter().map(|n| mesh.axis(n).unwrap()).collect();
    Sliced { partial: &partial, ..Sliced::new(name, &shape, &layout, &mesh) }.scene()
}

/// Whether a tone is that of a face of a slice.
pub(crate) fn is_slice(tone: Tone) -> bool {
    matches!(tone, Tone::Slice(_) | Tone::SliceShade(_) | Tone::Partial(_))
}
