//! Typed indices: a mesh axis cannot be taken for a tensor axis, nor a node for a value.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl Idx for $name {
            fn new(i: usize) -> Self { Self(i as $repr) }
            fn index(self) -> usize { self.0 as usize }
        }
    };
}

/// What can index an [`IdVec`].
pub trait Idx: Copy {
    /// From a position.
    fn new(i: usize) -> Self;
    /// The position.
    fn index(self) -> usize;
}

index_type! {
    /// A dimension of the mesh, by position.
    MeshAxis(u8)
}
index_type! {
    /// A dimension of a tensor, by position.
    TensorAxis(u8)
}
index_type! {
    /// A processor by its serial number: row-major over the mesh, last mesh dimension fastest.
    Pnum(u32)
}
index_type! {
    /// A node of the graph, and the tensor it makes.
    NodeId(u32)
}
index_type! {
    /// A shape that some tensors of the graph have.
    ShapeId(u32)
}
index_type! {
    /// What nodes alike in operation and shapes have in common.
    KindId(u32)
}
index_type! {
    /// A value of the Program: a tensor in one layout.
    ValueId(u32)
}

index_type! {
    /// A body of the Program: a list of steps that is run as a whole.
    BodyId(u32)
}
index_type! {
    /// A place along the mesh dimension that a pipeline runs over, from 0.
    Rank(u32)
}
index_type! {
    /// A stage of a pipeline: one of the blocks of layers, in the order of the model.
    Stage(u32)
}
index_type! {
    /// A micro-batch of a pipeline, in the order of the batch.
    MicroBatch(u32)
}

/// A vector that only its own index type opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    index: PhantomData<I>,
}

impl<I: Idx, T> IdVec<I, T> {
    /// An empty vector.
    pub const fn new() -> Self {
        Self { items: Vec::new(), index: PhantomData }
    }

    /// An empty vector with room for so many.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { items: Vec::with_capacity(capacity), index: PhantomData }
    }

    /// Appends and returns the new index.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::new(self.items.len() - 1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All items in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All indices in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::new)
    }

    /// Indices and items in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(i, t)| (I::new(i), t))
    }

    /// The item, if the index is in range.
    pub fn get(&self, i: I) -> Option<&T> {
        self.items.get(i.index())
    }
}

impl<'a, I: Idx, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<I: Idx, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Idx, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self { items: items.into_iter().collect(), index: PhantomData }
    }
}

impl<I: Idx, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, i: I) -> &T {
        &self.items[i.index()]
    }
}

impl<I: Idx, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, i: I) -> &mut T {
        &mut self.items[i.index()]
    }
}
