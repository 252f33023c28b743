//! Changes of the mesh: its dimensions, their sizes and names.

use super::place::{Lines, PAIR_SEPARATORS, removal, union};
use super::{append, apply};
use crate::diag::TextEdit;
use crate::spec::ast::{Ident, OptValue, Pair, Stmt};
use crate::spec::lex::{MAX_SIZE, is_writable, write_name};
use crate::spec::print::{write_pair, write_word};

/// Makes the mesh consist of these dimensions, in this order. Dimensions that stay keep their
/// place in the text unless the order changes.
pub fn set_mesh(text: &str, dims: &[(String, u64)]) -> String {
    let writable = dims.iter().all(|(n, size)| is_writable(n) && (1..=MAX_SIZE).contains(size));
    let Some(lines) = Lines::read(text).filter(|_| writable) else { return text.to_owned() };
    let mesh_lines: Vec<usize> = lines.of("mesh").collect();
    let Some((&first, others)) = mesh_lines.split_first() else {
        if dims.is_empty() {
            return text.to_owned();
        }
        return apply(text, &[lines.new_line(&[], &format!("mesh {}", written(dims)))]);
    };
    let edits = match in_place(text, &lines, &mesh_lines, dims) {
        Some(edits) => edits,
        None => {
            let cleared = others.iter().map(|&line| lines.replace_arguments(line, ""));
            [lines.replace_arguments(first, &written(dims))].into_iter().chain(cleared).collect()
        }
    };
    apply(text, &edits)
}

fn written(dims: &[(String, u64)]) -> String {
    let mut out = String::new();
    for (i, (name, size)) in dims.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        write_pair(&mut out, name, *size);
    }
    out
}

/// The edits that leave pairs where they stand; `None` where the order changes or a line is
/// broken.
fn in_place(
    text: &str,
    lines: &Lines<'_>,
    mesh_lines: &[usize],
    dims: &[(String, u64)],
) -> Option<Vec<TextEdit>> {
    let mut edits = Vec::new();
    let mut wanted = dims.iter().peekable();
    let mut end = None;
    let items: Vec<_> = lines.items().collect();
    for &line in mesh_lines {
        let Stmt::Mesh(pairs) = &items[line].stmt else { return None };
        if lines.is_broken(line) {
            return None;
        }
        let mut removed = Vec::new();
        for pair in pairs {
            match wanted.next_if(|(name, _)| *name == pair.name.text) {
                Some((_, size)) => {
                    end = Some(pair.span.end);
                    edits.extend(resize(pair, *size));
                }
                None => {
                    let arguments = lines.arguments(line);
                    removed.push(removal(text, arguments, pair.span, PAIR_SEPARATORS));
                }
            }
        }
        edits.extend(union(text, lines.arguments(line), removed, false));
    }
    let stays = |name: &str| {
        mesh_lines.iter().any(|&line| {
            matches!(&items[line].stmt, Stmt::Mesh(pairs) if pairs.iter().any(|p| p.name.text == name))
        })
    };
    let added: Vec<(String, u64)> = wanted.cloned().collect();
    if added.iter().any(|(name, _)| stays(name)) {
        return None;
    }
    if !added.is_empty() {
        // Without a pair that stays the whole line is written anew.
        edits.push(append(text, end?, &written(&added)));
    }
    Some(edits)
}

fn resize(pair: &Pair, size: u64) -> Option<TextEdit> {
    let edit = TextEdit { span: pair.size_span, replacement: size.to_string() };
    (pair.size != size).then_some(edit)
}

/// Renames a mesh dimension in the mesh, in the layout, and where the pipeline runs over it. A
/// name that another mesh dimension has changes nothing.
pub fn rename_mesh_dim(text: &str, old: &str, new: &str) -> String {
    let Some(lines) = Lines::read(text).filter(|_| is_writable(new)) else {
        return text.to_owned();
    };
    let mut name = String::new();
    write_name(&mut name, new);
    let mut edits = Vec::new();
    let mut taken = false;
    let mut rename = |ident: &Ident| {
        if ident.text == old {
            edits.push(TextEdit { span: ident.span, replacement: name.clone() });
        }
    };
    for item in lines.items() {
        if let Stmt::Mesh(pairs) = &item.stmt {
            taken |= pairs.iter().any(|p| p.name.text == new);
            for pair in pairs {
                rename(&pair.name);
            }
        } else if let Stmt::Layout(rules) = &item.stmt {
            rules.iter().flat_map(|r| &r.mesh_dims).for_each(&mut rename);
        }
    }
    for item in lines.items() {
        let Stmt::Pipeline(options) = &item.stmt else { continue };
        for option in options.iter().filter(|o| o.key.text == "over") {
            if matches!(&option.value, OptValue::Word(over) if over == old) {
                let mut word = String::new();
                write_word(&mut word, new);
                edits.push(TextEdit { span: option.value_span, replacement: word });
            }
        }
    }
    if taken { text.to_owned() } else { apply(text, &edits) }
}
