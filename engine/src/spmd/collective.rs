//! Collectives: what moves when a tensor changes its layout.
//!
//! Each has three sides, next to each other here: [`Collective::retype`] says what it does to a
//! layout, [`Collective::sent_by_group`] what it sends, [`Collective::apply`] what it does to the
//! slices of a group. With n members and input slices of L elements, by the ring algorithms:
//!
//! | | layout before → after | a group sends, elements |
//! |---|---|---|
//! | Allreduce | partial → replicated | 2(n−1)·L |
//! | Reducescatter | partial → split | (n−1)·L |
//! | Allgather | split → replicated | n(n−1)·L |
//! | Alltoall | split dim i → split dim j | (n−1)·L |
//! | Allsplit | replicated → split | 0 |
//! | Receive | split → fields that overlap | what the fields hold of others' slices |
//! | Receive of a hop | at one stage → at another | L, once |

use super::field::Field;
use crate::index::{Idx as _, MeshAxis, Stage, TensorAxis};
use crate::layout::dims::Shape;
use crate::layout::mesh::Mesh;
use crate::layout::tensor::{Combine, LayoutError, TensorLayout};

/// What a collective does within each group over its mesh axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CollectiveKind {
    /// Members hold summands; all get the sum (maximum, minimum).
    Allreduce(Combine),
    /// Members hold summands; each gets its block, along an axis, of the sum.
    Reducescatter(Combine, TensorAxis),
    /// Members hold blocks along an axis; all get the whole.
    Allgather(TensorAxis),
    /// Members hold blocks along the first axis; each gets its block along the second.
    Alltoall(TensorAxis, TensorAxis),
    /// Members hold the same; each keeps its block along an axis.
    Allsplit(TensorAxis),
    /// Members hold blocks along an axis; each gets its field, which reaches into others' blocks.
    Receive(TensorAxis, Field),
    /// One member, at a stage of a pipeline, gets what its counterpart at another sent.
    Hop {
        /// The stage that sent it.
        from: Stage,
        /// Whether that is on other processors.
        sends: bool,
    },
}

impl CollectiveKind {
    /// `allreduce`, `reducescatter`, `allgather`, `alltoall`, `allsplit` or `receive`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allreduce(_) => "allreduce",
            Self::Reducescatter(..) => "reducescatter",
            Self::Allgather(_) => "allgather",
            Self::Alltoall(..) => "alltoall",
            Self::Allsplit(_) => "allsplit",
            Self::Receive(..) | Self::Hop { .. } => "receive",
        }
    }

    /// As written in prose: `Allreduce`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Allreduce(_) => "Allreduce",
            Self::Reducescatter(..) => "Reducescatter",
            Self::Allgather(_) => "Allgather",
            Self::Alltoall(..) => "Alltoall",
            Self::Allsplit(_) => "Allsplit",
            Self::Receive(..) | Self::Hop { .. } => "Receive",
        }
    }
}

/// A collective over the groups that some mesh axes span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Collective {
    /// What it does.
    pub kind: CollectiveKind,
    /// The mesh axes of its groups; where blocks are cut or joined, the first is outermost.
    pub axes: Vec<MeshAxis>,
}

/// A part of a member's output slice.
#[derive(Debug)]
pub struct Part<'o, T> {
    /// The member, by its position in the group.
    pub me: usize,
    /// The first element of the part.
    pub start: usize,
    /// Where it goes.
    pub out: &'o mut [T],
}

