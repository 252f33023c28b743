//! Slices' memory, used again: the `Free` steps of a Program say when nobody reads a slice any
//! more, and its memory serves the next that fits. A training step therefore allocates nothing
//! large after the first, and pays no page faults.

use super::memory::Memory;
use super::number::Number;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The numbers of one slice, row-major.
#[derive(Debug)]
pub struct Buffer<T> {
    memory: Memory<T>,
    length: usize,
}

impl<T: Number> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[..self.length]
    }
}

impl<T: Number> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[..self.length]
    }
}

/// A slice, shared read-only by all processors that hold the same.
pub type Slice<T> = Arc<Buffer<T>>;

/// Memory that no slice uses at present, by its size.
#[derive(Debug)]
pub struct Buffers<T> {
    free: BTreeMap<usize, Vec<Memory<T>>>,
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

    /// A buffer of this length; what it holds is arbitrary. The smallest memory serves that is large
    /// enough, but not a much larger one, which others will want.
    pub fn take(&mut self, length: usize) -> Buffer<T> {
        let mut fitting = self.free.range_mut(length..=length + length / 2);
        let memory = fitting.find_map(|(_, free)| free.pop());
        Buffer { memory: memory.unwrap_or_else(|| Memory::new(length)), length }
    }

    /// Takes a buffer back.
    pub fn give_back(&mut self, buffer: Buffer<T>) {
        self.free.entry(buffer.memory.len()).or_default().push(buffer.memory);
    }

    /// Takes a slice's buffer back, unless others still read it.
    pub fn give(&mut self, slice: Slice<T>) {
        if let Ok(buffer) = Arc::try_unwrap(slice) {
            self.give_back(buffer);
        }
    }
}
