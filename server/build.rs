//! Sees to it that there is a studio to embed: before `cargo xtask build` has made one, a page
//! that says so. Gathers the project's own sources, the text that ships to train on.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const PAGE: &str = "<!doctype html>
<html lang=\"en\">
  <head><meta charset=\"utf-8\"><title>Meshwork</title></head>
  <body>
    <h1>The studio is not built yet</h1>
    <p>Run <code>cargo xtask build</code>, then build this server again.
       The API answers under <a href=\"/api/v1/health\">/api/v1</a> meanwhile.</p>
  </body>
</html>
";

/// What makes the text `sources`, in this order; folders with all that is below them, by name.
const SOURCES: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "docs",
    "engine/src",
    "wire/src",
    "server/src",
    "frontend/src",
    "xtask/src",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=../target/studio");
    let folder = Path::new("../target/studio");
    if !folder.join("index.html").exists() {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("index.html"), PAGE)?;
    }
    let mut text = String::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed=../{source}");
        gather(&Path::new("..").join(source), &mut text)?;
    }
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("sources.txt"), text)
}

/// Appends a file of ours, or all of a folder's in the order of their names.
fn gather(path: &Path, text: &mut String) -> io::Result<()> {
    if path.is_dir() {
        let mut entries = fs::read_dir(path)?
            .map(|entry| entry.map(|e| e.path()))
            .collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| gather(entry, text));
    }
    let is_ours = path.extension().is_some_and(|e| e == "rs" || e == "md");
    // A package without its surroundings has less to read.
    if is_ours && path.exists() {
        text.push_str(&fs::read_to_string(path)?.replace('\0', ""));
    }
    Ok(())
}
