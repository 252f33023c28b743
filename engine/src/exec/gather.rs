//! Elements at named positions, and their adjoint: rows of an embedding and its gradient.
//!
//! Positions are numbers of the whole tensor. A slice that holds `first..first + size` of the
//! dimension gives zeros for all others, so that the slices of a group add up to the result.

use super::number::Number;
use super::strides::{Local, merge, offset};
use crate::layout::dims::Name;

/// How one gather or scatter is computed; the same on every processor but for `first`.
#[derive(Debug, Clone)]
pub struct GatherPlan {
    /// Loops over the slice with one element per position named.
    sizes: Vec<usize>,
    /// Its strides in the positions, in the table (without the dimension), and in itself.
    at_positions: Vec<usize>,
    at_table: Vec<usize>,
    at_picked: Vec<usize>,
    /// The dimension in the table.
    size: usize,
    stride: usize,
}

impl GatherPlan {
    /// The plan: `picked` has the dimensions of `positions` and those of `table` but `dim`.
    pub fn new(dim: &Name, table: &Local, positions: &Local, picked: &Local) -> Self {
        let mut at_table = table.strides_along(picked);
        for (stride, name) in at_table.iter_mut().zip(&picked.names) {
            if name == dim {
                *stride = 0;
            }
        }
        let strides = [positions.strides_along(picked), at_table, picked.strides_along(picked)];
        let (sizes, mut strides) = merge(&picked.sizes, &strides);
        let (at_picked, at_table, at_positions) = (
            strides.pop().unwrap_or_default(),
            strides.pop().unwrap_or_default(),
            strides.pop().unwrap_or_default(),
        );
        Self {
            sizes,
            at_positions,
            at_table,
            at_picked,
            size: table.size(dim),
            stride: table.stride(dim),
        }
    }

    /// The place within the slice of a position of the whole dimension.
    fn place<T: Number>(&self, position: T, first: u64) -> Option<usize> {
        let place = position.to_f64() - first as f64;
        let inside = place >= 0.0 && place < self.size as f64;
        inside.then_some(place as usize)
    }

    /// The elements `start..` of what is picked from a table that begins at `first`.
    pub fn pick<T: Number>(
        &self,
        table: &[T],
        positions: &[T],
        first: u64,
        start: usize,
        out: &mut [T],
    ) {
        let run = self.sizes.last().copied().unwrap_or(1);
        let last = |strides: &[usize]| strides.last().copied().unwrap_or(1);
        let (step, by) = (last(&self.at_positions), last(&self.at_table));
        super::strides::runs(run, start, out, |row, within, part| {
            let outer = self.sizes.len() - 1;
            let from = |strides: &[usize]| offset(row, &self.sizes[..outer], &strides[..outer]);
            let (named, base) = (from(&self.at_positions), from(&self.at_table));
            if step == 0 && by == 1 {
                match self.place(positions[named], first) {
                    Some(place) => {
                        let at = base + place * self.stride + within;
                        part.copy_from_slice(&table[at..at + part.len()]);
                    }
                    None => part.fill(T::zero()),
                }
                return;
            }
            for (i, o) in part.iter_mut().enumerate() {
                let i = within + i;
                let place = self.place(positions[named + i * step], first);
                *o = place.map_or(T::zero(), |p| table[base + p * self.stride + i * by]);
            }
        });
    }

    /// The table that begins at `first` in which each element is the sum of those picked from it,
    /// added in the order of `picked`.
    pub fn add_back<T: Number>(&self, picked: &[T], positions: &[T], first: u64, table: &mut [T]) {
        table.fill(T::zero());
        let run = self.sizes.last().copied().unwrap_or(1);
        let last = |strides: &[usize]| strides.last().copied().unwrap_or(1);
        let (step, by, own) =
            (last(&self.at_positions), last(&self.at_table), last(&self.at_picked));
        let outer = self.sizes.len() - 1;
        for row in 0..self.sizes[..outer].iter().product() {
            let from = |strides: &[usize]| offset(row, &self.sizes[..outer], &strides[..outer]);
            let named = from(&self.at_positions);
            let (base, read) = (from(&self.at_table), from(&self.at_picked));
            for i in 0..run {
                if let Some(place) = self.place(positions[named + i * step], first) {
                    let target = &mut table[base + place * self.stride + i * by];
                    *target = *target + picked[read + i * own];
                }
            }
        }
    }
}
