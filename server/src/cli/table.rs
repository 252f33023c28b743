//! Tables for the terminal: columns as wide as their widest cell, numbers to the right.

use std::io::{self, Write};

/// A table that grows row by row.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// Below each row, a sentence that would make a column too wide.
    notes: Vec<Option<String>>,
}

impl Table {
    /// A table with these heads.
    pub(super) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|&h| h.to_owned()).collect()], notes: vec![None] }
    }

    /// One more row.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
        self.notes.push(None);
    }

    /// A sentence below the last row.
    pub(super) fn note(&mut self, note: &str) {
        if let Some(last) = self.notes.last_mut() {
            *last = Some(note.to_owned());
        }
    }

    /// Writes the table, indented by two.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |c: usize| self.rows.iter().filter_map(move |r| r.get(c));
        let width = |c: usize| cells(c).map(|s| s.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let numeric: Vec<bool> =
            (0..columns).map(|c| cells(c).skip(1).all(|s| is_number(s))).collect();
        for (row, note) in self.rows.iter().zip(&self.notes) {
            let mut line = String::from("  ");
            for (c, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[c] - cell.chars().count());
                let (before, after) = if numeric[c] { (&*pad, "") } else { ("", &*pad) };
                line.extend([before, cell, after, "  "]);
            }
            writeln!(out, "{}", line.trim_end())?;
            for line in note.iter().flat_map(|note| wrapped(note, 92)) {
                writeln!(out, "      {line}")?;
            }
        }
        Ok(())
    }
}

/// A sentence in lines of at most so many characters (a longer word has a line of its own).
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Whether a cell starts as numbers do, units aside.
fn is_number(cell: &str) -> bool {
    cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit())
}

/// A whole number with its thousands apart: `1,234,567`.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Bytes in the unit that suits them: `64 B`, `1.5 KiB`.
pub(super) fn bytes(n: f64) -> String {
    scaled(n, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// A number as people read it: six digits after the point, or in powers of ten.
pub(super) fn real(x: f64) -> String {
    let is_plain = x == 0.0 || (1e-3..1e7).contains(&x.abs());
    if is_plain { format!("{x:.6}") } else { format!("{x:.4e}") }
}

/// Something per second: three digits where it is small.
pub(super) fn rate(x: f64) -> String {
    if x >= 99.5 || x <= 0.0 || !x.is_finite() {
        return grouped(x.round() as u64);
    }
    let digits = (2.0 - x.log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{x:.digits$}")
}

/// The unit of a pipeline's costs as it is printed.
pub(super) fn unit(name: &str) -> &str {
    if name == "flop" { "FLOP" } else { name }
}

/// A count in the unit that suits it: `1.2 GFLOP` for the unit `FLOP`.
pub(super) fn count(n: f64, unit: &str) -> String {
    let number = scaled(n, 1000.0, &["", "k", "M", "G", "T", "P", "E"]);
    format!("{number}{unit}")
}

fn scaled(n: f64, step: f64, units: &[&str]) -> String {
    let mut power = 0;
    let mut n = n;
    // What would be rounded up to 1024 KiB is 1 MiB.
    while n >= step - 0.05 && power + 1 < units.len() {
        n /= step;
        power += 1;
    }
    let digits = usize::from(n.fract() != 0.0);
    format!("{n:.digits$} {}", units[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(123_456), "123,456");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(bytes(64.0), "64 B");
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(bytes(1_048_575.9), "1.0 MiB");
        assert_eq!(count(1_200_000.0, "FLOP"), "1.2 MFLOP");
        assert_eq!(rate(1234.4), "1,234");
        assert_eq!(rate(12.345), "12.3");
        assert_eq!(rate(0.004_321), "0.00432");
        assert_eq!(rate(0.0), "0");
        assert_eq!(real(0.5), "0.500000");
        assert_eq!(real(-1.25e-7), "-1.2500e-7");
    }

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensible is", 7), ["incomprehensible", "is"]);
        assert!(wrapped(" ", 7).is_empty());
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["name", "size"]);
        table.row(vec!["x".into(), "8".into()]);
        table.note("because of y");
        table.row(vec!["target".into(), "1,024".into()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "  name     size\n  x           8\n      because of y\n  target  1,024\n");
    }
}
