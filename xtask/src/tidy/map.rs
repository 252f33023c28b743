//! The map: every crate and every module of the engine is named in ARCHITECTURE.md.

use super::{Finding, Workspace};

const MAP: &str = "ARCHITECTURE.md";

/// Looks for the names in the map.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let Some(map) = workspace.other.iter().find(|source| source.path == MAP) else {
        return vec![Finding::new(MAP, "is missing")];
    };
    let names = names(workspace);
    let missing = names.iter().filter(|name| !is_named(&map.text, name));
    missing.map(|name| Finding::new(MAP, format!("does not name `{name}`"))).collect()
}

/// `engine/`, `server/`, … and the engine's `diag.rs`, `layout/`, …
fn names(workspace: &Workspace) -> Vec<String> {
    let mut names = Vec::new();
    for manifest in workspace.other.iter().filter(|source| source.path.ends_with("/Cargo.toml")) {
        names.push(manifest.path.trim_end_matches("Cargo.toml").to_owned());
    }
    for source in &workspace.rust {
        let Some(below) = source.path.strip_prefix("engine/src/") else { continue };
        match below.split_once('/') {
            Some((room, _)) => names.push(format!("{room}/")),
            None if below != "lib.rs" => names.push(below.to_owned()),
            None => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Whether a text has the name: the path and not as a part of a longer one, or its stem as code
/// (`cost/` may be written `cost`).
fn is_named(text: &str, name: &str) -> bool {
    let stem = name.trim_end_matches('/').trim_end_matches(".rs");
    let is_path = text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
    });
    is_path || text.contains(&format!("`{stem}`"))
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn a_part_of_a_longer_name_does_not_count() {
        assert!(is_named("`spec/`, the text", "spec/"));
        assert!(is_named("| `spec` | the text", "spec/"));
        assert!(is_named("engine/src/spec/parse.rs", "spec/"));
        assert!(!is_named("`inspec/`", "spec/"));
        assert!(!is_named("`inspec` to spec", "spec/"));
    }
}
