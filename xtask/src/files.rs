//! Files and folders, with errors that name them.

use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The content of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// Writes a file, and the folders it lies in.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let folders = path.parent().map_or(Ok(()), fs::create_dir_all);
    folders
        .and_then(|()| fs::write(path, content))
        .with_context(|| format!("writing {}", path.display()))
}

/// What lies in a folder, in order.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>());
    let mut paths = entries.with_context(|| format!("reading {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// Every file below a folder by its path below it, with `/` between, in order.
pub(crate) fn below(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for path in list(folder)? {
        let name = name(&path);
        if path.is_dir() {
            files.extend(below(&path)?.into_iter().map(|file| format!("{name}/{file}")));
        } else {
            files.push(name);
        }
    }
    Ok(files)
}

/// The last part of a path.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(())
}