impl Collective {
    /// The layout after it, or why it does not fit the layout before.
    pub fn retype(
        &self,
        layout: &TensorLayout,
        shape: &Shape,
        mesh: &Mesh,
    ) -> Result<TensorLayout, LayoutError> {
        let mut split: Vec<Vec<MeshAxis>> = layout.splits().to_vec();
        let mut partial = layout.partial().to_vec();
        let first = self.axes.first().copied().unwrap_or(MeshAxis(0));
        let mut settle = |combine: Combine| {
            let before = partial.len();
            partial.retain(|(a, c)| !(self.axes.contains(a) && *c == combine));
            before - partial.len() == self.axes.len()
        };
        let ok = match self.kind {
            CollectiveKind::Allreduce(combine) => settle(combine),
            CollectiveKind::Reducescatter(combine, to) => {
                let settled = settle(combine);
                split[to.index()].extend(&self.axes);
                settled
            }
            CollectiveKind::Allgather(from) => strip_suffix(&mut split[from.index()], &self.axes),
            CollectiveKind::Alltoall(from, to) => {
                let had = strip_suffix(&mut split[from.index()], &self.axes);
                split[to.index()].extend(&self.axes);
                had && from != to
            }
            CollectiveKind::Allsplit(to) => {
                split[to.index()].extend(&self.axes);
                true
            }
            CollectiveKind::Receive(axis, _) => split[axis.index()] == self.axes,
            CollectiveKind::Hop { .. } => true,
        };
        if !ok {
            return Err(LayoutError::SplitAndPartial(first));
        }
        TensorLayout::new(split, partial, shape, mesh)
    }

    /// How members' summands combine, for those that combine.
    pub const fn combine(&self) -> Option<Combine> {
        match self.kind {
            CollectiveKind::Allreduce(c) | CollectiveKind::Reducescatter(c, _) => Some(c),
            CollectiveKind::Allgather(_)
            | CollectiveKind::Alltoall(..)
            | CollectiveKind::Allsplit(_)
            | CollectiveKind::Receive(..)
            | CollectiveKind::Hop { .. } => None,
        }
    }

    /// Elements that a group of `n` members with input slices of `elements` sends in all.
    pub fn sent_by_group(&self, n: u64, elements: u64) -> u64 {
        match self.kind {
            CollectiveKind::Allreduce(_) => 2 * (n - 1) * elements,
            CollectiveKind::Reducescatter(..) | CollectiveKind::Alltoall(..) => (n - 1) * elements,
            CollectiveKind::Allgather(_) => n * (n - 1) * elements,
            CollectiveKind::Allsplit(_) => 0,
            CollectiveKind::Receive(_, field) => field.received(n) * (elements / field.local),
            CollectiveKind::Hop { sends, .. } => u64::from(sends) * elements,
        }
    }

    /// Messages that a group of `n` members counts: one per member, none where nothing is sent.
    pub fn messages_of_group(&self, n: u64) -> u64 {
        let sends = match self.kind {
            CollectiveKind::Allreduce(_)
            | CollectiveKind::Reducescatter(..)
            | CollectiveKind::Allgather(_)
            | CollectiveKind::Alltoall(..) => n > 1,
            CollectiveKind::Allsplit(_) => false,
            CollectiveKind::Receive(_, field) => field.received(n) > 0,
            // Only the one who gets it counts it.
            CollectiveKind::Hop { sends, .. } => return u64::from(sends),
        };
        if sends { n } else { 0 }
    }

    /// Elements of one member's slice afterwards.
    pub const fn output_elements(&self, n: u64, elements: u64) -> u64 {
        match self.kind {
            CollectiveKind::Allreduce(_)
            | CollectiveKind::Alltoall(..)
            | CollectiveKind::Hop { .. } => elements,
            CollectiveKind::Reducescatter(..) | CollectiveKind::Allsplit(_) => elements / n,
            CollectiveKind::Allgather(_) => elements * n,
            CollectiveKind::Receive(_, field) => elements / field.local * field.length,
        }
    }

    /// Whether all members of a group end up with the same slice.
    pub const fn result_is_shared(&self) -> bool {
        matches!(self.kind, CollectiveKind::Allreduce(_) | CollectiveKind::Allgather(_))
    }

