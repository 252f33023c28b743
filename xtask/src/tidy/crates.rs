//! The direction between crates, and what each may depend on.

use super::{Finding, Workspace};
use crate::sh;
use anyhow::{Context as _, Result};
use serde_json::Value;

/// Each crate with those of ours it may use. A new crate is entered here.
const MAY_USE: [(&str, &[&str]); 6] = [
    ("meshwork-engine", &[]),
    ("meshwork-wire", &[]),
    ("meshwork-server", &["meshwork-engine", "meshwork-wire"]),
    ("meshwork-frontend", &["meshwork-engine", "meshwork-wire"]),
    ("meshwork-fuzz", &["meshwork-engine"]),
    ("xtask", &[]),
];

/// Each crate with what must not be in its tree, and why.
const NEVER: [(&str, &[&str], &str); 2] = [
    (
        "meshwork-engine",
        &["tokio", "axum", "leptos", "web-sys", "wasm-bindgen", "serde_json"],
        "the engine knows no server, no browser and no file format",
    ),
    (
        "meshwork-frontend",
        &["axum", "rusqlite", "tokio"],
        "the studio runs in a browser, which has no server and no files",
    ),
];

/// Asks cargo.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut metadata = sh::cargo();
    metadata.args(["metadata", "--format-version", "1", "--no-deps"]).current_dir(&workspace.root);
    let metadata = serde_json::from_str(&sh::output(&mut metadata)?).context("cargo's metadata")?;
    let mut found = directions(&metadata);
    for (package, never, why) in NEVER {
        let tree = tree(workspace, package, None)?;
        for name in never.iter().filter(|name| tree.iter().any(|used| used == *name)) {
            found.push(Finding::new(package, format!("depends on {name}: {why}")));
        }
    }
    for name in tree(workspace, "meshwork-wire", Some(1))? {
        if !matches!(name.as_str(), "meshwork-wire" | "serde") {
            let problem = format!("depends on {name}: the wire types know serde only");
            found.push(Finding::new("meshwork-wire", problem));
        }
    }
    Ok(found)
}

fn directions(metadata: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            let problem =
                "is a new crate: say in tidy/crates.rs and ARCHITECTURE.md what it may use";
            found.push(Finding::new(name, problem));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            if dependency["path"].is_string() && !allowed.contains(&used) {
                found.push(Finding::new(name, format!("must not use {used}")));
            }
        }
    }
    found
}

/// The names in a package's tree of ordinary dependencies, natively and in the browser.
fn tree(workspace: &Workspace, package: &str, depth: Option<u32>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for target in [None, Some("wasm32-unknown-unknown")] {
        let mut tree = sh::cargo();
        tree.current_dir(&workspace.root);
        tree.args(["tree", "--quiet", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
        tree.args(["--package", package]);
        target.map(|target| tree.args(["--target", target]));
        depth.map(|depth| tree.args(["--depth", &depth.to_string()]));
        let listed = sh::output(&mut tree)?;
        names.extend(listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::directions;
    use serde_json::json;

    #[test]
    fn a_use_against_the_direction_is_found() {
        let package = |name: &str, used: &str| json!({"packages": [{"name": name, "dependencies": [{"name": used, "path": "/x"}]}]});
        assert!(directions(&package("meshwork-server", "meshwork-engine")).is_empty());
        let found = directions(&package("meshwork-engine", "meshwork-server"));
        assert_eq!(found[0].to_string(), "meshwork-engine: must not use meshwork-server");
        assert_eq!(directions(&package("newcomer", "meshwork-wire")).len(), 1);
    }
}
