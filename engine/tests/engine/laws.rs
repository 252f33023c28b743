//! Laws of the layout algebra, as properties.

use crate::common::study;
use meshwork_engine::index::{MeshAxis, Pnum};
use meshwork_engine::layout::dims::{Dimension, Shape};
use meshwork_engine::layout::mesh::{Mesh, MeshDim};
use meshwork_engine::layout::tensor::{Combine, TensorLayout};
use meshwork_engine::spmd::collective::{CollectiveKind, Part};
use meshwork_engine::spmd::relayout::relayout;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SIZES: [u64; 4] = [12, 24, 8, 6];

fn mesh() -> impl Strategy<Value = Mesh> {
    proptest::collection::vec(1_u64..4, 0..4).prop_map(|sizes| {
        let dims = sizes
            .iter()
            .enumerate()
            .map(|(i, &size)| MeshDim { name: format!("m{i}").into(), size });
        Mesh::new(dims.collect()).unwrap()
    })
}

fn shape(rank: usize) -> Shape {
    let dims = (0..rank).map(|i| Dimension::new(format!("d{i}"), SIZES[i]));
    Shape::new(dims.collect()).unwrap()
}

/// A mesh, a shape, and where each mesh axis goes: a tensor axis, partial, or nowhere.
fn placed() -> impl Strategy<Value = (Mesh, Shape, Vec<usize>, Vec<usize>)> {
    (mesh(), 0_usize..5).prop_flat_map(|(mesh, rank)| {
        let places = || proptest::collection::vec(0..rank + 2, mesh.dims().len());
        (Just(mesh.clone()), Just(shape(rank)), places(), places())
    })
}

/// The layout with each mesh axis at its place; `partial` says whether pending sums are allowed.
fn layout(mesh: &Mesh, shape: &Shape, places: &[usize], partial: bool) -> Option<TensorLayout> {
    let mut split = vec![Vec::new(); shape.rank()];
    let mut pending = Vec::new();
    for (i, &place) in places.iter().enumerate() {
        let axis = MeshAxis(i as u8);
        if place < shape.rank() {
            split[place].push(axis);
        } else if partial && place == shape.rank() {
            pending.push((axis, Combine::Sum));
        }
    }
    TensorLayout::new(split, pending, shape, mesh).ok()
}