    /// Computes a part of what a member of a group gets.
    /// `slices` are the members' input slices in group order, each of `sizes` (one per axis);
    /// `fill` is what lies outside the tensor, for [`CollectiveKind::Receive`].
    pub fn apply<T: Copy>(
        &self,
        slices: &[&[T]],
        sizes: &[u64],
        part: Part<'_, T>,
        combine: impl Fn(T, T) -> T,
        fill: impl Fn(f64) -> T,
    ) {
        let Part { me, start, out } = part;
        let n = slices.len();
        let around = |axis: TensorAxis| {
            let inner: u64 = sizes[axis.index() + 1..].iter().product();
            (sizes[axis.index()] as usize, inner as usize)
        };
        match self.kind {
            CollectiveKind::Hop { .. } => {
                out.copy_from_slice(&slices[me][start..start + out.len()]);
            }
            CollectiveKind::Allreduce(_) => {
                out.copy_from_slice(&slices[0][start..start + out.len()]);
                for slice in &slices[1..] {
                    for (o, &x) in out.iter_mut().zip(&slice[start..]) {
                        *o = combine(*o, x);
                    }
                }
            }
            CollectiveKind::Reducescatter(_, to) => {
                let (size, inner) = around(to);
                blocks(start, out, size / n * inner, |o, r, part| {
                    let at = (o * size + me * (size / n)) * inner + r;
                    part.copy_from_slice(&slices[0][at..at + part.len()]);
                    for slice in &slices[1..] {
                        for (o, &x) in part.iter_mut().zip(&slice[at..]) {
                            *o = combine(*o, x);
                        }
                    }
                });
            }
            CollectiveKind::Allgather(from) => {
                let (size, inner) = around(from);
                let run = size * inner;
                blocks(start, out, run, |o, r, part| {
                    let at = o / n * run + r;
                    part.copy_from_slice(&slices[o % n][at..at + part.len()]);
                });
            }
            CollectiveKind::Allsplit(to) => {
                let (size, inner) = around(to);
                blocks(start, out, size / n * inner, |o, r, part| {
                    let at = (o * size + me * (size / n)) * inner + r;
                    part.copy_from_slice(&slices[me][at..at + part.len()]);
                });
            }
            CollectiveKind::Alltoall(from, to) => {
                alltoall(slices, sizes, me, (from, to), start, out);
            }
            CollectiveKind::Receive(axis, field) => {
                let (size, inner) = around(axis);
                let length = field.length as usize;
                blocks(start, out, inner, |row, r, part| {
                    let source = field.source(n as u64, me as u64, (row % length) as u64);
                    let Some((member, position)) = source else {
                        return part.fill(fill(field.edge.fill()));
                    };
                    let at = (row / length * size + position as usize) * inner + r;
                    part.copy_from_slice(&slices[member][at..at + part.len()]);
                });
            }
        }
    }
}

/// Walks an output range as runs: `f(outer, offset in run, part)`.
fn blocks<T>(start: usize, out: &mut [T], run: usize, mut f: impl FnMut(usize, usize, &mut [T])) {
    let (mut at, mut rest) = (start, out);
    while !rest.is_empty() {
        let offset = at % run;
        let take = (run - offset).min(rest.len());
        let (part, after) = rest.split_at_mut(take);
        f(at / run, offset, part);
        at += take;
        rest = after;
    }
}

/// The output joins, along `from`, block `me` along `to` of every member.
fn alltoall<T: Copy>(
    slices: &[&[T]],
    sizes: &[u64],
    me: usize,
    (from, to): (TensorAxis, TensorAxis),
    start: usize,
    out: &mut [T],
) {
    let n = slices.len();
    let mut out_sizes: Vec<usize> = sizes.iter().map(|&s| s as usize).collect();
    out_sizes[from.index()] *= n;
    out_sizes[to.index()] /= n;
    let inner: usize = out_sizes[from.index().max(to.index()) + 1..].iter().product();
    blocks(start, out, inner, |row, offset, part| {
        // Coordinates of this run in the output, outermost axes last computed.
        let mut rest = row;
        let last = from.index().max(to.index());
        let mut at = 0;
        let mut stride = inner;
        let mut member = 0;
        for axis in (0..=last).rev() {
            let coordinate = rest % out_sizes[axis];
            rest /= out_sizes[axis];
            let size = sizes[axis] as usize;
            let own = if axis == from.index() {
                member = coordinate / size;
                coordinate % size
            } else if axis == to.index() {
                me * out_sizes[axis] + coordinate
            } else {
                coordinate
            };
            at += own * stride;
            stride *= size;
        }
        let at = at + offset;
        part.copy_from_slice(&slices[member][at..at + part.len()]);
    });
}

fn strip_suffix(list: &mut Vec<MeshAxis>, suffix: &[MeshAxis]) -> bool {
    if list.ends_with(suffix) {
        list.truncate(list.len() - suffix.len());
        true
    } else {
        false
    }
}
