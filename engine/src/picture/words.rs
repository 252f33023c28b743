//! Processor numbers, counts and bytes as text: `0,1` · `0–7` · `0,2,4,6,…` · `2 slices` · `1.5 KiB`.

use crate::index::Pnum;

/// The most characters in a label of a slice, its ellipsis apart.
const LABEL_CHARS: usize = 9;

/// The most pieces in a list that is meant to be complete.
const LIST_PIECES: usize = 48;

/// Bytes in the unit that suits them, with three digits: `64 B`, `1.5 KiB`.
pub(super) fn bytes(n: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 100.0 { 0 } else { 2 - usize::from(value >= 10.0) };
    let number = format!("{value:.decimals$}");
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        &number
    };
    format!("{number} {}", UNITS[unit])
}

/// The numbers as pieces: a run of three or more is one piece `a–b`.
fn pieces(pnums: &[Pnum], most: usize) -> (Vec<String>, bool) {
    let mut out = Vec::new();
    let mut i = 0;
    while i < pnums.len() && out.len() < most {
        let mut end = i;
        while end + 1 < pnums.len() && pnums[end + 1].0 == pnums[end].0 + 1 {
            end += 1;
        }
        if end - i >= 2 {
            out.push(format!("{}–{}", pnums[i].0, pnums[end].0));
            i = end + 1;
        } else {
            out.push(pnums[i].0.to_string());
            i += 1;
        }
    }
    (out, i >= pnums.len())
}

/// A short label: all numbers when they fit, otherwise the first ones and an ellipsis.
pub(super) fn label(pnums: &[Pnum]) -> String {
    if let [one] = pnums {
        return one.0.to_string();
    }
    let (parts, complete) = pieces(pnums, LABEL_CHARS);
    let all = parts.join(",");
    if complete && all.chars().count() <= LABEL_CHARS {
        return all;
    }
    let mut text = String::new();
    for part in &parts {
        let longer = text.chars().count() + part.chars().count() + 1;
        if !text.is_empty() && longer + 1 > LABEL_CHARS {
            break;
        }
        text.push_str(part);
        text.push(',');
    }
    text.push('…');
    text
}

/// The whole list, runs shortened: `0, 2, 4–7`; a list of very many runs ends early and says so.
pub(super) fn list(pnums: &[Pnum]) -> String {
    if let [one] = pnums {
        return one.0.to_string();
    }
    let (parts, complete) = pieces(pnums, LIST_PIECES);
    let text = parts.join(", ");
    match pnums.last() {
        Some(last) if !complete => format!("{text}, … {} ({} in all)", last.0, pnums.len()),
        _ => text,
    }
}

/// `processor 3`, `processors 0, 2`.
pub(super) fn processors(pnums: &[Pnum]) -> String {
    let noun = if pnums.len() == 1 { "processor" } else { "processors" };
    format!("{noun} {}", list(pnums))
}

/// `1 slice`, `2 slices`.
pub(super) fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u32>) -> Vec<Pnum> {
        numbers.into_iter().map(Pnum).collect()
    }

    #[test]
    fn labels_are_short_and_honest() {
        let cases = [
            (of([0]), "0"),
            (of([0, 1]), "0,1"),
            (of(0..8), "0–7"),
            (of([0, 2]), "0,2"),
            (of([0, 1, 4, 5]), "0,1,4,5"),
            (of([0, 1, 2, 3, 8, 9, 10, 11]), "0–3,8–11"),
            (of((0..32).step_by(2)), "0,2,4,6,…"),
            (of((1000..9000).step_by(1000)), "1000,…"),
            (of((0..9000).step_by(1000)), "0,1000,…"),
        ];
        for (pnums, expected) in cases {
            assert_eq!(label(&pnums), expected);
        }
    }

    #[test]
    fn lists_are_complete_or_say_how_many() {
        assert_eq!(list(&of([0, 2, 4, 5, 6, 7])), "0, 2, 4–7");
        let many = list(&of((0..400).step_by(2)));
        assert!(many.ends_with("94, … 398 (200 in all)"), "{many}");
        assert_eq!(list(&of((0..96).step_by(2))).matches(',').count(), 47);
    }

    #[test]
    fn enumerations() {
        assert_eq!(and(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(count(1, "slice"), "1 slice");
        assert_eq!(count(0, "slice"), "0 slices");
    }
}
