//! Where the elements of a slice lie: sizes and strides by dimension name.

use crate::layout::dims::{Name, Shape};

/// A slice's dimensions in storage order with their local sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Local {
    /// Names in storage order.
    pub names: Vec<Name>,
    /// Local sizes.
    pub sizes: Vec<usize>,
}

impl Local {
    /// The slice of `shape` with these sizes.
    pub fn new(shape: &Shape, sizes: &[u64]) -> Self {
        Self {
            names: shape.dims().iter().map(|d| Name::clone(&d.name)).collect(),
            sizes: sizes.iter().map(|&s| s as usize).collect(),
        }
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Local size of a dimension; 1 where the slice lacks it.
    pub fn size(&self, name: &str) -> usize {
        self.names.iter().position(|n| **n == *name).map_or(1, |i| self.sizes[i])
    }

    /// Row-major stride of a dimension; 0 where the slice lacks it.
    pub fn stride(&self, name: &str) -> usize {
        let at = self.names.iter().position(|n| **n == *name);
        at.map_or(0, |i| self.sizes[i + 1..].iter().product())
    }

    /// Strides of this slice along the dimensions of another, 0 where it lacks one.
    pub fn strides_along(&self, other: &Self) -> Vec<usize> {
        other.names.iter().map(|n| self.stride(n)).collect()
    }
}

/// A slice, or what a tile needs of one: the numbers from position `from` on.
#[derive(Debug, Clone, Copy)]
pub struct Input<'x, T> {
    data: &'x [T],
    from: usize,
}

impl<'x, T: Copy> Input<'x, T> {
    /// A whole slice.
    pub const fn whole(data: &'x [T]) -> Self {
        Self { data, from: 0 }
    }

    /// What begins at a position of the slice.
    pub const fn part(data: &'x [T], from: usize) -> Self {
        Self { data, from }
    }

    /// The number at a position of the slice.
    pub fn at(self, position: usize) -> T {
        self.data[position - self.from]
    }

    /// The numbers from a position of the slice on.
    pub fn tail(self, position: usize) -> &'x [T] {
        &self.data[position - self.from..]
    }

    /// So many numbers from a position of the slice on.
    pub fn run(self, position: usize, length: usize) -> &'x [T] {
        &self.tail(position)[..length]
    }
}

/// Fills `out` with the elements at linear positions `start..` of the loops `sizes` over `data`.
pub fn gather<T: Copy>(
    data: Input<'_, T>,
    sizes: &[usize],
    strides: &[usize],
    start: usize,
    out: &mut [T],
) {
    let (Some(&run), Some(&step)) = (sizes.last(), strides.last()) else { return };
    let outer = (&sizes[..sizes.len() - 1], &strides[..strides.len() - 1]);
    let (mut at, mut rest) = (start, out);
    while !rest.is_empty() {
        let within = at % run;
        let take = (run - within).min(rest.len());
        let base = offset(at / run, outer.0, outer.1) + within * step;
        let (part, after) = rest.split_at_mut(take);
        match step {
            0 => part.fill(data.at(base)),
            1 => part.copy_from_slice(data.run(base, take)),
            _ => {
                for (o, &x) in part.iter_mut().zip(data.tail(base).iter().step_by(step)) {
                    *o = x;
                }
            }
        }
        at += take;
        rest = after;
    }
}

/// Merges neighbouring loops that all operands walk as one: `sizes` and, per operand, its strides.
/// Loops of size 1 vanish; at least one loop remains.
pub fn merge(sizes: &[usize], strides: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut out_sizes: Vec<usize> = Vec::new();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); strides.len()];
    for (i, &size) in sizes.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let joins = !out_sizes.is_empty()
            && strides.iter().zip(&out).all(|(s, o)| o.last() == Some(&(s[i] * size)));
        if joins {
            if let Some(last) = out_sizes.last_mut() {
                *last *= size;
            }
            for (s, o) in strides.iter().zip(&mut out) {
                if let Some(last) = o.last_mut() {
                    *last = s[i];
                }
            }
        } else {
            out_sizes.push(size);
            for (s, o) in strides.iter().zip(&mut out) {
                o.push(s[i]);
            }
        }
    }
    if out_sizes.is_empty() {
        out_sizes.push(1);
        for o in &mut out {
            o.push(1);
        }
    }
    (out_sizes, out)
}

/// The offset of linear position `at` of the loops `sizes` under `strides`.
pub fn offset(mut at: usize, sizes: &[usize], strides: &[usize]) -> usize {
    let mut sum = 0;
    for (&size, &stride) in sizes.iter().zip(strides).rev() {
        sum += at % size * stride;
        at /= size;
    }
    sum
}

/// Walks an output range run by run: `f(row, offset in the row, part)`.
pub fn runs<T>(run: usize, start: usize, out: &mut [T], mut f: impl FnMut(usize, usize, &mut [T])) {
    let (mut at, mut rest) = (start, out);
    while !rest.is_empty() {
        let offset = at % run;
        let (part, after) = rest.split_at_mut((run - offset).min(rest.len()));
        let length = part.len();
        f(at / run, offset, part);
        at += length;
        rest = after;
    }
}
