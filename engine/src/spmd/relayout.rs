//! The one place that chooses collectives.
//!
//! The price of changing a layout is the cheapest path through legal layouts, each step one
//! collective: fewest bytes sent, then fewest collectives that send, then fewest at all. So every
//! intermediate is legal by construction; collectives of one kind over several mesh dimensions are
//! one collective over the product group where that is no dearer; and two mesh dimensions that
//! swap places are not moved by two blind Alltoalls, since no such step is legal.

use super::collective::{Collective, CollectiveKind};
use crate::index::{Idx as _, MeshAxis, TensorAxis};
use crate::layout::dims::Shape;
use crate::layout::mesh::Mesh;
use crate::layout::tensor::{Combine, TensorLayout};
use std::collections::{BTreeMap, BTreeSet};

/// What a relayout costs one processor: bytes-like weight first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Price {
    /// Elements sent by one processor, in 1/processors of an element so that it is whole.
    pub sent: u128,
    /// Collectives that send.
    pub sending: u32,
    /// All collectives.
    pub steps: u32,
}

/// The collectives that lead from one layout of a tensor to another, cheapest way, in order.
pub fn relayout(
    from: &TensorLayout,
    to: &TensorLayout,
    shape: &Shape,
    mesh: &Mesh,
) -> Vec<Collective> {
    plan(from, to, shape, mesh).0
}

/// The collectives and their price.
pub fn plan(
    from: &TensorLayout,
    to: &TensorLayout,
    shape: &Shape,
    mesh: &Mesh,
) -> (Vec<Collective>, Price) {
    if from == to {
        return (Vec::new(), Price::default());
    }
    if from.splits() == to.splits()
        && let Some(direct) = direct_allreduce(from, to)
    {
        let price = price(&direct, from, shape, mesh);
        return (vec![direct], price);
    }
    search(from, to, shape, mesh)
}

/// Only partial values of one kind have to go: one Allreduce over all their axes.
fn direct_allreduce(from: &TensorLayout, to: &TensorLayout) -> Option<Collective> {
    let gone: Vec<_> = from.partial().iter().filter(|p| !to.partial().contains(p)).collect();
    let combine = gone.first()?.1;
    let all_kept = to.partial().iter().all(|p| from.partial().contains(p));
    (all_kept && gone.iter().all(|p| p.1 == combine)).then(|| Collective {
        kind: CollectiveKind::Allreduce(combine),
        axes: gone.iter().map(|p| p.0).collect(),
    })
}

fn price(step: &Collective, layout: &TensorLayout, shape: &Shape, mesh: &Mesh) -> Price {
    let n = mesh.group_size(&step.axes);
    let elements = layout.slice_elements(shape, mesh);
    let sent = u128::from(step.sent_by_group(n, elements)) * u128::from(mesh.processors() / n);
    Price { sent, sending: u32::from(sent > 0), steps: 1 }
}

/// For every layout reached: the price, and the layout and step that led there.
type Best = BTreeMap<TensorLayout, (Price, Option<(TensorLayout, Collective)>)>;

/// Dijkstra's algorithm over layouts.
fn search(
    from: &TensorLayout,
    to: &TensorLayout,
    shape: &Shape,
    mesh: &Mesh,
) -> (Vec<Collective>, Price) {
    let mut best = Best::from([(from.clone(), (Price::default(), None))]);
    let mut queue = BTreeSet::from([(Price::default(), from.clone())]);
    while let Some((paid, here)) = queue.pop_first() {
        if here == *to {
            return (walk_back(&best, to), paid);
        }
        for step in moves(&here, to) {
            let Ok(next) = step.retype(&here, shape, mesh) else { continue };
            let more = price(&step, &here, shape, mesh);
            let total = Price {
                sent: paid.sent + more.sent,
                sending: paid.sending + more.sending,
                steps: paid.steps + more.steps,
            };
            let known = best.get(&next).map(|b| b.0);
            if known.is_none_or(|k| total < k) {
                if let Some(k) = known {
                    queue.remove(&(k, next.clone()));
                }
                best.insert(next.clone(), (total, Some((here.clone(), step))));
                queue.insert((total, next));
            }
        }
    }
    // Unreachable while `to` is legal: gathering everything and splitting anew always leads there.
    (Vec::new(), Price::default())
}

fn walk_back(best: &Best, to: &TensorLayout) -> Vec<Collective> {
    let mut path = Vec::new();
    let mut at = to;
    while let Some((_, Some((before, step)))) = best.get(at) {
        path.push(step.clone());
        at = before;
    }
    path.reverse();
    path
}

/// The steps worth trying from a layout: none touches a mesh axis that already lies where it
/// should and need not make way.
fn moves(here: &TensorLayout, to: &TensorLayout) -> Vec<Collective> {
    let mut out = Vec::new();
    let goes = |a: MeshAxis| to.partial_over(a).is_none();
    // Partial values settle: all axes of one kind that the target does not want split at once, or
    // any run of axes that the target wants next on one dimension.
    for combine in [Combine::Sum, Combine::Max, Combine::Min] {
        let here_partial: Vec<MeshAxis> =
            here.partial().iter().filter(|(a, c)| *c == combine && goes(*a)).map(|p| p.0).collect();
        let plain: Vec<MeshAxis> =
            here_partial.iter().copied().filter(|&a| to.split_by(a).is_none()).collect();
        for axes in [&here_partial, &plain] {
            if !axes.is_empty() {
                let kind = CollectiveKind::Allreduce(combine);
                out.push(Collective { kind, axes: axes.clone() });
            }
        }
        for (axis, run) in wanted(here, to) {
            for length in 1..=run.len() {
                if run[..length].iter().all(|a| here_partial.contains(a)) {
                    let kind = CollectiveKind::Reducescatter(combine, axis);
                    out.push(Collective { kind, axes: run[..length].to_vec() });
                }
            }
        }
    }
    for (axis, run) in wanted(here, to) {
        for length in 1..=run.len() {
            let axes = run[..length].to_vec();
            let is_free =
                axes.iter().all(|&a| here.split_by(a).is_none() && here.partial_over(a).is_none());
            if is_free {
                out.push(Collective { kind: CollectiveKind::Allsplit(axis), axes });
            }
        }
    }
    for i in 0..here.rank() {
        let source = TensorAxis::new(i);
        let list = here.split(source);
        let kept = list.iter().zip(to.split(source)).take_while(|(a, b)| a == b).count();
        for begin in kept..list.len() {
            let axes = list[begin..].to_vec();
            for (target, run) in wanted(here, to) {
                if target != source && run.starts_with(&axes) {
                    let kind = CollectiveKind::Alltoall(source, target);
                    out.push(Collective { kind, axes: axes.clone() });
                }
            }
            out.push(Collective { kind: CollectiveKind::Allgather(source), axes });
        }
    }
    out
}

/// For every dimension whose present split is a beginning of the wanted one: the axes still to
/// come, in order.
fn wanted<'t>(here: &TensorLayout, to: &'t TensorLayout) -> Vec<(TensorAxis, &'t [MeshAxis])> {
    (0..here.rank())
        .map(TensorAxis::new)
        .filter_map(|axis| {
            let run = to.split(axis).strip_prefix(here.split(axis))?;
            (!run.is_empty()).then_some((axis, run))
        })
        .collect()
}
