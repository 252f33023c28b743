//! What every request handler shares: the store, the queue of runs, the desk, the settings.

use crate::jobs::prepare::DEFAULT_MEMORY;
use crate::jobs::{Limits, Queue};
use crate::store::{Store, StoreError};
use crate::work::Desk;
use meshwork_engine::exec::machine::PATIENCE;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// How many requests may wait for a look into the database.
const MAX_LOOKS: usize = 1024;

/// How the server is set up.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder of the database.
    pub data: PathBuf,
    /// What runs may take together.
    pub limits: Limits,
    /// How many requests that compute may wait for a thread.
    pub waiting: usize,
    /// The names under which browsers may call the server; any if `None`. Where the server listens
    /// on loopback, a page of another site must not reach it through a name of its own.
    pub hosts: Option<Vec<String>>,
}

impl Config {
    /// The usual settings with this data folder.
    pub fn new(data: &Path) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        // At least two, so that a short run need not wait for a long one.
        let limits = Limits { threads: cores.max(2), memory: DEFAULT_MEMORY, patience: PATIENCE };
        Self { data: data.to_owned(), limits, waiting: 64, hosts: None }
    }
}

/// The state of the app; cheap to clone.
#[derive(Debug, Clone)]
pub struct State {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    // Dropped in this order: the queue ends its threads while the store is still open.
    queue: Queue,
    store: Arc<Store>,
    desk: Desk,
    window: Desk,
    config: Config,
    /// True once the server is shutting down: event streams end.
    closing: watch::Sender<bool>,
}

impl State {
    /// Opens the data folder, takes up the runs that were left, and is ready for requests.
    pub fn open(config: Config) -> Result<Self, StoreError> {
        let store = Arc::new(Store::open(&config.data)?);
        let desk = |name, threads, waiting| {
            Desk::new(name, threads, waiting)
                .map_err(|e| StoreError::Folder(config.data.clone(), e))
        };
        let window = desk("window", 2, MAX_LOOKS)?;
        let desk = desk("desk", config.limits.threads as usize, config.waiting)?;
        let queue = Queue::start(Arc::clone(&store), config.limits)?;
        let closing = watch::Sender::new(false);
        Ok(Self { inner: Arc::new(Inner { queue, store, desk, window, config, closing }) })
    }

    /// The database.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The runs.
    pub fn queue(&self) -> &Queue {
        &self.inner.queue
    }

    /// Threads for work that computes.
    pub fn desk(&self) -> &Desk {
        &self.inner.desk
    }

    /// Threads for short looks into the database and small changes of it: never for what computes.
    pub fn window(&self) -> &Desk {
        &self.inner.window
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Becomes true when the server shuts down.
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.inner.closing.subscribe()
    }

    /// Ends event streams, so that the server can come to its end.
    pub fn close(&self) {
        self.inner.closing.send_replace(true);
    }
}
