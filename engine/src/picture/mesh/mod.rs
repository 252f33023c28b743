//! The mesh as a picture: its processors with their serial numbers, in up to three dimensions.
//!
//! ```text
//!              cols 3 →               one dimension   a line, wrapped when long
//!              0   1   2              two             a grid
//!   rows 2  0 [0]─[1]─[2]             three           planes behind each other (small ones),
//!     ↓     1 [3]─[4]─[5]                             else a row of grids
//!                                     four and more   a grid of smaller meshes
//! ```
//!
//! A large mesh is drawn in small cells, a very large one by its first processors and its last
//! along each dimension; the description says so.

mod flat;
mod lattice;

use super::draft::{Draft, Words, arrange, rect};
use super::elide::{self, Slot};
use super::geometry::text_width;
use super::scene::{Align, Mark, Scene, Table, Tone};
use super::words;
use crate::index::Pnum;
use crate::layout::mesh::Mesh;
use std::fmt::Write as _;

/// More processors than this are drawn in small cells without links.
const SPACIOUS: u64 = 64;

/// The most processors drawn.
const MOST_DRAWN: u64 = 1024;

/// The most processors drawn along a dimension, and the most smaller meshes.
const ALONG: u64 = 32;
const PANELS: u64 = 64;

/// The longest side of a mesh whose planes are drawn behind each other.
const LATTICE_SIDE: u64 = 4;

/// How wide a row of smaller meshes may become before it wraps.
const ROW_WIDTH: f64 = 900.0;

/// How processors are drawn: size of a cell, of its number, and whether there is room for links.
#[derive(Debug, Clone, Copy)]
struct Cell {
    width: f64,
    height: f64,
    font: f64,
    /// Room between two cells; links are drawn in it.
    gap: f64,
    spacious: bool,
}

impl Cell {
    fn of(mesh: &Mesh) -> Self {
        let processors = mesh.processors();
        let longest = (processors - 1).to_string();
        if processors <= SPACIOUS {
            let font = 14.0;
            let width = (text_width(&longest, font) + 16.0).max(36.0);
            Self { width, height: 32.0, font, gap: 14.0, spacious: true }
        } else {
            let font = 10.0;
            let width = text_width(&longest, font) + 8.0;
            Self { width, height: 17.0, font, gap: 2.0, spacious: false }
        }
    }

    /// Distance of neighbours across and down.
    fn pitch(&self) -> (f64, f64) {
        (self.width + self.gap, self.height + self.gap)
    }
}

/// What of a mesh is drawn.
struct Plan {
    /// How many leading dimensions go over smaller meshes.
    outer: usize,
    /// How many smaller meshes there are.
    panels: u64,
    panels_shown: u64,
    /// How many processors are drawn along each inner dimension.
    shown: Vec<u64>,
}

impl Plan {
    fn new(mesh: &Mesh) -> Self {
        let sizes: Vec<u64> = mesh.dims().iter().map(|d| d.size).collect();
        let rank = sizes.len();
        let last_three = &sizes[rank.saturating_sub(3)..];
        let small = last_three.iter().all(|s| *s <= LATTICE_SIDE);
        let lattice = rank >= 3 && small && mesh.processors() <= SPACIOUS;
        let outer = rank.saturating_sub(if lattice { 3 } else { 2 });
        let panels = sizes[..outer].iter().product();
        let parts: Vec<u64> = [panels].iter().chain(&sizes[outer..]).copied().collect();
        let along = if rank == 1 { MOST_DRAWN } else { ALONG };
        let caps: Vec<u64> = [PANELS, along, along, along][..parts.len()].to_vec();
        let mut shown = elide::shown(&parts, &caps, MOST_DRAWN);
        let panels_shown = shown.remove(0);
        Self { outer, panels, panels_shown, shown }
    }

    fn is_complete(&self, mesh: &Mesh) -> bool {
        let drawn = self.shown.iter().product::<u64>() * self.panels_shown;
        drawn == mesh.processors()
    }
}

/// The picture of a mesh.
pub fn scene(mesh: &Mesh) -> Scene {
    let plan = Plan::new(mesh);
    let cell = Cell::of(mesh);
    let draft =
        if plan.outer == 0 { inner(mesh, &plan, &cell, &[]) } else { panels(mesh, &plan, &cell) };
    draft.finish(words_of(mesh, &plan))
}

/// The picture of the last dimensions at the coordinates `prefix` of the others.
fn inner(mesh: &Mesh, plan: &Plan, cell: &Cell, prefix: &[u64]) -> Draft {
    let dims = &mesh.dims()[plan.outer..];
    let slots = dims.iter().zip(&plan.shown).map(|(d, &shown)| elide::slots(d.size, shown));
    let slots: Vec<Vec<Slot>> = slots.collect();
    let mut board = Board { draft: Draft::new(), mesh, cell, prefix };
    match (slots.as_slice(), dims) {
        ([rows, cols, planes], [row_dim, col_dim, plane_dim]) => {
            let names = [row_dim, col_dim, plane_dim];
            lattice::draw(&mut board, [rows.len(), cols.len(), planes.len()], names);
        }
        ([rows, cols], [row_dim, col_dim]) => {
            // Numbers of rows and columns only where they do not crowd the picture.
            let numbered = plan.panels == 1;
            flat::grid(&mut board, [rows, cols], [row_dim, col_dim], numbered);
        }
        ([line], [dim]) => flat::line(&mut board, line, dim),
        _ => board.processor(&[], (0.0, 0.0)),
    }
    board.draft
}

