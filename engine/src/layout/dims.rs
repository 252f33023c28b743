//! Named dimensions and shapes.
//!
//! A shape is a list of dimensions with distinct names; two tensors that share a name share the
//! dimension. `x[batch:8 io:4]` has 32 elements, stored row-major: the last dimension is fastest.

use crate::index::{Idx as _, TensorAxis};
use std::fmt;
use std::sync::Arc;

/// The name of a dimension, tensor or mesh dimension; cheap to clone.
pub type Name = Arc<str>;

/// A named tensor dimension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension {
    /// Its name; equal names mean the same dimension.
    pub name: Name,
    /// How many elements, at least 1.
    pub size: u64,
}

impl Dimension {
    /// A dimension of `size` elements.
    pub fn new(name: impl Into<Name>, size: u64) -> Self {
        Self { name: name.into(), size }
    }
}

/// An ordered list of dimensions with distinct names; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Shape {
    dims: Arc<[Dimension]>,
}

impl Shape {
    /// The shape of a single number.
    pub fn scalar() -> Self {
        Self { dims: Arc::default() }
    }

    /// A shape, or the name that stands twice in it.
    pub fn new(dims: Vec<Dimension>) -> Result<Self, Name> {
        for (i, d) in dims.iter().enumerate() {
            if dims[..i].iter().any(|e| e.name == d.name) {
                return Err(Name::clone(&d.name));
            }
        }
        Ok(Self { dims: dims.into() })
    }

    /// The dimensions in order.
    pub fn dims(&self) -> &[Dimension] {
        &self.dims
    }

    /// Whether they are one in memory, which is seen at once.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.dims, &other.dims)
    }

    /// How many dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The axes in order.
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = TensorAxis> + use<> {
        (0..self.dims.len()).map(TensorAxis::new)
    }

    /// The dimension at an axis.
    pub fn dim(&self, axis: TensorAxis) -> &Dimension {
        &self.dims[axis.index()]
    }

    /// The axis of the dimension with this name.
    pub fn axis(&self, name: &str) -> Option<TensorAxis> {
        self.dims.iter().position(|d| &*d.name == name).map(TensorAxis::new)
    }

    /// Whether it has a dimension with this name.
    pub fn has(&self, name: &str) -> bool {
        self.axis(name).is_some()
    }

    /// Number of elements (saturating; sizes are limited long before).
    pub fn elements(&self) -> u64 {
        self.dims.iter().fold(1, |n, d| n.saturating_mul(d.size))
    }

    /// Whether both have the same dimensions, in whatever order.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.rank() == other.rank() && other.dims.iter().all(|d| self.has(&d.name))
    }

    /// Whether it has all dimensions of the other, in the order of the other.
    pub fn holds(&self, other: &Self) -> bool {
        let mut own = self.dims.iter();
        other.dims.iter().all(|d| own.any(|o| o.name == d.name))
    }

    /// The dimensions of both: this one's in order, then the other's new ones.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut new = other.dims.iter().filter(|d| !self.has(&d.name)).peekable();
        if new.peek().is_none() {
            return self.clone();
        }
        if self.dims.is_empty() {
            return other.clone();
        }
        Self { dims: self.dims.iter().chain(new).cloned().collect() }
    }

    /// The dimensions that `keep` accepts, in order.
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(&Dimension) -> bool) -> Self {
        Self { dims: self.dims.iter().filter(|d| keep(d)).cloned().collect() }
    }

    /// The same dimensions with other sizes, in order (a slice of the tensor).
    #[must_use]
    pub fn with_sizes(&self, sizes: &[u64]) -> Self {
        let dims = self.dims.iter().zip(sizes);
        Self { dims: dims.map(|(d, &s)| Dimension::new(Name::clone(&d.name), s)).collect() }
    }
}

impl fmt::Display for Shape {
    /// `[batch:8 io:4]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.dims.iter().enumerate() {
            write!(f, "{}{}:{}", if i > 0 { " " } else { "" }, d.name, d.size)?;
        }
        f.write_str("]")
    }
}
