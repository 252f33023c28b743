//! Where the numbers of slices lie.
//!
//! Large slices ask the system for huge pages: a matrix product walks a column of its result from
//! page to page, and with pages of 4 KB it waits for their addresses as long as for the numbers.

use super::number::Number;
use std::ops::{Deref, DerefMut};

/// Numbers of one type, one after the other, 0 at first.
#[derive(Debug)]
pub struct Memory<T>(Place<T>);

#[derive(Debug)]
enum Place<T> {
    Vec(Vec<T>),
    #[cfg(not(target_arch = "wasm32"))]
    Pages(memmap2::MmapMut),
}

/// Bytes from which huge pages pay.
#[cfg(not(target_arch = "wasm32"))]
const LARGE: usize = 1 << 21;

impl<T: Number> Memory<T> {
    /// Memory for so many numbers.
    pub fn new(length: usize) -> Self {
        Self(large(length).unwrap_or_else(|| Place::Vec(vec![T::zero(); length])))
    }
}

/// Pages of the system's own, for what is large.
#[cfg(not(target_arch = "wasm32"))]
fn large<T: Number>(length: usize) -> Option<Place<T>> {
    let bytes = length * T::BYTES as usize;
    if bytes < LARGE {
        return None;
    }
    let pages = memmap2::MmapMut::map_anon(bytes).ok()?;
    // a system without huge pages does without
    #[cfg(target_os = "linux")]
    drop(pages.advise(memmap2::Advice::HugePage));
    Some(Place::Pages(pages))
}

#[cfg(target_arch = "wasm32")]
const fn large<T: Number>(_length: usize) -> Option<Place<T>> {
    None
}

impl<T: Number> Deref for Memory<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Vec(numbers) => numbers,
            #[cfg(not(target_arch = "wasm32"))]
            Place::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }
}

impl<T: Number> DerefMut for Memory<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Place::Vec(numbers) => numbers,
            #[cfg(not(target_arch = "wasm32"))]
            Place::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}
