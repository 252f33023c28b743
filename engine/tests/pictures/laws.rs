//! Laws of every picture, on random meshes, shapes and legal layouts.

use crate::say::is_slice;
use meshwork_engine::index::{Idx as _, MeshAxis, TensorAxis};
use meshwork_engine::layout::dims::{Dimension, Shape};
use meshwork_engine::layout::mesh::{MAX_MESH_DIMS, MAX_PROCESSORS, Mesh, MeshDim};
use meshwork_engine::layout::tensor::{Combine, TensorLayout};
use meshwork_engine::picture::curve::{self, Chart, Series};
use meshwork_engine::picture::geometry::Bounds;
use meshwork_engine::picture::mesh as mesh_picture;
use meshwork_engine::picture::scene::{Form, Scene, Tone};
use meshwork_engine::picture::svg::{Style, draw};
use meshwork_engine::picture::tensor::Sliced;
use proptest::prelude::*;
use std::collections::BTreeMap;

const MOST_MARKS: usize = 3000;

fn mesh_of(sizes: &[u64]) -> Mesh {
    let dim = |(i, &size): (usize, &u64)| MeshDim { name: format!("mesh{i}").into(), size };
    Mesh::new(sizes.iter().enumerate().map(dim).collect()).unwrap()
}

/// What holds for every scene.
pub(crate) fn check_scene(scene: &Scene) -> Result<(), TestCaseError> {
    let Scene { width, height, .. } = *scene;
    prop_assert!(width.is_finite() && height.is_finite() && width > 0.0 && height > 0.0);
    prop_assert!(scene.marks.len() <= MOST_MARKS, "{} marks", scene.marks.len());
    prop_assert!(!scene.title.is_empty() && scene.description.ends_with('.'));
    let mut texts: Vec<(Bounds, &str)> = Vec::new();
    for mark in &scene.marks {
        let b = mark.form.bounds();
        let all = [b.left, b.top, b.right, b.bottom];
        prop_assert!(all.iter().all(|v| v.is_finite()), "{mark:?}");
        let inside = b.left >= 0.0 && b.top >= 0.0 && b.right <= width && b.bottom <= height;
        prop_assert!(inside, "{mark:?} in {width} × {height}");
        if let Form::Text { text, .. } = &mark.form {
            texts.push((b, text));
        }
    }
    for (i, (a, text)) in texts.iter().enumerate() {
        if let Some((_, other)) = texts[..i].iter().find(|(b, _)| b.overlaps(a)) {
            prop_assert!(false, "“{text}” overlaps “{other}” in {}", scene.title);
        }
    }
    for row in &scene.table.rows {
        prop_assert_eq!(row.len(), scene.table.head.len());
    }
    let svg = draw(scene, &Style::default());
    prop_assert!(!svg.contains("NaN") && !svg.contains("inf"));
    prop_assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    Ok(())
}

/// A mesh, a shape and a legal layout: per mesh dimension a choice of what it does.
fn cases() -> impl Strategy<Value = (Mesh, Shape, TensorLayout)> {
    let sizes = prop::collection::vec(prop_oneof![4 => 1..=4_u64, 1 => 5..=12_u64], 0..=5);
    (sizes, 0..=6_usize).prop_flat_map(|(sizes, rank)| {
        let choices = prop::collection::vec(0..rank + 3, sizes.len());
        let blocks = prop::collection::vec(prop_oneof![1..=9_u64, Just(1000)], rank);
        (Just(sizes), choices, blocks).prop_map(|(sizes, choices, blocks)| {
            let mesh = mesh_of(&sizes);
            let mut split = vec![Vec::new(); blocks.len()];
            let mut partial = Vec::new();
            for (i, &choice) in choices.iter().enumerate() {
                let axis = MeshAxis::new(i);
                match choice.checked_sub(blocks.len()) {
                    None => split[choice].push(axis),
                    Some(0) => partial.push((axis, Combine::Sum)),
                    Some(_) => {}
                }
            }
            let dims = blocks.iter().zip(&split).enumerate().map(|(i, (&block, axes))| {
                Dimension::new(format!("dim{i}"), block * mesh.group_size(axes))
            });
            let shape = Shape::new(dims.collect()).unwrap();
            let layout = TensorLayout::new(split, partial, &shape, &mesh).unwrap();
            (mesh, shape, layout)
        })
    })
}