/// One smaller mesh per coordinates of the leading dimensions.
fn panels(mesh: &Mesh, plan: &Plan, cell: &Cell) -> Draft {
    let leading = &mesh.dims()[..plan.outer];
    let panel = |slot: Slot| {
        let Slot::Block(serial) = slot else {
            let mut draft = Draft::new();
            draft.text(Tone::Elided, (0.0, 0.0), 20.0, Align::Start, "⋯");
            return draft;
        };
        let prefix = elide::coordinates(serial, leading.iter().map(|d| d.size));
        let mut draft = inner(mesh, plan, cell, &prefix);
        let bounds = draft.bounds();
        let named = prefix.iter().zip(leading).map(|(c, d)| format!("{} {c}", d.name));
        let caption: Vec<String> = named.collect();
        draft.note((bounds.left, bounds.top - 14.0), Align::Start, &caption.join(", "));
        draft
    };
    let slots = elide::slots(plan.panels, plan.panels_shown);
    let boards: Vec<Draft> = slots.into_iter().map(panel).collect();
    let width = boards.first().map_or(1.0, |b| b.bounds().width() + 30.0);
    let fit = ((ROW_WIDTH / width) as usize).max(1);
    let last = leading.last().map_or(1, |d| d.size as usize);
    let complete = plan.panels == plan.panels_shown;
    arrange(boards, if complete && last <= fit { last } else { fit }, 30.0)
}

/// A board for one smaller mesh.
#[derive(Debug)]
struct Board<'a> {
    draft: Draft,
    mesh: &'a Mesh,
    cell: &'a Cell,
    prefix: &'a [u64],
}

impl Board<'_> {
    /// The processor at the inner coordinates, its left top corner at `at`.
    fn processor(&mut self, inner: &[u64], at: (f64, f64)) {
        let coords: Vec<u64> = self.prefix.iter().chain(inner).copied().collect();
        let Some(pnum) = self.mesh.pnum(&coords) else { return };
        let Cell { width, height, font, spacious, .. } = *self.cell;
        self.draft.add(Mark {
            form: rect(at.0, at.1, width, height, if spacious { 6.0 } else { 2.0 }),
            tone: Tone::Processor,
            pnums: vec![pnum],
            tip: Some(tip(self.mesh, pnum)),
        });
        let middle = (at.0 + width / 2.0, at.1 + height / 2.0);
        self.draft.text(Tone::Label, middle, font, Align::Middle, &pnum.0.to_string());
    }
}

/// `processor 5: rows 1, cols 0, planes 1`.
fn tip(mesh: &Mesh, pnum: Pnum) -> String {
    let named = mesh.coords(pnum).into_iter().zip(mesh.dims());
    let coords: Vec<String> = named.map(|(c, d)| format!("{} {c}", d.name)).collect();
    if coords.is_empty() {
        return format!("processor {}: the only one", pnum.0);
    }
    format!("processor {}: {}", pnum.0, coords.join(", "))
}

/// Title, description and table.
fn words_of(mesh: &Mesh, plan: &Plan) -> Words {
    let processors = words::count(mesh.processors(), "processor");
    let title = if mesh.dims().is_empty() {
        "one processor".to_owned()
    } else {
        format!("mesh {mesh}, {processors}")
    };
    let mut description = match mesh.dims() {
        [] => "A mesh without dimensions: one processor, number 0.".to_owned(),
        [one] => format!("{processors} along the mesh dimension {}, numbered from 0.", one.name),
        [.., last] => format!(
            "{processors} in the mesh {mesh}, numbered row-major from 0: {} is fastest.",
            last.name
        ),
    };
    // Writing to a String cannot fail.
    for (d, &shown) in mesh.dims()[plan.outer..].iter().zip(&plan.shown) {
        if let Some(drawn) = elide::words(d.size, shown) {
            _ = write!(description, " Along {}, {drawn} of {} are drawn.", d.name, d.size);
        }
    }
    if let Some(drawn) = elide::words(plan.panels, plan.panels_shown) {
        _ = write!(description, " Of the {} smaller meshes, {drawn} are drawn.", plan.panels);
    }
    Words { title, description, table: table(mesh, plan) }
}

/// One row per processor with its coordinates.
fn table(mesh: &Mesh, plan: &Plan) -> Table {
    let mut head = vec!["processor".to_owned()];
    head.extend(mesh.dims().iter().map(|d| d.name.to_string()));
    let all = mesh.processors();
    let complete = plan.is_complete(mesh);
    let listed = if complete { all } else { all.min(MOST_DRAWN) };
    let row = |serial: u64| {
        let pnum = Pnum(serial as u32);
        let coords = mesh.coords(pnum).into_iter().map(|c| c.to_string());
        [pnum.0.to_string()].into_iter().chain(coords).collect()
    };
    let serials = (0..listed).map(|i| if i + 1 == listed { all - 1 } else { i });
    let caption = if listed < all {
        format!("Processors and their coordinates: the first {} and the last of {all}", listed - 1)
    } else {
        "Processors and their coordinates".to_owned()
    };
    Table { caption, head, rows: serials.map(row).collect() }
}
