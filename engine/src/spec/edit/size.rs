//! Changes of the size of a tensor dimension.

use super::place::{Lines, OPTION_SEPARATORS, removal, union};
use super::{append, apply};
use crate::diag::{Span, TextEdit};
use crate::spec::ast::{Opt, OptValue, Stmt};
use crate::spec::lex::{MAX_SIZE, is_space, is_writable};
use crate::spec::print::{write_pair, write_value};

/// Gives a tensor dimension a size: at its pair in `dims`, else at the option of `model` (which is
/// added where the preset's default was in use), else as a new pair.
pub fn set_size(text: &str, dim: &str, size: u64) -> String {
    let valid = is_writable(dim) && (1..=MAX_SIZE).contains(&size);
    let Some(lines) = Lines::read(text).filter(|_| valid) else { return text.to_owned() };
    let mut pair = String::new();
    write_pair(&mut pair, dim, size);
    if let Some(edit) = in_dims(text, &lines, dim, size, &pair) {
        return apply(text, &[edit]);
    }
    let model = lines.items().enumerate().find_map(|(line, item)| {
        let Stmt::Model { preset, options } = &item.stmt else { return None };
        Some((line, preset, options))
    });
    if let Some((line, preset, options)) = model {
        let arguments = lines.arguments(line);
        let edits = in_list(text, arguments, lines.is_broken(line), options, dim, size)
            .unwrap_or_else(|| {
                vec![match options.iter().find(|o| o.key.text == dim) {
                    Some(o) => TextEdit { span: o.value_span, replacement: size.to_string() },
                    None => {
                        append(text, options.last().map_or(preset.span.end, |o| o.span.end), &pair)
                    }
                }]
            });
        return apply(text, &edits);
    }
    let dims_line = lines.items().enumerate().rev().find_map(|(i, item)| {
        let Stmt::Dims(pairs) = &item.stmt else { return None };
        Some(pairs.last().map_or(lines.arguments(i).start, |p| p.span.end))
    });
    let edit = match dims_line {
        Some(end) => append(text, end, &pair),
        None => lines.new_line(&["mesh", "layout"], &format!("dims {pair}")),
    };
    apply(text, &[edit])
}

/// The pair in `dims`, also one that could not be read, such as `batch:x`.
fn in_dims(text: &str, lines: &Lines<'_>, dim: &str, size: u64, pair: &str) -> Option<TextEdit> {
    for item in lines.items() {
        let Stmt::Dims(pairs) = &item.stmt else { continue };
        if let Some(found) = pairs.iter().find(|p| p.name.text == dim) {
            return Some(TextEdit { span: found.size_span, replacement: size.to_string() });
        }
    }
    for line in lines.of("dims").filter(|&line| lines.is_broken(line)) {
        let arguments = lines.arguments(line);
        let written = arguments.of(text);
        let unread = written.split(|c| is_space(c) || c == ',').find(|piece| {
            piece
                .strip_prefix(dim)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '=']))
        });
        if let Some(piece) = unread {
            let start =
                arguments.start + (piece.as_ptr() as usize - written.as_ptr() as usize) as u32;
            let span = Span::new(start, start + piece.len() as u32);
            return Some(TextEdit { span, replacement: pair.to_owned() });
        }
    }
    None
}

/// `hidden2` of `hidden:(64 32)`, or of `hidden:64 depth:3`, which becomes a list; of `depth:3`
/// alone the width that all layers share.
fn in_list(
    text: &str,
    arguments: Span,
    broken: bool,
    options: &[Opt],
    dim: &str,
    size: u64,
) -> Option<Vec<TextEdit>> {
    const MOST: f64 = 1000.0;
    if options.iter().any(|o| o.key.text == dim) {
        return None;
    }
    let key = dim.trim_end_matches(|c: char| c.is_ascii_digit());
    let index = dim[key.len()..].parse::<usize>().ok()?.checked_sub(1)?;
    let depth = options.iter().find(|o| o.key.text == "depth");
    let Some(list) = options.iter().find(|o| o.key.text == key) else {
        // The default width of every layer was in use.
        let mut pair = String::new();
        write_pair(&mut pair, key, size);
        return depth.map(|d| vec![append(text, d.span.end, &pair)]);
    };
    let mut edits = Vec::new();
    let mut values = match (&list.value, depth) {
        (OptValue::List(values), _) => values.clone(),
        (&OptValue::Number(hidden), Some(_)) if hidden.to_bits() == (size as f64).to_bits() => {
            return Some(Vec::new());
        }
        (&OptValue::Number(hidden), Some(option)) => {
            let OptValue::Number(depth) = option.value else { return None };
            let removed = vec![removal(text, arguments, option.span, OPTION_SEPARATORS)];
            edits.extend(union(text, arguments, removed, broken));
            let depth = Some(depth).filter(|d| (1.0..=MOST).contains(d))?;
            vec![OptValue::Number(hidden); depth as usize]
        }
        _ => return None,
    };
    *values.get_mut(index)? = OptValue::Number(size as f64);
    let mut replacement = String::new();
    write_value(&mut replacement, &OptValue::List(values));
    edits.push(TextEdit { span: list.value_span, replacement });
    Some(edits)
}
