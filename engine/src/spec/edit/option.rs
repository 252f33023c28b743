//! Changes of an option of `train`, `model`, `pipeline` or `hardware`.

use super::place::{Lines, OPTION_SEPARATORS, removal, union};
use super::{append, apply};
use crate::diag::TextEdit;
use crate::spec::ast::{Ident, Opt, Stmt};
use crate::spec::lex::{is_writable, write_name};
use crate::spec::parse::is_value;
use crate::spec::print::write_word;

/// Sets an option of a statement: `set_option(text, "train", "rate", "0.1")`. An empty value
/// removes it. A statement that is missing is added, `model` apart, which needs a preset. A value
/// that is not a number, word, list or call is written in back quotes.
pub fn set_option(text: &str, statement: &str, key: &str, value: &str) -> String {
    let Some(lines) = Lines::read(text).filter(|_| is_writable(key)) else {
        return text.to_owned();
    };
    let Some((option, written)) = written_option(key, value) else { return text.to_owned() };
    let found = lines.items().enumerate().find_map(|(i, item)| {
        let (word, name, options) = match &item.stmt {
            Stmt::Model { preset, options } => ("model", Some(preset), options),
            Stmt::Train(options) => ("train", None, options),
            Stmt::Pipeline(options) => ("pipeline", None, options),
            Stmt::Hardware { name, options } => ("hardware", name.as_ref(), options),
            Stmt::Blank
            | Stmt::Mesh(_)
            | Stmt::Layout(_)
            | Stmt::Dims(_)
            | Stmt::Input(_)
            | Stmt::Param(_)
            | Stmt::State(_)
            | Stmt::Assign { .. }
            | Stmt::Next { .. }
            | Stmt::Block { .. }
            | Stmt::End
            | Stmt::Unreadable(_) => return None,
        };
        (word == statement).then_some((i, name, options))
    });
    let Some((line, name, options)) = found else {
        let can_stand = matches!(statement, "train" | "pipeline" | "hardware");
        if !can_stand || value.is_empty() {
            return text.to_owned();
        }
        return apply(text, &[lines.last_line(&format!("{statement} {option}"))]);
    };
    let set = Set { key, value, option: &option, written: &written };
    apply(text, &edits(text, &lines, line, name, options, set))
}

/// Sets an option of every block that stands in no other.
pub fn set_block_option(text: &str, key: &str, value: &str) -> String {
    let lines = Lines::read(text).filter(|_| is_writable(key));
    let (Some(lines), Some((option, written))) = (lines, written_option(key, value)) else {
        return text.to_owned();
    };
    let mut depth = 0;
    let mut all = Vec::new();
    for (line, item) in lines.items().enumerate() {
        if let Stmt::Block { name, options } = &item.stmt {
            if depth == 0 {
                let set = Set { key, value, option: &option, written: &written };
                all.extend(edits(text, &lines, line, Some(name), options, set));
            }
            depth += 1;
        } else if item.stmt == Stmt::End {
            depth -= 1;
        }
    }
    apply(text, &all)
}

/// An option as it is to be.
#[derive(Debug, Clone, Copy)]
struct Set<'a> {
    key: &'a str,
    value: &'a str,
    /// Key and value as they are written.
    option: &'a str,
    /// The value as it is written.
    written: &'a str,
}

/// An option and its value as they are written, if they can be.
fn written_option(key: &str, value: &str) -> Option<(String, String)> {
    let mut written = String::new();
    if is_value(value) {
        written.push_str(value);
    } else if is_writable(value) {
        write_word(&mut written, value);
    } else if !value.is_empty() {
        return None;
    }
    let mut option = String::new();
    write_name(&mut option, key);
    option.push(':');
    option.push_str(&written);
    Some((option, written))
}

/// The changes of a line that set an option.
fn edits(
    text: &str,
    lines: &Lines<'_>,
    line: usize,
    name: Option<&Ident>,
    options: &[Opt],
    set: Set<'_>,
) -> Vec<TextEdit> {
    let Set { key, value, option, written } = set;
    let arguments = lines.arguments(line);
    match options.iter().find(|o| o.key.text == key) {
        Some(found) if value.is_empty() => {
            let removed = vec![removal(text, arguments, found.span, OPTION_SEPARATORS)];
            union(text, arguments, removed, lines.is_broken(line))
        }
        Some(found) => vec![TextEdit { span: found.value_span, replacement: written.to_owned() }],
        None if value.is_empty() => Vec::new(),
        None => {
            let start = name.map_or(arguments.start, |n| n.span.end);
            let end = options.last().map_or(start, |o| o.span.end);
            vec![append(text, end, option)]
        }
    }
}
