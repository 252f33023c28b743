//! Changes of an option of `train`, `model`, `pipeline` or `hardware`.

use super::place::{Lines, OPTION_SEPARATORS, removal, union};
use super::{append, apply};
use crate::diag::TextEdit;
use crate::spec::ast::Stmt;
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
    let mut option = String::new();
    write_name(&mut option, key);
    option.push(':');
    let mut written = String::new();
    if is_value(value) {
        written.push_str(value);
    } else if is_writable(value) {
        write_word(&mut written, value);
    } else if !value.is_empty() {
        return text.to_owned();
    }
    option.push_str(&written);

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
    let arguments = lines.arguments(line);
    let edits = match options.iter().find(|o| o.key.text == key) {
        Some(found) if value.is_empty() => {
            let removed = vec![removal(text, arguments, found.span, OPTION_SEPARATORS)];
            union(text, arguments, removed, lines.is_broken(line))
        }
        Some(found) => vec![TextEdit { span: found.value_span, replacement: written }],
        None if value.is_empty() => Vec::new(),
        None => {
            let start = name.map_or(arguments.start, |n| n.span.end);
            let end = options.last().map_or(start, |o| o.span.end);
            vec![append(text, end, &option)]
        }
    };
    apply(text, &edits)
}
