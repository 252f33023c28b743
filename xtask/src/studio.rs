//! The studio, compiled for the browser and laid out for the server in `target/studio`.

use crate::{files, hash, say, sh, wasm};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the studio if anything changed since it was last built.
pub(crate) fn build() -> Result<()> {
    let toolchain = wasm::toolchain()?;
    let module = compile(&toolchain)?;
    bundle(&module)
}

/// Compiles the frontend to a WASM module and returns its place.
fn compile(toolchain: &wasm::Toolchain) -> Result<PathBuf> {
    // its own folder, or two compilers would evict each other's results
    let target = sh::target().join("wasm");
    forget_other_library(&target, &toolchain.identity)?;
    let known = target.join(TARGET).exists();
    let usually = if known { "seconds to half a minute" } else { "about 3 min the first time" };
    say::step("Building the studio for the browser", usually);
    let mut flags = toolchain.flags.clone();
    flags.push("-Ctarget-feature=+simd128".to_owned());
    sh::run(
        sh::cargo_build("rustc")
            .args(["--package", "meshwork-frontend", "--lib"])
            .args(["--crate-type", "cdylib", "--profile", "wasm", "--target", TARGET])
            .arg("--target-dir")
            .arg(&target)
            .envs(toolchain.env.iter().map(|(name, value)| (name, value)))
            .env_remove("RUSTFLAGS")
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")),
    )?;
    Ok(target.join(TARGET).join("wasm/meshwork_frontend.wasm"))
}

/// Cargo does not notice that the standard library was built anew, so what was compiled against
/// another one goes.
fn forget_other_library(target: &Path, identity: &str) -> Result<()> {
    let stamp = target.join("library");
    if fs::read_to_string(&stamp).is_ok_and(|known| known == identity) {
        return Ok(());
    }
    files::remove_folder(&target.join(TARGET))?;
    files::write(&stamp, identity)
}

/// Makes bindings, names by content, and compressed copies; does nothing when the module, the
/// static files and the way they are bundled are those of the last time.
fn bundle(module: &Path) -> Result<()> {
    let stamp = sh::target().join("wasm/bundled");
    let sources = fingerprint(module)?;
    let is_there = sh::studio().join("index.html.br").exists();
    if is_there && fs::read_to_string(&stamp).is_ok_and(|known| known == sources) {
        return Ok(());
    }
    let start = Instant::now();
    say::step("Bundling the studio", "seconds; about 1 min the first time");
    sh::run(
        sh::cargo_build("run")
            .args(["--profile", "xtask", "--package", "xtask"])
            .args(["--features", "bundle", "--bin", "xtask-bundle", "--"])
            .arg(module)
            .arg(sh::root().join("static"))
            .arg(sh::studio()),
    )?;
    files::write(&stamp, sources)?;
    say::note(&format!("bundled in {}", say::took(start)));
    Ok(())
}

fn fingerprint(module: &Path) -> Result<String> {
    let root = sh::root();
    let mut sources = vec![module.to_path_buf(), root.join("xtask/Cargo.toml")];
    for folder in ["xtask/src/bundle", "static"].map(|folder| root.join(folder)) {
        sources.extend(files::below(&folder)?.iter().map(|file| folder.join(file)));
    }
    let mut parts = Vec::new();
    for source in &sources {
        parts.push(source.to_string_lossy().into_owned().into_bytes());
        parts.push(files::read(source)?);
    }
    Ok(hash::hex(parts.iter().map(Vec::as_slice)))
}
