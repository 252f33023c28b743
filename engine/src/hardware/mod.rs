//! The processors of a mesh as the `hardware` statement describes them: how much each holds, and
//! what to do when a study needs more.
//!
//! A processor of a study is whatever holds one slice: a core of a TPU v2 or v3, a chip of later
//! ones, a GPU.

pub mod mends;
pub mod fit;

use crate::diag::{Code, Diagnostic, Hint, Span, nearest};
use crate::graph::options::Reader;
use crate::spec::ast::{OptValue, Spec, Stmt};

/// A kind of processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hardware {
    /// What it is called, if it has a name.
    pub name: Option<String>,
    /// The bytes it holds.
    pub memory_bytes: u64,
    /// The statement.
    pub span: Span,
}

const GB: u64 = 1_000_000_000;
/// So many names are offered for one that is not known.
const MOST_NEAR: usize = 2;
/// The length of the word `hardware`.
const WORD: u32 = 8;

/// The kinds that are known by name, and the bytes each holds: as their makers say, in powers of
/// ten; of a TPU v2 chip's 16 GB and a v3 chip's 32 GB, what each of its two cores has (`GPipe`,
/// section 3).
pub const KNOWN: [(&str, u64); 12] = [
    ("tpu-v2", 8 * GB),
    ("tpu-v3", 16 * GB),
    ("tpu-v4", 32 * GB),
    ("tpu-v5e", 16 * GB),
    ("tpu-v5p", 95 * GB),
    ("tpu-v6e", 32 * GB),
    ("v100", 32 * GB),
    ("a100", 80 * GB),
    ("h100", 80 * GB),
    ("h200", 141 * GB),
    ("b200", 192 * GB),
    ("gb200", 192 * GB),
];

/// Units of memory as they are written, and their bytes.
const UNITS: [(&str, f64); 9] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

impl Hardware {
    /// Reads the statement; `None` if there is none or it says nothing of memory.
    pub fn read(spec: &Spec, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let (name, options, span) = spec.items.iter().find_map(|item| {
            if let Stmt::Hardware { name, options } = &item.stmt {
                Some((name, options, item.span))
            } else {
                None
            }
        })?;
        if name.is_none() && options.is_empty() {
            diagnostics.push(says_nothing(span));
            return None;
        }
        let mut read = Reader::new("hardware", options, &["memory", "flops"], diagnostics);
        if let Some(option) = read.get("flops") {
            let message = "`flops` has no effect yet: costs are operations and bytes, not seconds";
            let d = Diagnostic::warning(Code::Unused, option.span, message);
            read.report(d.hint(Hint::edit("Remove it.", option.span, "")));
        }
        let known = name.as_ref().and_then(|n| KNOWN.iter().find(|k| k.0 == n.text));
        let stated = match read.get("memory") {
            Some(option) => {
                let bytes = bytes(&option.value);
                if bytes.is_none() {
                    let message = "`memory` takes bytes: `16GB`, `16GiB`, `1.6e10`";
                    let d = Diagnostic::error(Code::BadOption, option.value_span, message);
                    let d = d.hint(Hint::edit("Write `16GB`.", option.value_span, "16GB"));
                    // without it, only a known name says how much there is
                    let out = Hint::edit("Leave `memory` out.", option.span, "");
                    read.report(if known.is_some() { d.hint(out) } else { d });
                }
                Some(bytes?)
            }
            None => None,
        };
        if let (None, None, Some(name)) = (stated, known, name) {
            let names = KNOWN.map(|k| k.0);
            let message = format!(
                "No hardware `{}` is known by name; these are: {}",
                name.text,
                names.join(", ")
            );
            let mut d = Diagnostic::error(Code::Hardware, name.span, message);
            for near in near(&name.text) {
                d = d.hint(Hint::edit(format!("Write `{near}`."), name.span, near));
            }
            let end = Span::new(name.span.end, name.span.end);
            let text = "Say how much memory a processor has.";
            read.report(d.hint(Hint::edit(text, end, " memory:16GB")));
            return None;
        }
        let memory_bytes = stated.or(known.map(|k| k.1))?;
        Some(Self { name: name.as_ref().map(|n| n.text.clone()), memory_bytes, span })
    }

    /// `a tpu-v2 has`, before an amount.
    fn has(&self) -> String {
        self.name
            .as_ref()
            .map_or_else(|| "`hardware` says".to_owned(), |name| format!("a `{name}` has"))
    }
}

