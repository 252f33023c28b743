//! Clicks → text: changes of a study that keep the user's comments, order and everything else
//! byte for byte.
//!
//! Every change finds its place through the spans of the parsed lines. What cannot be done (a name
//! that cannot be written, a text beyond the limit) leaves the text as it is.

mod place;
mod mesh;
mod size;
mod option;
mod hint;

use self::place::{Lines, PAIR_SEPARATORS, removal, union};
use super::ast::{RulePair, Stmt};
use super::lex::{is_space, is_writable, write_name};
use crate::diag::{Span, TextEdit};

pub use self::hint::{difference, fit};
pub use self::mesh::{rename_mesh_dim, set_mesh};
pub use self::option::{set_block_option, set_option};
pub use self::size::set_size;

/// Makes several changes at once, whatever their order. One that lies outside the text or
/// overlaps an earlier one is left out; insertions at one place keep their order.
pub fn apply(text: &str, edits: &[TextEdit]) -> String {
    let mut ordered: Vec<&TextEdit> = edits.iter().collect();
    ordered.sort_by_key(|e| (e.span.start, e.span.end));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for TextEdit { span, replacement } in ordered {
        let (start, end) = (span.start as usize, span.end as usize);
        if start < done || text.get(start..end).is_none() {
            continue;
        }
        out.push_str(&text[done..start]);
        out.push_str(replacement);
        done = end;
    }
    out.push_str(&text[done..]);
    out
}

/// Sends a tensor dimension to mesh dimensions, outermost first; to none removes its rule.
pub fn set_rule(text: &str, dim: &str, mesh_dims: &[String]) -> String {
    let writable = is_writable(dim) && mesh_dims.iter().all(|m| is_writable(m));
    let Some(lines) = Lines::read(text).filter(|_| writable) else { return text.to_owned() };
    let layouts: Vec<(usize, &[RulePair])> = lines
        .items()
        .enumerate()
        .filter_map(|(i, item)| {
            let Stmt::Layout(rules) = &item.stmt else { return None };
            Some((i, rules.as_slice()))
        })
        .collect();
    let mut rule = String::new();
    write_name(&mut rule, dim);
    for (i, mesh_dim) in mesh_dims.iter().enumerate() {
        rule.push(if i == 0 { ':' } else { '+' });
        write_name(&mut rule, mesh_dim);
    }
    let mut edits = Vec::new();
    let mut stands = mesh_dims.is_empty();
    for (i, rules) in &layouts {
        let arguments = lines.arguments(*i);
        let mut removed = Vec::new();
        for found in rules.iter().filter(|r| r.dim.text == dim) {
            if stands {
                removed.push(removal(text, arguments, found.span, PAIR_SEPARATORS));
            } else {
                stands = true;
                let same = found.mesh_dims.iter().map(|m| &m.text).eq(mesh_dims);
                if !same {
                    edits.push(TextEdit { span: found.span, replacement: rule.clone() });
                }
            }
        }
        edits.extend(union(text, arguments, removed, lines.is_broken(*i)));
    }
    if !stands {
        edits.push(match layouts.last() {
            Some((i, rules)) => {
                let end = rules.last().map_or(lines.arguments(*i).start, |r| r.span.end);
                append(text, end, &rule)
            }
            None => lines.new_line(&["mesh"], &format!("layout {rule}")),
        });
    }
    apply(text, &edits)
}

/// Adds to a list whose last part ends at `at`, apart from what follows.
fn append(text: &str, at: u32, written: &str) -> TextEdit {
    let next = text[at as usize..].chars().next();
    let apart = next.is_none_or(|c| is_space(c) || matches!(c, ',' | '#'));
    insertion(at, format!(" {written}{}", if apart { "" } else { " " }))
}

/// An edit that only adds.
fn insertion(at: u32, replacement: String) -> TextEdit {
    TextEdit { span: Span::new(at, at), replacement }
}
