//! Sees to it that there is a studio to embed: before `cargo xtask build` has made one, a page
//! that says so.

use std::path::Path;
use std::{fs, io};

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

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=../target/studio");
    let folder = Path::new("../target/studio");
    if !folder.join("index.html").exists() {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("index.html"), PAGE)?;
    }
    Ok(())
}
