//! The facts of Figures 2–5 of the paper, from `tests/data/figures.txt`, against the scenes.

use crate::say::{is_slice, tensor};
use meshwork_engine::picture::scene::{Form, Scene};

const FIGURES: &str = include_str!("../data/figures.txt");

/// One tensor of one figure: what is said of it.
struct Fact {
    figure: String,
    mesh: String,
    layout: String,
    name: String,
    dims: String,
    /// Holders of each slice, rows of columns.
    slices: Vec<Vec<Vec<u32>>>,
}

fn facts() -> Vec<Fact> {
    let mut tensors = Vec::new();
    let mut figure = Vec::new();
    let mut facts = Vec::new();
    for line in FIGURES.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap();
        match word {
            "tensor" => tensors.push(rest.split_once(' ').unwrap()),
            "figure" => figure = rest.split(';').map(|part| part.trim().to_owned()).collect(),
            name => {
                let numbers =
                    |cell: &str| cell.trim().split(',').map(|n| n.parse().unwrap()).collect();
                let row = |row: &str| row.split('|').map(numbers).collect();
                facts.push(Fact {
                    figure: figure[0].clone(),
                    mesh: figure[1].clone(),
                    layout: figure[2].clone(),
                    name: name.to_owned(),
                    dims: tensors.iter().find(|t| t.0 == name).unwrap().1.to_owned(),
                    slices: rest.split('/').map(row).collect(),
                });
            }
        }
    }
    facts
}

/// The slices as drawn, rows of columns by their places, each with the holders its mark names.
fn drawn(scene: &Scene) -> Vec<Vec<Vec<u32>>> {
    let mut cells: Vec<(f64, f64, Vec<u32>)> = Vec::new();
    for mark in scene.marks.iter().filter(|m| is_slice(m.tone)) {
        let Form::Rect { x, y, .. } = mark.form else { panic!("a slice of a matrix is a rect") };
        cells.push((y, x, mark.pnums.iter().map(|p| p.0).collect()));
    }
    cells.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let rows = cells.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    rows.map(|row| row.iter().map(|cell| cell.2.clone()).collect()).collect()
}

#[test]
fn there_are_five_figures_of_five_tensors() {
    assert_eq!(facts().len(), 25);
}

#[test]
fn slices_are_cut_and_held_as_in_the_paper() {
    for fact in facts() {
        let scene = tensor(&fact.name, &fact.dims, &fact.layout, &[], &fact.mesh);
        let place = format!("figure {}, tensor {}", fact.figure, fact.name);
        assert_eq!(drawn(&scene), fact.slices, "{place}");
    }
}

#[test]
fn the_table_and_the_labels_say_the_same() {
    for fact in facts() {
        let scene = tensor(&fact.name, &fact.dims, &fact.layout, &[], &fact.mesh);
        let place = format!("figure {}, tensor {}", fact.figure, fact.name);
        let sizes: Vec<u64> =
            fact.dims.split(' ').map(|d| d.split_once(':').unwrap().1.parse().unwrap()).collect();
        let (rows, cols) = (fact.slices.len() as u64, fact.slices[0].len() as u64);
        let (down, across) = (sizes[0] / rows, sizes[1] / cols);
        let mut expected = Vec::new();
        for (r, row) in (0..).zip(&fact.slices) {
            for (c, holders) in (0..).zip(row) {
                let holders: Vec<String> = holders.iter().map(u32::to_string).collect();
                // Four in a row are written as a range.
                let holders = holders.join(", ").replace("0, 1, 2, 3", "0–3");
                expected.push([
                    format!("({r}, {c})"),
                    format!("{}..{}", r * down, (r + 1) * down),
                    format!("{}..{}", c * across, (c + 1) * across),
                    holders,
                    "final".to_owned(),
                ]);
            }
        }
        assert_eq!(scene.table.rows, expected, "{place}");
        let mut labels: Vec<String> =
            expected.iter().map(|row| row[3].replace(", ", ",")).collect();
        let label = |form: &Form| match form {
            Form::Text { text, .. } => labels.iter().position(|l| l == text),
            Form::Rect { .. } | Form::Polygon(_) | Form::Line(_) => None,
        };
        let found: Vec<usize> = scene.marks.iter().filter_map(|m| label(&m.form)).collect();
        assert_eq!(found.len(), labels.len(), "{place}: {labels:?}");
        labels.dedup();
        assert_eq!(labels.len(), expected.len(), "{place}: each slice has holders of its own");
    }
}
