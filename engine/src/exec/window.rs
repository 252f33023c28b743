//! Windows over one axis of a slice, and their adjoint.
//!
//! A slice is seen as [outer, positions, inner]; inner runs are copied (or added) whole.

use super::number::Number;
use super::strides::runs;
use crate::graph::op::Edge;
use crate::index::Idx as _;
use crate::spmd::program::Frame;

/// How one window is computed; the same on every processor.
#[derive(Debug, Clone)]
pub struct WindowPlan {
    frame: Frame,
    /// Positions of the slice that is read (or, for the adjoint, made).
    positions: usize,
    places: usize,
    taps: usize,
    inner: usize,
}

impl WindowPlan {
    /// The plan: `positions` are the sizes of the slice without the window, `places` with it.
    pub fn new(frame: Frame, positions: &[u64], places: &[u64]) -> Self {
        let axis = frame.axis.index();
        let inner = positions[axis + 1..].iter().product::<u64>();
        let taps = if frame.has_window { places[axis + 1] } else { 1 };
        Self {
            frame,
            positions: positions[axis] as usize,
            places: places[axis] as usize,
            taps: taps as usize,
            inner: inner as usize,
        }
    }

    /// The position that tap `k` at place `i` reads; nothing outside.
    fn position(&self, i: usize, k: usize) -> Option<usize> {
        let Frame { stride, dilation, offset, edge, .. } = self.frame;
        let at = (stride * i as u64 + dilation * k as u64).cast_signed() + offset;
        let at = if edge == Edge::Wrap {
            at.rem_euclid((self.positions as u64).cast_signed())
        } else {
            at
        };
        usize::try_from(at).ok().filter(|&p| p < self.positions)
    }

    /// The elements `start..` of the slice with windows.
    pub fn read<T: Number>(&self, input: &[T], start: usize, out: &mut [T]) {
        let fill = T::from_f64(self.frame.edge.fill());
        runs(self.inner, start, out, |row, offset, part| {
            let (place, k) = (row / self.taps, row % self.taps);
            let (outer, i) = (place / self.places, place % self.places);
            match self.position(i, k) {
                Some(p) => {
                    let at = (outer * self.positions + p) * self.inner + offset;
                    part.copy_from_slice(&input[at..at + part.len()]);
                }
                None => part.fill(fill),
            }
        });
    }

    /// The elements `start..` of the slice of positions: each the sum of what was read of it.
    pub fn add_back<T: Number>(&self, input: &[T], start: usize, out: &mut [T]) {
        let Frame { stride, dilation, offset, edge, .. } = self.frame;
        let wraps = edge == Edge::Wrap;
        runs(self.inner, start, out, |row, within, part| {
            part.fill(T::zero());
            let (outer, p) = (row / self.positions, row % self.positions);
            for k in 0..self.taps {
                let reach = (p as u64).cast_signed() - offset - (dilation * k as u64).cast_signed();
                let i = reach.div_euclid(stride.cast_signed());
                let i = if wraps { i.rem_euclid((self.places as u64).cast_signed()) } else { i };
                let i = usize::try_from(i).unwrap_or(usize::MAX);
                if reach.rem_euclid(stride.cast_signed()) == 0 && i < self.places {
                    let at = ((outer * self.places + i) * self.taps + k) * self.inner + within;
                    for (o, &x) in part.iter_mut().zip(&input[at..]) {
                        *o = *o + x;
                    }
                }
            }
        });
    }
}
