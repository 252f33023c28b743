//! What must outlive the process: stored studies, runs with their events, uploaded data: one
//! SQLite file in the data folder, and beside it a file of parameters for each run that can write.
//!
//! A run is a row before it is acknowledged. Every change is one transaction, so that a process
//! killed at any moment leaves a file that opens. One process owns the folder at a time; other
//! programs may still lock the file. Reading goes on then, a change gives up soon, and what runs
//! say waits in memory, where readers find it, until it can be written ([`unwritten`]).

mod migrate;
pub mod runs;
pub mod events;
pub mod studies;
pub mod tables;
pub mod texts;
pub mod parameters;
pub mod unwritten;

use rusqlite::{Connection, ErrorCode};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use unwritten::Unwritten;

/// How long a change waits for another program's lock. It is waited for once: while the lock
/// stays, further changes give up at once.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long opening waits.
const OPENING: Duration = Duration::from_secs(5);

/// The open store.
#[derive(Debug)]
pub struct Store {
    /// Changes the database. Whoever waits for another program's lock does not hold it.
    writer: Mutex<Connection>,
    /// Reads it, which no change keeps from doing so.
    reader: Mutex<Connection>,
    /// Whether the last change met a lock.
    barred: AtomicBool,
    unwritten: Mutex<Unwritten>,
    /// Where the parameters of runs are.
    folder: PathBuf,
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
    /// The file cannot be opened as a database.
    Broken(PathBuf, rusqlite::Error),
    /// Another program holds the database at the moment.
    Locked,
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
            Self::Broken(path, e) => write!(
                f,
                "the database {} cannot be opened: {e}; mend it or move it away, or choose another \
                 folder by --data DIR",
                path.display()
            ),
            Self::Locked => f.write_str("another program has locked the database"),
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
        match e.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            _ => Self::Sqlite(e),
        }
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
        let file = folder.join("meshwork.db");
        let (writer, reader) = open_both(&file).map_err(|e| match e {
            StoreError::Sqlite(e) => StoreError::Broken(file, e),
            other => other,
        })?;
        Ok(Self {
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
            barred: AtomicBool::new(false),
            unwritten: Mutex::default(),
            folder: folder.to_owned(),
            _owner: owner,
        })
    }

    /// The connection that reads. A panic elsewhere leaves no half-done transaction, so poison is
    /// no matter.
    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the database, waiting a little where it is locked.
    fn write<T>(
        &self,
        work: impl Fn(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        loop {
            match self.attempt(&work) {
                Err(StoreError::Locked)
                    if !self.barred.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE =>
                {
                    std::thread::sleep(Duration::from_millis(10));
                }
                result => {
                    self.barred.store(matches!(result, Err(StoreError::Locked)), Ordering::Relaxed);
                    return result;
                }
            }
        }
    }

    /// Changes the database unless it is locked.
    fn attempt<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Opens the database for changes and for reading, in its newest version.
fn open_both(file: &Path) -> Result<(Connection, Connection), StoreError> {
    let mut writer = Connection::open(file)?;
    writer.busy_timeout(OPENING)?;
    writer.pragma_update(None, "journal_mode", "WAL")?;
    writer.pragma_update(None, "synchronous", "NORMAL")?;
    writer.pragma_update(None, "foreign_keys", true)?;
    migrate::migrate(&mut writer)?;
    writer.busy_timeout(Duration::ZERO)?;
    let reader = Connection::open(file)?;
    reader.busy_timeout(PATIENCE)?;
    reader.pragma_update(None, "query_only", true)?;
    Ok((writer, reader))
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
