//! Several scenes on one sheet, each under its title.

use super::draft::{Draft, Words, arrange};
use super::geometry::{Bounds, text_width};
use super::scene::{Align, Scene, Table, Tone};

/// Font size of captions.
const CAPTION: f64 = 13.0;

/// A caption is broken into lines about as wide as its picture, but not narrower than this.
const LEAST_WIDTH: f64 = 240.0;

/// The scenes in rows of at most `columns`, each with its title as caption above it. `title` is
/// that of the sheet. The twin has one row per row of each scene's table.
pub fn compose(title: &str, scenes: &[Scene], columns: usize) -> Scene {
    let across = columns.clamp(1, scenes.len().max(1));
    let captions: Vec<Vec<String>> =
        scenes.iter().map(|s| broken(&s.title, s.width.max(LEAST_WIDTH))).collect();
    // Pictures of a row begin at one height, under the longest of their captions.
    let lines: Vec<usize> =
        captions.chunks(across).map(|row| row.iter().map(Vec::len).max().unwrap_or(0)).collect();
    let boards = scenes.iter().zip(&captions).enumerate();
    let boards: Vec<Draft> =
        boards.map(|(i, (scene, caption))| board(scene, caption, lines[i / across])).collect();
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

/// A scene with its caption, which takes the room of `lines` lines.
fn board(scene: &Scene, caption: &[String], lines: usize) -> Draft {
    const LINE: f64 = CAPTION * 1.35;
    let mut board = Draft::new();
    for (i, line) in caption.iter().enumerate() {
        let at = (0.0, (i as f64 + 0.5) * LINE);
        board.text(Tone::Label, at, CAPTION, Align::Start, line);
    }
    let mut picture = Draft::new();
    for mark in &scene.marks {
        picture.add(mark.clone());
    }
    let Bounds { left, top, .. } = picture.bounds();
    board.place(picture, -left, lines as f64 * LINE + 8.0 - top);
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
