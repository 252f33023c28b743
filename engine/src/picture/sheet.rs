//! Several scenes on one sheet, each under its title.

use super::draft::{Draft, Words, arrange};
use super::geometry::text_width;
use super::scene::{Align, Scene, Table, Tone};

/// Font size of captions.
const CAPTION: f64 = 13.0;

/// A caption is broken into lines about as wide as its picture, but not narrower than this.
const LEAST_WIDTH: f64 = 240.0;

/// The scenes in rows of at most `columns`, each with its title as caption above it. `title` is
/// that of the sheet. The twin has one row per row of each scene's table.
pub fn compose(title: &str, scenes: &[Scene], columns: usize) -> Scene {
    let boards: Vec<Draft> = scenes.iter().map(board).collect();
    let across = columns.clamp(1, scenes.len().max(1));
    let draft = arrange(boards, across, 28.0);
    let description: Vec<String> = scenes.iter().map(|s| s.description.clone()).collect();
    let rows = scenes.iter().flat_map(|s| s.table.rows.iter().map(|row| flat_row(s, row)));
    let table = Table {
        caption: title.to_owned(),
        head: vec!["picture".to_owned(), "row".to_owned()],
        rows: rows.collect(),
    };
    draft.finish(Words { title: title.to_owned(), description: description.join(" "), table })
}

/// A scene with its caption.
fn board(scene: &Scene) -> Draft {
    let mut board = Draft::new();
    let wide = scene.width.max(LEAST_WIDTH);
    let lines = broken(&scene.title, wide);
    for (i, line) in lines.iter().enumerate() {
        let y = (i as f64 + 0.5) * CAPTION * 1.35;
        board.text(Tone::Label, (0.0, y), CAPTION, Align::Start, line);
    }
    let mut picture = Draft::new();
    for mark in &scene.marks {
        picture.add(mark.clone());
    }
    board.place(picture, 0.0, lines.len() as f64 * CAPTION * 1.35 + 2.0);
    board
}

/// A text in lines of at most `width`, broken at spaces.
fn broken(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, CAPTION) + text_width(word, CAPTION) < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `batch: 0..4; processors: 0, 2`.
fn flat_row(scene: &Scene, row: &[String]) -> Vec<String> {
    let cells = scene.table.head.iter().zip(row).map(|(head, cell)| format!("{head}: {cell}"));
    let cells: Vec<String> = cells.collect();
    vec![scene.title.clone(), cells.join("; ")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::mesh::Mesh;
    use crate::picture::mesh;

    #[test]
    fn captions_break_at_spaces() {
        assert_eq!(broken("a bb ccc", 4.0 * 0.6 * CAPTION + 0.1), ["a bb", "ccc"]);
        assert_eq!(broken("", 100.0), Vec::<String>::new());
    }

    #[test]
    fn a_sheet_holds_all_marks_and_rows() {
        let one = mesh::scene(&Mesh::default());
        let sheet = compose("two", &[one.clone(), one.clone()], 5);
        assert_eq!(sheet.marks.len(), 2 * (one.marks.len() + 1));
        assert_eq!(sheet.table.rows.len(), 2);
        assert_eq!(sheet.table.rows[0], ["one processor", "processor: 0"]);
        assert!(sheet.width > one.width);
        let empty = compose("none", &[], 0);
        assert!(empty.width > 0.0 && empty.marks.is_empty());
    }
}
