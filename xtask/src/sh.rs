//! Other programs: how the tasks call them, and where the project's folders are.

use anyhow::{Context as _, Result, bail};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// Where cargo puts what it builds: the folder this program was itself built into.
pub(crate) fn target() -> PathBuf {
    let built = env::current_exe().ok();
    let target = built.as_deref().and_then(|exe| exe.parent()?.parent());
    target
        .filter(|dir| dir.join("CACHEDIR.TAG").exists())
        .map_or_else(|| root().join("target"), Path::to_path_buf)
}

/// The folder with the built studio, which the server embeds. It does not follow cargo's target
/// folder, since the server finds it by its place in the workspace.
pub(crate) fn studio() -> PathBuf {
    root().join("target/studio")
}

/// The `meshwork` binary of the release profile.
pub(crate) fn meshwork() -> PathBuf {
    target().join("release").join(format!("meshwork{}", env::consts::EXE_SUFFIX))
}

/// Cargo, run in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.current_dir(root());
    cargo
}

/// A cargo command that builds: with its progress on a terminal, quiet in a log.
pub(crate) fn cargo_build(command: &str) -> Command {
    let mut cargo = cargo();
    cargo.arg(command);
    if !io::stderr().is_terminal() {
        cargo.arg("--quiet");
    }
    cargo
}

/// Runs a command that talks to the terminal itself; an error if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", name(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs a command and returns what it wrote to standard output; an error if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {}", name(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed ({}): {}", shown(command), output.status, said.trim());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` wrote something that is not text", shown(command)))
}

/// The first of the programs that stands in a folder of `PATH`.
pub(crate) fn find(programs: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    programs
        .iter()
        .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
        .find(|file| file.is_file())
}

/// Whether this is Debian and we may install its packages.
pub(crate) fn may_install_debian_packages() -> bool {
    let about = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    about.lines().any(|line| line == "ID=debian")
        && output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Installs Debian packages, without removing others.
pub(crate) fn install_debian_packages(packages: &[&str]) -> Result<()> {
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").stdout(Stdio::null());
        apt
    };
    run(apt().arg("update"))?;
    run(apt().args(["install", "--yes", "--no-install-recommends", "--no-remove"]).args(packages))
}

/// The name of a program.
pub(crate) fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn shown(command: &Command) -> String {
    let file = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(file).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
