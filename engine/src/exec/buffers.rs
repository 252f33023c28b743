//! Slices' memory, used again: fresh large buffers cost page faults at every step.

use super::number::Number;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The numbers of one slice, row-major.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer<T>(pub Vec<T>);

/// A slice, shared read-only by all processors that hold the same.
pub type Slice<T> = Arc<Buffer<T>>;

/// Buffers no slice uses at present, by length.
#[derive(Debug)]
pub struct Buffers<T> {
    free: BTreeMap<usize, Vec<Vec<T>>>,
}

impl<T> Default for Buffers<T> {
    fn default() -> Self {
        Self { free: BTreeMap::new() }
    }
}

impl<T: Number> Buffers<T> {
    /// No buffers yet.
    pub const fn new() -> Self {
        Self { free: BTreeMap::new() }
    }

    /// A buffer of this length; what it holds is arbitrary.
    pub fn take(&mut self, length: usize) -> Vec<T> {
        let used = self.free.get_mut(&length).and_then(Vec::pop);
        used.unwrap_or_else(|| vec![T::zero(); length])
    }

    /// Takes a buffer back.
    pub fn give_back(&mut self, buffer: Vec<T>) {
        self.free.entry(buffer.len()).or_default().push(buffer);
    }

    /// Takes a slice's buffer back, unless others still read it.
    pub fn give(&mut self, slice: Slice<T>) {
        if let Ok(Buffer(buffer)) = Arc::try_unwrap(slice) {
            self.give_back(buffer);
        }
    }
}
