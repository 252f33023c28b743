//! The compiler and standard library for `wasm32-unknown-unknown`, installed when missing.
//!
//! An ordinary machine has them from rustup. Where rustup's server is out of reach, Debian's
//! packages do: `rustc-web` (a recent compiler) and `rust-web-src`, from which the standard library
//! is built once and kept in the user's cache folder. `MESHWORK_WASM=debian` asks for that.

use crate::{files, hash, say, sh};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
/// Debian's compiler and its packages.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_LIBRARY: &str = "/usr/lib/rustlib/src/rust/library/Cargo.lock";
const DEBIAN_PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];
/// The oldest compiler that can build the workspace (its `rust-version`).
const OLDEST: (u32, u32) = (1, 95);
/// How its folders in the cache begin.
const LIBRARY: &str = "wasm-std-";
/// Goes up when the way the library is built changes.
const RECIPE: u32 = 1;

/// What builds for the browser.
#[derive(Debug)]
pub(crate) struct Toolchain {
    /// Environment of the cargo that builds with it.
    pub(crate) env: Vec<(String, String)>,
    /// Flags of the compiler.
    pub(crate) flags: Vec<String>,
    /// Changes when the standard library was built anew, which cargo does not notice by itself.
    pub(crate) identity: String,
}

/// Finds the toolchain, or installs it.
pub(crate) fn toolchain() -> Result<Toolchain> {
    if has_target()? {
        return Ok(Toolchain { env: vec![], flags: vec![], identity: "rustup".to_owned() });
    }
    if debian_compiler().is_some() {
        return debian();
    }
    let wants_debian = env::var("MESHWORK_WASM").is_ok_and(|from| from == "debian");
    if wants_debian && sh::may_install_debian_packages() {
        install_debian()?;
        return debian();
    }
    say::step("Installing the WASM target through rustup", "about 20 s, once");
    let added = sh::run(Command::new("rustup").args(["target", "add", TARGET]));
    if added.is_ok() && has_target()? {
        return toolchain();
    }
    if sh::may_install_debian_packages() {
        install_debian()?;
        return debian();
    }
    bail!(
        "the standard library for {TARGET} is missing. Either `rustup target add {TARGET}`, or \
         on Debian, as root: `apt-get install {}`; then run this again.",
        DEBIAN_PACKAGES.join(" ")
    )
}

