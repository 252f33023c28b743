//! The thread mesh: a few worker threads that carry all processors of the mesh.
//!
//! The only file of the engine that starts threads. 512 processors need no 512 threads: the
//! workers walk the tiles of all processors' slices together, step by step.

use super::pool::Pool;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

/// A fixed number of worker threads.
#[derive(Debug)]
pub struct Threads {
    pool: rayon::ThreadPool,
}

impl Threads {
    /// `threads` workers (at least one); fails where the system gives no threads.
    pub fn new(threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
        Ok(Self { pool })
    }
}

impl Pool for Threads {
    fn each<T: Send>(&self, tasks: Vec<T>, work: impl Fn(T) + Sync + Send) {
        if tasks.len() < 2 || self.threads() == 1 {
            tasks.into_iter().for_each(work);
        } else {
            self.pool.install(|| tasks.into_par_iter().for_each(work));
        }
    }

    fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}
