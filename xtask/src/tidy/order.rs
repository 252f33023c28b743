//! The reading order of the engine: a file uses only modules that stand above its own in `lib.rs`,
//! and within a room only files that stand above it in the room's `mod.rs`.
//!
//! `mod.rs` files are the doors of their rooms and may use all that is in them; unit tests may use
//! everything.

use super::source::Source;
use super::{Finding, Workspace};

const ENGINE: &str = "engine/src/";

/// Looks at every file of the engine.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let engine = || workspace.rust.iter().filter(|source| source.path.starts_with(ENGINE));
    engine().flat_map(|source| file(source, &|path| find(workspace, path))).collect()
}

fn find<'a>(workspace: &'a Workspace, path: &str) -> Option<&'a Source> {
    workspace.rust.iter().find(|source| source.path == path)
}

/// What one file uses from below, in each of the folders it lies in.
fn file<'a>(source: &Source, find: &impl Fn(&str) -> Option<&'a Source>) -> Vec<Finding> {
    let Some(below) = source.path.strip_prefix(ENGINE).and_then(|path| path.strip_suffix(".rs"))
    else {
        return vec![];
    };
    let place: Vec<&str> = below.split('/').collect();
    let mut found = Vec::new();
    for (line, path) in used(&source.untested, &place) {
        // the first folder in which the two part ways
        let parts = place.iter().zip(&path).take_while(|(own, other)| own == other).count();
        let (Some(own), Some(other)) = (place.get(parts), path.get(parts)) else { continue };
        if matches!(*own, "mod" | "lib") {
            continue;
        }
        let list = match parts {
            0 => format!("{ENGINE}lib.rs"),
            _ => format!("{ENGINE}{}/mod.rs", place[..parts].join("/")),
        };
        let order = find(&list).map(|list| modules(&list.code)).unwrap_or_default();
        let position = |name: &str| order.iter().position(|module| module == name);
        if let (Some(own_position), Some(other_position)) = (position(own), position(other))
            && other_position > own_position
        {
            let problem = format!(
                "{own} (place {} in {list}) uses {other} (place {}), which stands below it",
                own_position + 1,
                other_position + 1,
            );
            found.push(Finding::at(&source.path, line, problem));
        }
    }
    found
}

/// The modules a file declares, in order.
fn modules(code: &str) -> Vec<String> {
    let declared = code.lines().filter_map(|line| {
        let line = line.trim().strip_suffix(';')?;
        let line =
            line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        line.strip_prefix("mod ")
    });
    declared.map(str::to_owned).collect()
}

/// The paths a file uses, from the root of the engine, each with its line. `place` is the file's own
/// path.
fn used(code: &str, place: &[&str]) -> Vec<(usize, Vec<String>)> {
    let mut all = Vec::new();
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let (ups, rest) = climb(&code[at..]);
            let base: Vec<String> = match ups {
                0 => vec![],
                // a mod.rs is its folder: its `super` is one further up
                _ => {
                    let own = if place.last() == Some(&"mod") { ups + 1 } else { ups };
                    let kept = place.len().saturating_sub(own);
                    place[..kept].iter().map(|name| (*name).to_owned()).collect()
                }
            };
            all.extend(paths(rest, &base).into_iter().map(|path| (line, path)));
        }
    }
    all
}

/// How many folders up `super::super::` goes (0 for `crate::`), and what follows.
fn climb(text: &str) -> (usize, &str) {
    let mut rest = text.strip_prefix("crate::").unwrap_or(text);
    let mut ups = 0;
    while let Some(further) = rest.strip_prefix("super::") {
        (ups, rest) = (ups + 1, further);
    }
    (ups, rest)
}

/// The paths that begin with a text such as `a::{b, c::d}`, up to two names deep.
fn paths(text: &str, base: &[String]) -> Vec<Vec<String>> {
    let text = text.trim_start();
    if base.len() >= 4 {
        return vec![base.to_vec()];
    }
    if let Some(inside) = text.strip_prefix('{') {
        return branches(inside).into_iter().flat_map(|branch| paths(branch, base)).collect();
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return vec![base.to_vec()];
    }
    let mut path = base.to_vec();
    path.push(name.to_owned());
    match rest.strip_prefix("::") {
        Some(rest) => paths(rest, &path),
        None => vec![path],
    }
}

/// The parts of a brace's inside, up to its end.
fn branches(inside: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&inside[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{file, used};
    use crate::tidy::source::Source;

    fn found(path: &str, text: &str) -> Vec<String> {
        let lists = [
            Source::rust("engine/src/lib.rs", "pub mod diag;\npub mod spec;\npub mod graph;\n"),
            Source::rust("engine/src/spec/mod.rs", "pub mod lex;\npub mod ast;\npub mod parse;\n"),
        ];
        let source = Source::rust(path, text);
        let find = |path: &str| lists.iter().find(|list| list.path == path);
        file(&source, &find).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_stands_below_may_not_be_used() {
        assert_eq!(found("engine/src/graph/op.rs", "use crate::spec::ast::Spec;"), [""; 0]);
        assert_eq!(
            found(
                "engine/src/spec/parse.rs",
                "use crate::diag::Span;\nuse crate::{diag, graph::Op};"
            ),
            [
                "engine/src/spec/parse.rs:2: spec (place 2 in engine/src/lib.rs) uses graph (place 3), \
              which stands below it"
            ]
        );
    }

    #[test]
    fn rooms_have_an_order_of_their_own() {
        assert_eq!(found("engine/src/spec/parse.rs", "use super::ast::Spec;"), [""; 0]);
        assert_eq!(found("engine/src/spec/lex.rs", "use super::{ast::Spec};").len(), 1);
        assert_eq!(found("engine/src/spec/lex.rs", "use crate::spec::parse::parse;").len(), 1);
        assert_eq!(
            found("engine/src/spec/mod.rs", "use parse::parse;\nuse crate::graph::Op;").len(),
            1
        );
    }

    #[test]
    fn unit_tests_may_use_everything() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n use crate::graph::Op;\n}";
        assert_eq!(found("engine/src/diag.rs", text), [""; 0]);
    }

    #[test]
    fn paths_are_read_through_braces() {
        let paths = used("use crate::{a::{b, c::D}, e};", &["x"]);
        let paths: Vec<String> = paths.iter().map(|(_, path)| path.join("::")).collect();
        assert_eq!(paths, ["a::b", "a::c::D", "e"]);
    }
}