/// The numbers of every processor for a whole tensor under a layout; partial values are random
/// summands of it.
fn scatter(mesh: &Mesh, shape: &Shape, layout: &TensorLayout, salt: f64) -> Vec<Vec<f64>> {
    let sizes = layout.slice_sizes(shape, mesh);
    let whole: Vec<u64> = shape.dims().iter().map(|d| d.size).collect();
    let shares = mesh.group_size(&layout.partial().iter().map(|p| p.0).collect::<Vec<_>>());
    mesh.pnums()
        .map(|pnum| {
            let begin = layout.slice_begin(shape, mesh, pnum);
            // The first of the summands holds the rest of what the others made up.
            let is_first = layout.partial().iter().all(|p| mesh.coord(pnum, p.0) == 0);
            let count: u64 = sizes.iter().product();
            (0..count)
                .map(|mut i| {
                    let (mut index, mut stride) = (0, 1);
                    for axis in (0..sizes.len()).rev() {
                        index += (i % sizes[axis] + begin[axis]) * stride;
                        i /= sizes[axis];
                        stride *= whole[axis];
                    }
                    let value = index as f64;
                    let odd = salt + (index % 7) as f64;
                    if shares == 1 {
                        value
                    } else if is_first {
                        value - odd * (shares - 1) as f64
                    } else {
                        odd
                    }
                })
                .collect()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn pnum_and_coordinates_are_inverse(mesh in mesh()) {
        for p in mesh.pnums() {
            prop_assert_eq!(mesh.pnum(&mesh.coords(p)), Some(p));
        }
        let mut beyond: Vec<u64> = mesh.dims().iter().map(|d| d.size).collect();
        if !beyond.is_empty() {
            prop_assert_eq!(mesh.pnum(&beyond), None);
        }
        beyond.push(0);
        prop_assert_eq!(mesh.pnum(&beyond), None);
    }

    #[test]
    fn groups_partition_the_mesh(mesh in mesh(), picks in any::<u8>()) {
        let axes: Vec<MeshAxis> = mesh.axes().filter(|a| picks >> a.0 & 1 == 1).collect();
        let groups = mesh.groups(&axes);
        let mut all: Vec<Pnum> = groups.iter().flatten().copied().collect();
        all.sort_unstable();
        prop_assert_eq!(all, mesh.pnums().collect::<Vec<_>>());
        for group in groups {
            prop_assert_eq!(group.len() as u64, mesh.group_size(&axes));
            let outside = |p: Pnum| {
                mesh.axes().filter(|a| !axes.contains(a)).map(|a| mesh.coord(p, a)).collect::<Vec<_>>()
            };
            prop_assert!(group.iter().all(|&p| outside(p) == outside(group[0])));
            prop_assert!(group.is_sorted());
        }
    }

    #[test]
    fn slices_tile_the_tensor((mesh, shape, places, _) in placed()) {
        let Some(layout) = layout(&mesh, &shape, &places, false) else { return Ok(()) };
        let mut holders: BTreeMap<u64, u64> = BTreeMap::new();
        for slice in scatter(&mesh, &shape, &layout, 0.0) {
            for index in slice {
                *holders.entry(index as u64).or_default() += 1;
            }
        }
        let replicas = mesh.group_size(&layout.replicated_over(&mesh));
        prop_assert_eq!(holders.len() as u64, shape.elements());
        prop_assert!(holders.values().all(|&n| n == replicas));
    }

    #[test]
    fn relayout_leads_there_and_back((mesh, shape, here, there) in placed()) {
        let (Some(a), Some(b)) = (layout(&mesh, &shape, &here, true), layout(&mesh, &shape, &there, false))
        else { return Ok(()) };
        let mut slices = scatter(&mesh, &shape, &a, 3.0);
        for (from, to) in [(&a, &b), (&b, &a.settled()), (&a.settled(), &b)] {
            let mut at = from.clone();
            for step in relayout(from, to, &shape, &mesh) {
                let sizes = at.slice_sizes(&shape, &mesh);
                let next = step.retype(&at, &shape, &mesh).unwrap();
                let length = next.slice_elements(&shape, &mesh) as usize;
                let mut results = vec![Vec::new(); slices.len()];
                for group in mesh.groups(&step.axes) {
                    let members: Vec<&[f64]> = group.iter().map(|p| &slices[p.0 as usize][..]).collect();
                    prop_assert_eq!(
                        step.output_elements(group.len() as u64, members[0].len() as u64),
                        length as u64
                    );
                    for (me, p) in group.iter().enumerate() {
                        // In two parts, as tasks would.
                        let mut out = vec![f64::NAN; length];
                        let (first, second) = out.split_at_mut(length / 3);
                        step.apply(&members, &sizes, Part { me, start: 0, out: first }, |x, y| x + y, |x| x);
                        step.apply(&members, &sizes, Part { me, start: length / 3, out: second }, |x, y| x + y, |x| x);
                        results[p.0 as usize] = out;
                    }
                }
                slices = results;
                at = next;
            }
            prop_assert_eq!(&at, to);
            prop_assert_eq!(&slices, &scatter(&mesh, &shape, to, 0.0));
        }
    }

    #[test]
    fn a_relayout_is_never_dearer_than_gathering_all((mesh, shape, here, there) in placed()) {
        let (Some(a), Some(b)) = (layout(&mesh, &shape, &here, false), layout(&mesh, &shape, &there, false))
        else { return Ok(()) };
        let whole = TensorLayout::replicated(shape.rank());
        let sent = |from: &TensorLayout, to: &TensorLayout| {
            meshwork_engine::spmd::relayout::plan(from, to, &shape, &mesh).1.sent
        };
        prop_assert!(sent(&a, &b) <= sent(&a, &whole) + sent(&whole, &b));
        prop_assert_eq!(sent(&whole, &b), 0);
        prop_assert!(relayout(&a, &a, &shape, &mesh).is_empty());
    }
}

/// The table of design: one mesh dimension, one change, one collective.
#[test]
fn the_table_of_relayouts() {
    let mesh = Mesh::new(vec![MeshDim { name: "m".into(), size: 2 }]).unwrap();
    let shape = shape(2);
    let m = MeshAxis(0);
    let make = |i: Option<usize>, partial: bool| {
        let mut split = vec![Vec::new(); 2];
        if let Some(i) = i {
            split[i].push(m);
        }
        let pending = if partial { vec![(m, Combine::Sum)] } else { vec![] };
        TensorLayout::new(split, pending, &shape, &mesh).unwrap()
    };
    let kinds = |from: TensorLayout, to: TensorLayout| -> Vec<&'static str> {
        relayout(&from, &to, &shape, &mesh).iter().map(|c| c.kind.name()).collect()
    };
    let (whole, rows, cols, partial) =
        (make(None, false), make(Some(0), false), make(Some(1), false), make(None, true));
    assert_eq!(kinds(whole.clone(), rows.clone()), ["allsplit"]);
    assert_eq!(kinds(rows.clone(), whole.clone()), ["allgather"]);
    assert_eq!(kinds(rows.clone(), cols.clone()), ["alltoall"]);
    assert_eq!(kinds(partial.clone(), whole), ["allreduce"]);
    assert_eq!(kinds(partial.clone(), rows), ["reducescatter"]);
    assert_eq!(kinds(partial, cols), ["reducescatter"]);
}

/// Two mesh dimensions that swap places; and one kind over two axes is one collective.
#[test]
fn swaps_and_product_groups() {
    let mesh = Mesh::new(vec![
        MeshDim { name: "m".into(), size: 2 },
        MeshDim { name: "n".into(), size: 2 },
    ])
    .unwrap();
    let shape = shape(2);
    let (m, n) = (MeshAxis(0), MeshAxis(1));
    let make = |split: Vec<Vec<MeshAxis>>, partial: Vec<MeshAxis>| {
        let partial = partial.into_iter().map(|a| (a, Combine::Sum)).collect();
        TensorLayout::new(split, partial, &shape, &mesh).unwrap()
    };
    let swap = relayout(
        &make(vec![vec![m], vec![n]], vec![]),
        &make(vec![vec![n], vec![m]], vec![]),
        &shape,
        &mesh,
    );
    let alltoalls = swap.iter().filter(|c| matches!(c.kind, CollectiveKind::Alltoall(..))).count();
    assert!(alltoalls < 2, "{swap:?}");
    let both = relayout(
        &make(vec![vec![], vec![]], vec![m, n]),
        &make(vec![vec![], vec![]], vec![]),
        &shape,
        &mesh,
    );
    assert_eq!(both.len(), 1);
    assert_eq!(both[0].axes, [m, n]);
    let gather = relayout(
        &make(vec![vec![m, n], vec![]], vec![]),
        &make(vec![vec![], vec![]], vec![]),
        &shape,
        &mesh,
    );
    assert_eq!(gather.len(), 1);
    let scatter = relayout(
        &make(vec![vec![], vec![]], vec![m, n]),
        &make(vec![vec![m, n], vec![]], vec![]),
        &shape,
        &mesh,
    );
    assert_eq!(scatter.len(), 1);
    assert!(matches!(scatter[0].kind, CollectiveKind::Reducescatter(..)));
}

/// What all processors compute together is what one alone would, as often as the duplication says;
/// a tensor says along which mesh dimensions.
#[test]
fn work_that_is_repeated_is_counted() {
    let model = "dims a:4 k:4 b:8\ninput x[a k], y[k b]\nz = einsum(x, y -> a b)\nloss = sum(z)";
    let alone = study(model).totals().unwrap();
    assert_eq!(alone.duplication, 1.0);
    for (layout, times, along) in [
        ("mesh r:2 c:2\nlayout a:r b:c", 1.0, &[][..]),
        ("mesh r:2 c:2\nlayout a:r", 2.0, &["c"]),
        ("mesh r:2 c:4\nlayout b:r", 4.0, &["c"]),
        ("mesh r:2 c:2\nlayout a:r+c", 1.0, &[]),
        // A sum over a split dimension shares its work, too.
        ("mesh r:2 c:2\nlayout k:r", 2.0, &["c"]),
        ("mesh r:2 c:2", 4.0, &["r", "c"]),
    ] {
        let study = study(&format!("{layout}\n{model}"));
        let z = study.tensors().into_iter().find(|t| &*t.name == "z").unwrap();
        let names: Vec<&str> = z.repeated.iter().map(|&m| &*study.mesh().dim(m).name).collect();
        assert_eq!(names, along, "{layout}");
        let totals = study.totals().unwrap();
        let of_all = totals.flops_per_processor * study.mesh().processors() as f64;
        assert!((totals.duplication - times).abs() < 1e-9, "{layout}: {totals:?}");
        // Each of two adds up what it has of a pending sum.
        let pending = if z.partial.is_empty() { 0.0 } else { z.shape.elements() as f64 };
        let needed = of_all / totals.duplication - pending;
        assert!((needed - alone.flops_per_processor).abs() < 1e-9, "{layout}: {totals:?}");
    }
}