/// Whether the compiler that cargo uses has the target's standard library.
fn has_target() -> Result<bool> {
    let dir =
        sh::output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    let Ok(files) = fs::read_dir(dir.trim()) else { return Ok(false) };
    Ok(files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore-")))
}

fn install_debian() -> Result<()> {
    say::step(
        &format!("Installing Debian's {}", DEBIAN_PACKAGES.join(" and ")),
        "about 1 min, once",
    );
    sh::install_debian_packages(&DEBIAN_PACKAGES)
}

/// The description of Debian's compiler (`rustc -vV`) if it and its sources are here and new
/// enough.
fn debian_compiler() -> Option<String> {
    if !Path::new(DEBIAN_LIBRARY).exists() {
        return None;
    }
    let about = sh::output(Command::new(DEBIAN_RUSTC).arg("-vV")).ok()?;
    (version(&about)? >= OLDEST).then_some(about)
}

/// Major and minor of the `release:` line of `rustc -vV`.
fn version(about: &str) -> Option<(u32, u32)> {
    let release = about.lines().find_map(|line| line.strip_prefix("release: "))?;
    let mut numbers = release.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn debian() -> Result<Toolchain> {
    let about = debian_compiler().with_context(|| {
        format!("Debian's {DEBIAN_RUSTC} is missing or older than {}.{}", OLDEST.0, OLDEST.1)
    })?;
    let linker = linker()?;
    let name = hash::hex([about.as_bytes()]);
    let cache = cache()?;
    let home = cache.join(format!("{LIBRARY}{name}-{RECIPE}"));
    let built = home.join("identity");
    if !built.exists() {
        // one at a time: who comes second finds it done
        files::write(&cache.join("lock"), "")?;
        let lock = fs::File::open(cache.join("lock"))?;
        lock.lock().context("waiting for another build of the WASM library")?;
        if !built.exists() {
            build_std(&cache, &home, &linker)?;
        }
    }
    let identity = files::text(&built)?;
    Ok(Toolchain {
        env: vec![("RUSTC".to_owned(), DEBIAN_RUSTC.to_owned()), linker_env(&linker)],
        flags: vec!["--sysroot".to_owned(), home.display().to_string()],
        identity,
    })
}

fn linker_env(linker: &Path) -> (String, String) {
    ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER".to_owned(), linker.display().to_string())
}

/// A linker for WASM: the one that comes with rustup's compiler, or LLVM's.
fn linker() -> Result<PathBuf> {
    let sysroot = sh::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let about = sh::output(Command::new("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let own = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/rust-lld");
    if own.exists() {
        return Ok(own);
    }
    sh::find(&["wasm-ld", "rust-lld"]).context(
        "no linker for WASM: neither rustup's rust-lld nor wasm-ld; `apt-get install lld` brings it",
    )
}

/// The folder for what can be made again and is shared by all clones.
fn cache() -> Result<PathBuf> {
    let dir = env::var_os("XDG_CACHE_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set: no place for the WASM library")?;
    Ok(dir.join("meshwork"))
}

/// Builds the standard library from Debian's sources into `home`, which is a sysroot afterwards.
/// Those of other versions of the compiler go.
fn build_std(cache: &Path, home: &Path, linker: &Path) -> Result<()> {
    say::step("Building Rust's standard library for WASM", "about 1 min, once on this machine");
    // a build that was interrupted goes on where it was
    let work = cache.join("building");
    build_std_in(&work, linker)?;
    for old in files::list(cache)? {
        if files::name(&old).starts_with(LIBRARY) {
            files::remove_folder(&old)?;
        }
    }
    fs::rename(work.join("sysroot"), home)
        .with_context(|| format!("moving the library to {}", home.display()))?;
    files::remove_folder(&work)
}

fn build_std_in(work: &Path, linker: &Path) -> Result<()> {
    files::write(&work.join("Cargo.toml"), EMPTY_CRATE)?;
    files::write(&work.join("src/lib.rs"), "")?;
    let (linker_name, linker) = linker_env(linker);
    // bitcode: without it, link-time optimisation of the studio fails later
    sh::run(
        sh::cargo_build("build")
            .current_dir(work)
            .args(["--release", "--target", TARGET])
            .args(["-Z", "build-std=std,panic_abort", "--target-dir", "target"])
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", DEBIAN_RUSTC)
            .env(linker_name, linker)
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-Cembed-bitcode=yes")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS"),
    )?;
    files::remove_folder(&work.join("sysroot"))?;
    let rustlib = work.join("sysroot/lib/rustlib");
    let lib = rustlib.join(TARGET).join("lib");
    fs::create_dir_all(&lib)?;
    let mut contents = Vec::new();
    let deps = work.join("target").join(TARGET).join("release/deps");
    for file in files::list(&deps)? {
        let name = files::name(&file);
        let is_library = file.extension().is_some_and(|extension| extension == "rlib");
        if is_library && !name.starts_with("libempty-") {
            contents.push(files::read(&file)?);
            fs::copy(&file, lib.join(name))?;
        }
    }
    link_host(&rustlib)?;
    contents.sort();
    let identity = hash::hex(contents.iter().map(Vec::as_slice));
    files::write(&work.join("sysroot/identity"), identity)
}

/// Lets the compiler find its own machine's part where it looks for it.
#[cfg(unix)]
fn link_host(rustlib: &Path) -> Result<()> {
    let about = sh::output(Command::new(DEBIAN_RUSTC).arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    std::os::unix::fs::symlink(Path::new("/usr/lib/rustlib").join(host), rustlib.join(host))?;
    Ok(())
}

/// Debian's packages exist on unix only.
#[cfg(not(unix))]
fn link_host(_: &Path) -> Result<()> {
    bail!("the library can be built from Debian's sources on Debian only")
}

const EMPTY_CRATE: &str = "\
[package]
name = \"empty\"
edition = \"2024\"

[profile.release]
panic = \"abort\"

[workspace]
";

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn the_version_of_a_compiler_is_read() {
        let about = "rustc 1.96.0 (abc 2026-05-25)\nhost: x86_64\nrelease: 1.96.0\n";
        assert_eq!(version(about), Some((1, 96)));
        assert_eq!(version("release: 1.97.0-nightly"), Some((1, 97)));
        assert_eq!(version("rustc 1.96.0"), None);
    }
}
