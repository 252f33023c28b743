//! Golden files: each is compared with something, so some test names it.
//!
//! A test names a file by its name or its stem (`"figure_4.svg"`, `"figure_4"`), or it walks the
//! whole folder and names that (`"golden/pictures"`).

use super::{Finding, Workspace};
use crate::files;
use anyhow::Result;
use std::path::Path;

/// Looks at every file below a folder `golden` or `snapshots`.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for room in ["engine", "server", "frontend", "wire"] {
        let mut files = Vec::new();
        golden_files(&workspace.root.join(room), room, &mut files)?;
        let tests: Vec<&str> = workspace
            .rust
            .iter()
            .filter(|source| source.path.starts_with(&format!("{room}/")))
            .map(|source| source.text.as_str())
            .collect();
        let lonely = files.iter().filter(|path| !is_named(path, &tests));
        found.extend(lonely.map(|path| Finding::new(path, "no test names this file: remove it")));
    }
    Ok(found)
}

fn golden_files(folder: &Path, below: &str, files: &mut Vec<String>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for path in files::list(folder)? {
        let name = files::name(&path);
        let path_below = format!("{below}/{name}");
        if path.is_dir() && name != "target" {
            golden_files(&path, &path_below, files)?;
        } else if below.split('/').any(|folder| matches!(folder, "golden" | "snapshots")) {
            files.push(path_below);
        }
    }
    Ok(())
}

fn is_named(path: &str, tests: &[&str]) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    // a snapshot is crate__module__test.snap, the second of a test test-2.snap
    let stem = stem.rsplit("__").next().unwrap_or(stem);
    let stem =
        stem.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('-').unwrap_or(stem);
    let mut names = vec![stem.to_owned()];
    // a folder inside `golden` may be walked as a whole
    if let Some(inside) = folder.rsplit_once("golden/").map(|(_, inside)| inside) {
        names.push(format!("golden/{inside}"));
    }
    tests.iter().any(|test| names.iter().any(|name| test.contains(name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn a_file_is_named_by_its_stem_or_its_folder() {
        let tests = ["check(\"figure_4\")", "walk(\"tests/golden/text\")", "fn prints() {}"];
        assert!(is_named("engine/tests/golden/figure_4.svg", &tests));
        assert!(is_named("engine/tests/golden/text/anything.txt", &tests));
        assert!(is_named("engine/src/snapshots/engine__spec__prints-2.snap", &tests));
        assert!(!is_named("engine/tests/golden/figure_6.svg", &tests));
    }
}
