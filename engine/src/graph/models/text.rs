//! Study text under construction: sizes of dimensions in one line, then declarations and
//! assignments, indented by the blocks they stand in.
//!
//! ```text
//! dims batch:8 d_model:32
//! input x[batch d_model]
//! block ffn
//!   x = relu(x)
//! end
//! ```

use std::fmt::Write as _;

/// The text of a preset.
#[derive(Debug, Default)]
pub(super) struct Text {
    dims: Vec<(String, u64)>,
    lines: String,
    depth: usize,
}

impl Text {
    /// Gives a dimension its size, the first time it is met.
    pub(super) fn dim(&mut self, name: &str, size: u64) {
        if self.dims.iter().all(|d| d.0 != name) {
            self.dims.push((name.to_owned(), size));
        }
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let indent = "  ".repeat(self.depth);
        self.lines.extend([&indent, line.as_ref(), "\n"]);
    }

    /// Adds a block: `layer times:4`, or a name alone.
    pub(super) fn block(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        self.line(format!("block {head}"));
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("end");
    }

    /// The whole text.
    pub(super) fn finish(self) -> String {
        let mut out = "dims".to_owned();
        for (name, size) in &self.dims {
            // Writing into a string cannot fail.
            write!(out, " {name}:{size}").unwrap_or_default();
        }
        out + "\n" + &self.lines
    }
}

/// A number as study text says it: `0.125`, `1e-6`.
pub(super) fn number(n: f64) -> String {
    if n != 0.0 && (n.abs() < 1e-4 || n.abs() >= 1e15) { format!("{n:e}") } else { n.to_string() }
}
