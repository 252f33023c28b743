//! Slices' memory, used again: the `Free` steps of a Program say when nobody reads a slice any
//! more, and its memory serves the next that fits. A training step therefore allocates nothing
//! large after the first, and pays no page faults.
//!
//! All hosts share it: a slice that one cell of a pipeline sends is often let go last by another,
//! and would else pile up there while the first makes new ones.

use super::memory::Memory;
use super::number::Number;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Memory by its size.
type BySize<T> = BTreeMap<usize, Vec<Memory<T>>>;

/// Memory that no slice uses at present.
#[derive(Debug)]
pub struct Buffers<T> {
    free: Mutex<BySize<T>>,
}

impl<T> Default for Buffers<T> {
    fn default() -> Self {
        Self { free: Mutex::default() }
    }
}

impl<T: Number> Buffers<T> {
    fn free(&self) -> MutexGuard<'_, BySize<T>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer of this length; what it holds is arbitrary. The smallest memory serves that is large
    /// enough, but not a much larger one, which others will want.
    pub fn take(&self, length: usize) -> Buffer<T> {
        let fitting = |free: &mut BySize<T>| {
            free.range_mut(length..=length + length / 2).find_map(|(_, free)| free.pop())
        };
        let memory = fitting(&mut self.free());
        Buffer { memory: memory.unwrap_or_else(|| Memory::new(length)), length }
    }

    /// Takes a buffer back.
    pub fn give_back(&self, buffer: Buffer<T>) {
        self.free().entry(buffer.memory.len()).or_default().push(buffer.memory);
    }

    /// Takes a slice's buffer back, unless others still read it.
    pub fn give(&self, slice: Slice<T>) {
        if let Some(buffer) = Arc::into_inner(slice) {
            self.give_back(buffer);
        }
    }
}