/// Sizes of mesh dimensions, no more than a mesh may have.
fn mesh_sizes() -> impl Strategy<Value = Vec<u64>> {
    let size = prop_oneof![6 => 1..=4_u64, 2 => 5..=40_u64, 1 => Just(300_u64)];
    prop::collection::vec(size, 0..=MAX_MESH_DIMS).prop_map(|mut sizes| {
        while sizes.iter().product::<u64>() > MAX_PROCESSORS {
            sizes.pop();
        }
        sizes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn tensors((mesh, shape, layout) in cases()) {
        let scene = Sliced::new("w", &shape, &layout, &mesh).scene();
        check_scene(&scene)?;

        let parts: Vec<u64> = layout.splits().iter().map(|a| mesh.group_size(a)).collect();
        let slices: u64 = parts.iter().product();
        prop_assert_eq!(scene.table.rows.len() as u64, slices.min(256));

        // By holders: one hue per slice, and one label.
        let mut drawn: BTreeMap<Vec<u32>, u8> = BTreeMap::new();
        for mark in scene.marks.iter().filter(|m| is_slice(m.tone)) {
            let holders: Vec<u32> = mark.pnums.iter().map(|p| p.0).collect();
            let hue = mark.tone.hue().unwrap();
            prop_assert_eq!(*drawn.entry(holders).or_insert(hue), hue, "equal slices, equal hue");
        }
        let labels = scene.marks.iter().filter(|m| m.tone == Tone::Label).count();
        prop_assert_eq!(labels, drawn.len(), "a label per slice");

        // The holders of a slice are those whose blocks are equal, and nobody holds two slices.
        let mut seen: Vec<u32> = Vec::new();
        for holders in drawn.keys() {
            let blocks = |p: u32| layout.blocks(&mesh, meshwork_engine::index::Pnum(p));
            prop_assert!(holders.iter().all(|&p| blocks(p) == blocks(holders[0])));
            seen.extend(holders.iter().copied());
        }
        seen.sort_unstable();
        let all = seen.len();
        seen.dedup();
        prop_assert_eq!(all, seen.len(), "nobody holds two slices");
        let left_out = scene.description.contains("drawn.");
        prop_assert_eq!(left_out, drawn.len() < slices as usize, "{}", scene.description);
        if !left_out {
            prop_assert_eq!(all as u64, mesh.processors(), "everybody holds one");
        }

        let hatched = scene.marks.iter().any(|m| matches!(m.tone, Tone::Partial(_)));
        prop_assert_eq!(hatched, !layout.is_settled());
        prop_assert_eq!(scene.title.contains("pending"), hatched);
    }

    #[test]
    fn neighbours_differ(down in 1..=16_u64, across in 1..=16_u64) {
        let mesh = mesh_of(&[down, across]);
        let shape = Shape::new(vec![Dimension::new("a", down), Dimension::new("b", across)]).unwrap();
        let split = vec![vec![MeshAxis::new(0)], vec![MeshAxis::new(1)]];
        let layout = TensorLayout::new(split, Vec::new(), &shape, &mesh).unwrap();
        prop_assert_eq!(layout.split_by(MeshAxis::new(1)), Some(TensorAxis::new(1)));
        let scene = Sliced::new("w", &shape, &layout, &mesh).scene();
        let faces: Vec<(u32, u8)> = scene
            .marks
            .iter()
            .filter(|m| is_slice(m.tone))
            .map(|m| (m.pnums[0].0, m.tone.hue().unwrap()))
            .collect();
        prop_assert_eq!(faces.len() as u64, down * across);
        let hue = |p: u64| faces.iter().find(|f| u64::from(f.0) == p).unwrap().1;
        for p in 0..down * across {
            if (p + 1) % across != 0 {
                prop_assert_ne!(hue(p), hue(p + 1));
            }
            if p + across < down * across {
                prop_assert_ne!(hue(p), hue(p + across));
            }
        }
    }

    #[test]
    fn meshes(sizes in mesh_sizes()) {
        let mesh = mesh_of(&sizes);
        let scene = mesh_picture::scene(&mesh);
        check_scene(&scene)?;
        let drawn: Vec<_> = scene.marks.iter().filter(|m| m.tone == Tone::Processor).collect();
        for mark in &drawn {
            let named = format!("processor {}: ", mark.pnums[0].0);
            prop_assert!(mark.tip.as_ref().unwrap().starts_with(&named));
        }
        let mut pnums: Vec<u32> = drawn.iter().map(|m| m.pnums[0].0).collect();
        pnums.sort_unstable();
        pnums.dedup();
        prop_assert_eq!(pnums.len(), drawn.len(), "each once");
        let last = u64::from(*pnums.last().unwrap());
        prop_assert_eq!((u64::from(pnums[0]), last), (0, mesh.processors() - 1));
        let left_out = scene.description.contains("drawn.");
        prop_assert_eq!(left_out, (drawn.len() as u64) < mesh.processors());
    }

    #[test]
    fn curves(series in prop::collection::vec(prop::collection::vec(any::<f64>(), 0..700), 0..5)) {
        let series: Vec<Series> = (0..)
            .zip(series)
            .map(|(i, ys)| Series {
                name: format!("series {i}"),
                points: (0_u32..).map(f64::from).zip(ys).collect(),
            })
            .collect();
        let scene = curve::scene(&series, &Chart::new("Loss", "step", "loss"));
        check_scene(&scene)?;
        prop_assert_eq!(scene.table.head.len(), series.len() + 1);
        for s in &series {
            let named = scene.description.contains(&format!(" {}:", s.name));
            prop_assert!(named, "{}", scene.description);
        }
    }
}

#[test]
fn the_largest_mesh_is_drawn_at_once() {
    let mesh = mesh_of(&[1 << 10, 1 << 10]);
    check_scene(&mesh_picture::scene(&mesh)).unwrap();
    let shape =
        Shape::new(vec![Dimension::new("a", 1 << 10), Dimension::new("b", 1 << 10)]).unwrap();
    let split = vec![vec![MeshAxis::new(0)], vec![MeshAxis::new(1)]];
    let layout = TensorLayout::new(split, Vec::new(), &shape, &mesh).unwrap();
    check_scene(&Sliced::new("w", &shape, &layout, &mesh).scene()).unwrap();
    let whole = TensorLayout::replicated(2);
    let scene = Sliced::new("w", &shape, &whole, &mesh).scene();
    check_scene(&scene).unwrap();
    assert_eq!(scene.table.rows[0][3], "0–1048575");
}