/// The known names nearest to one: those that it is the end or another part of, else the one that is
/// written most alike.
fn near(name: &str) -> Vec<&'static str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    let part = plain(name);
    let known = KNOWN.iter().map(|k| k.0).filter(|_| part.len() > 1);
    let (of_end, of_part): (Vec<&str>, Vec<&str>) = known
        .filter(|known| plain(known).contains(&part))
        .partition(|known| plain(known).ends_with(&part));
    let parts = if of_end.is_empty() { of_part } else { of_end };
    if parts.is_empty() || parts.len() > MOST_NEAR {
        return nearest(name, KNOWN.map(|k| k.0)).into_iter().collect();
    }
    parts
}

/// A statement without name and options.
fn says_nothing(span: Span) -> Diagnostic {
    let message =
        "`hardware` has no effect: it says neither which processors nor how much memory they have";
    let end = Span::new(span.start + WORD, span.start + WORD);
    let mend = |name: &str| Hint::edit(format!("Write `{name}`."), end, format!(" {name}"));
    let own = Hint::edit("Say how much memory a processor has.", end, " memory:16GB");
    let names = KNOWN.map(|k| mend(k.0)).into_iter();
    let d = Diagnostic::warning(Code::Unused, span, message);
    names.chain([own]).fold(d, Diagnostic::hint)
}

/// Bytes, as a number or with a unit.
fn bytes(value: &OptValue) -> Option<u64> {
    let bytes = match value {
        OptValue::Number(n) => *n,
        OptValue::Word(word) => {
            let digits = word.find(|c: char| c.is_ascii_alphabetic())?;
            let (number, unit) = word.split_at(digits);
            let factor = UNITS.iter().find(|u| u.0.eq_ignore_ascii_case(unit))?.1;
            number.parse::<f64>().ok()? * factor
        }
        OptValue::List(_) | OptValue::Call { .. } => return None,
    };
    (bytes.is_finite() && (1.0..1e18).contains(&bytes)).then_some(bytes as u64)
}

/// Bytes in the decimal unit that suits them, as memory is sold: `8 GB`, `12.3 GB`.
fn shown(bytes: u64) -> String {
    let (unit, factor) = UNITS[..5].iter().rev().find(|u| bytes as f64 >= u.1).unwrap_or(&UNITS[0]);
    let amount = bytes as f64 / factor;
    let digits = if amount < 100.0 { format!("{amount:.1}") } else { format!("{amount:.0}") };
    format!("{} {unit}", digits.trim_end_matches(".0"))
}

#[cfg(test)]
mod tests {
    use super::{bytes, shown};
    use crate::spec::ast::OptValue;
    use crate::study::Study;

    #[test]
    fn memory_with_units() {
        let read = |word: &str| bytes(&OptValue::Word(word.to_owned()));
        assert_eq!(read("16GB"), Some(16_000_000_000));
        assert_eq!(read("0.5KiB"), Some(512));
        assert_eq!(read("3b"), Some(3));
        for wrong in ["GB", "16", "16XB", "-1GB", "infB", "1e30TB", "0GB"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(bytes(&OptValue::Number(1.6e10)), Some(16_000_000_000));
    }

    #[test]
    fn bytes_as_memory_is_sold() {
        let shown = [1, 999, 1_200, 50_000_000, 10_420_000_000, 141_000_000_000].map(shown);
        assert_eq!(shown, ["1 B", "999 B", "1.2 kB", "50 MB", "10.4 GB", "141 GB"]);
    }

    #[test]
    fn texts_that_are_only_tried_search_for_nothing() {
        let text = "hardware memory:1KiB\nmodel two_layer batch:8 io:4 hidden:8\ntrain rate:0.1\n";
        let mends = |study: &Study| {
            let misfit = study.diagnostics().iter().find(|d| d.is_misfit());
            misfit.map(|d| d.hints.len())
        };
        let (tried, whole) = (Study::tried(text), Study::new(text));
        assert_eq!(mends(&tried), Some(0));
        assert_eq!(mends(&whole), Some(tried.hints_to_fit().len()));
        assert!(tried.hints_to_fit().iter().all(|hint| hint.edit.is_some()));
        assert_eq!(mends(&Study::new(&text.replace("1KiB", "1MB"))), None);
    }
}
