//! Packing: the numbers of one side of a product in the order in which the register tiles read
//! them, whatever the order in which they are stored.
//!
//! A side of a product has *lanes*, which the result keeps (rows of the left matrix, columns of the
//! right one), and *sums*, which go. A panel holds `W` lanes: for each sum their `W` numbers, one
//! after the other; lanes that are missing are zero.

use super::tile::Tiled;
use std::ops::Range;

/// Panels that are packed together where lanes lie side by side, so that memory is read in long runs.
const TOGETHER: usize = 8;

/// Where the positions along one dimension of a matrix lie; the dimension may be several of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    offsets: Vec<usize>,
    /// The distance of neighbours, where it is the same for all.
    stride: Option<usize>,
}

impl Steps {
    /// The positions of these loops.
    pub fn new(sizes: &[usize], strides: &[usize]) -> Self {
        let mut offsets = vec![0];
        for (&size, &stride) in sizes.iter().zip(strides) {
            let outer = std::mem::take(&mut offsets);
            offsets = outer.iter().flat_map(|o| (0..size).map(move |i| o + i * stride)).collect();
        }
        let first = offsets.get(1).copied().unwrap_or(1);
        let alike = offsets.windows(2).all(|pair| pair[1] == pair[0] + first);
        Self { offsets, stride: alike.then_some(first) }
    }

    /// How many positions there are.
    pub const fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Where a position lies.
    pub fn at(&self, position: usize) -> usize {
        self.offsets[position]
    }

    fn is_run(&self) -> bool {
        self.stride == Some(1)
    }
}

/// One side of a product.
#[derive(Debug, Clone, Copy)]
pub struct Side<'x, T> {
    /// Its numbers, and others.
    pub data: &'x [T],
    /// Where it begins.
    pub at: usize,
    /// What the result keeps.
    pub lanes: &'x Steps,
    /// What goes.
    pub sums: &'x Steps,
}

impl<T: Tiled + Copy + Default> Side<'_, T> {
    /// Packs some of its lanes and sums into panels of so many lanes.
    pub fn pack(self, width: usize, lanes: Range<usize>, sums: Range<usize>, out: &mut [T]) {
        match width {
            4 => self.panels::<4>(lanes, sums, out),
            6 => self.panels::<6>(lanes, sums, out),
            8 => self.panels::<8>(lanes, sums, out),
            12 => self.panels::<12>(lanes, sums, out),
            16 => self.panels::<16>(lanes, sums, out),
            _ => self.panels::<32>(lanes, sums, out),
        }
    }

    fn panels<const W: usize>(self, lanes: Range<usize>, sums: Range<usize>, out: &mut [T]) {
        let panel = sums.len() * W;
        if panel == 0 {
            return;
        }
        for (i, group) in out.chunks_mut(TOGETHER * panel).enumerate() {
            let first = lanes.start + i * TOGETHER * W;
            if self.lanes.is_run() && first + TOGETHER * W <= lanes.end {
                self.wide::<W>(first, sums.clone(), group);
                continue;
            }
            for (j, panel) in group.chunks_exact_mut(panel).enumerate() {
                let first = first + j * W;
                let lanes = first.min(lanes.end)..lanes.end.min(first + W);
                self.panel::<W>(lanes, sums.clone(), panel.as_chunks_mut().0);
            }
        }
    }

    /// Several panels of lanes that lie side by side.
    fn wide<const W: usize>(self, first: usize, sums: Range<usize>, group: &mut [T]) {
        let panel = sums.len() * W;
        for (k, sum) in sums.enumerate() {
            let start = self.at + self.lanes.at(first) + self.sums.at(sum);
            let row = &self.data[start..start + TOGETHER * W];
            for (j, run) in row.as_chunks::<W>().0.iter().enumerate() {
                let out = group[j * panel + k * W..].first_chunk_mut();
                if let Some(out) = out {
                    *out = *run;
                }
            }
        }
    }

    fn panel<const W: usize>(self, lanes: Range<usize>, sums: Range<usize>, out: &mut [[T; W]]) {
        let (count, length) = (lanes.len(), sums.len());
        if count < W {
            out.fill([T::default(); W]);
        }
        if count == W && self.lanes.is_run() {
            let start = self.at + self.lanes.at(lanes.start);
            for (sum, out) in sums.zip(out) {
                if let Some(run) = self.data[start + self.sums.at(sum)..].first_chunk() {
                    *out = *run;
                }
            }
            return;
        }
        let mut lane = 0;
        if self.sums.is_run() {
            let first = self.at + self.sums.at(sums.start);
            let run =
                |lane: usize| &self.data[first + self.lanes.at(lanes.start + lane)..][..length];
            while lane + 4 <= count {
                quarter(std::array::from_fn(|i| run(lane + i)), lane, out);
                lane += 4;
            }
            for lane in lane..count {
                for (out, &x) in out.iter_mut().zip(run(lane)) {
                    out[lane] = x;
                }
            }
            return;
        }
        for (lane, position) in lanes.enumerate() {
            let start = self.at + self.lanes.at(position);
            for (sum, out) in sums.clone().zip(&mut *out) {
                out[lane] = self.data[start + self.sums.at(sum)];
            }
        }
    }
}

/// Four lanes that each lie in a run of their own become four of the numbers of every row.
fn quarter<T: Tiled + Copy + Default, const W: usize>(
    runs: [&[T]; 4],
    lane: usize,
    out: &mut [[T; W]],
) {
    let (blocks, rest) = out.as_chunks_mut::<4>();
    let [a, b, c, d] = runs.map(|run| run.as_chunks::<4>());
    for ((((out, a), b), c), d) in blocks.iter_mut().zip(a.0).zip(b.0).zip(c.0).zip(d.0) {
        let rows = T::transposed([*a, *b, *c, *d]);
        for (out, row) in out.iter_mut().zip(rows) {
            if let Some(out) = out[lane..].first_chunk_mut() {
                *out = row;
            }
        }
    }
    for (i, out) in rest.iter_mut().enumerate() {
        for (out, run) in out[lane..].iter_mut().zip([a.1, b.1, c.1, d.1]) {
            *out = run[i];
        }
    }
}
