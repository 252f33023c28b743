//! What must outlive the process: stored studies, runs with their events, uploaded tables; one
//! SQLite file in the data folder.
//!
//! A run is a row before it is acknowledged. Every change is one transaction, so that a process
//! killed at any moment leaves a file that opens. One process owns the folder at a time.

mod migrate;
pub mod runs;
pub mod events;
pub mod studies;
pub mod tables;

use rusqlite::Connection;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The open store.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    /// Held while the store is open; the operating system lets go of it when the process dies.
    _owner: File,
}

/// Why the store could not do what it was asked.
#[derive(Debug)]
pub enum StoreError {
    /// The data folder cannot be made or opened.
    Folder(PathBuf, std::io::Error),
    /// Another process has the data folder open.
    InUse(PathBuf),
    /// The file was written by a newer Meshwork.
    Newer {
        /// Version of the file.
        file: i64,
        /// The newest version this build reads.
        known: i64,
    },
    /// SQLite said no.
    Sqlite(rusqlite::Error),
    /// A stored row does not say what it should.
    Corrupt(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(path, e) => {
                write!(
                    f,
                    "the data folder {} cannot be used: {e}; choose another by --data DIR",
                    path.display()
                )
            }
            Self::InUse(path) => write!(
                f,
                "another meshwork serves the data folder {}; end it, or choose another by --data DIR",
                path.display()
            ),
            Self::Newer { file, known } => write!(
                f,
                "the data folder was written by a newer Meshwork (version {file}, this one knows \
                 {known}); use that one, or another folder by --data DIR"
            ),
            Self::Sqlite(e) => write!(f, "the database cannot do it: {e}"),
            Self::Corrupt(what) => write!(f, "the database holds what it should not: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sqlite(e)
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(e: serde_json::Error) -> Self {
        Self::Corrupt(e.to_string())
    }
}

impl Store {
    /// Opens the store in a folder, which is made when missing.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let folder_error = |e| StoreError::Folder(folder.to_owned(), e);
        std::fs::create_dir_all(folder).map_err(folder_error)?;
        let owner = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join("meshwork.lock"))
            .map_err(folder_error)?;
        own(&owner).map_err(|e| match e {
            TryLockError::WouldBlock => StoreError::InUse(folder.to_owned()),
            TryLockError::Error(e) => folder_error(e),
        })?;
        let mut connection = Connection::open(folder.join("meshwork.db"))?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        migrate::migrate(&mut connection)?;
        Ok(Self { connection: Mutex::new(connection), _owner: owner })
    }

    /// The connection. A panic elsewhere leaves no half-done transaction, so poison is no matter.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks the folder. A process that is just ending may still hold it for a moment.
fn own(file: &File) -> Result<(), TryLockError> {
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(50)),
            other => return other,
        }
    }
    file.try_lock()
}

/// SQLite's integers are signed; what is stored here is far below 2^63.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
