//! `xtask-bundle MODULE STATIC OUT`: turns the compiled studio and the static files into the folder
//! the server embeds.
//!
//! wasm-bindgen makes the module's bindings; every file but `index.html` gets a name that carries a
//! hash of its content, so that browsers may keep it for ever; every file gets a brotli and a gzip
//! copy, compressed once here and not for each request.

mod names;
#[path = "../files.rs"]
#[expect(dead_code, reason = "the tasks use more of it")]
mod files;
#[path = "../hash.rs"]
mod hash;

use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};
use wasm_bindgen_cli_support::Bindgen;

/// Files by their path below the folder, with `/` between.
type Files = BTreeMap<String, Vec<u8>>;

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [module, statics, out] = arguments.as_slice() else {
        bail!("usage: xtask-bundle MODULE STATIC OUT");
    };
    let mut files = read(statics)?;
    files.extend(bindings(module)?);
    let files = compressed(names::by_content(files)?)?;
    write(&files, out)
}

/// The module with its JavaScript: `meshwork.js`, `meshwork_bg.wasm`, and snippets of crates.
fn bindings(module: &Path) -> Result<Files> {
    let out = module.with_file_name("bindings");
    files::remove_folder(&out)?;
    Bindgen::new()
        .input_path(module)
        .out_name("meshwork")
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        // or `init()` without arguments would not know where the module is
        .omit_default_module_path(false)
        .generate(&out)
        .context("making the module's bindings")?;
    read(&out)
}

/// Every file below a folder.
fn read(folder: &Path) -> Result<Files> {
    let names = files::below(folder)?.into_iter();
    names.map(|name| Ok((name.clone(), files::read(&folder.join(name))?))).collect()
}

/// The files with a `.br` and a `.gz` beside each that gets smaller by it.
fn compressed(files: Files) -> Result<Files> {
    let mut all = Files::new();
    for (name, content) in files {
        for (extension, small) in [("br", brotli(&content)?), ("gz", gzip(&content)?)] {
            if small.len() < content.len() {
                all.insert(format!("{name}.{extension}"), small);
            }
        }
        all.insert(name, content);
    }
    Ok(all)
}

fn brotli(content: &[u8]) -> Result<Vec<u8>> {
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, ..Default::default() };
    let mut small = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut small, &parameters)?;
    Ok(small)
}

fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

/// Makes the folder hold exactly these files; those that have not changed are left alone, so that
/// the server need not be built again for them.
fn write(files: &Files, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("creating {}", out.display()))?;
    for name in read(out)?.keys().filter(|name| !files.contains_key(*name)) {
        fs::remove_file(out.join(name)).with_context(|| format!("removing {name}"))?;
    }
    for (name, content) in files {
        let path = out.join(name);
        if fs::read(&path).is_ok_and(|known| known == *content) {
            continue;
        }
        files::write(&path, content)?;
    }
    Ok(())
}
