//! The thread mesh: a few worker threads that carry all processors of the mesh.
//!
//! The only file of the engine that starts threads. 512 processors need no 512 threads: the
//! workers walk the tiles of all processors' slices together, step by step. The cells of a pipeline
//! walk by themselves, each on a thread of its own with its share of the workers:
//!
//! ```text
//! 3 threads, 2 cells     cell 0: walks on a thread, 2 workers for the tiles of its steps
//!                        cell 1: walks on a thread and does its tiles itself
//! ```

use super::pool::Pool;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use std::io;
use std::thread;

/// A fixed number of worker threads.
#[derive(Debug)]
pub struct Threads {
    /// The workers; where one thread is enough, it is that of whoever has tasks.
    workers: Option<rayon::ThreadPool>,
}

impl Threads {
    /// `threads` workers (at least one); fails where the system gives no threads.
    pub fn new(threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let build = || rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Self { workers: if threads > 1 { Some(build()?) } else { None } })
    }
}

impl Pool for Threads {
    fn each<T: Send>(&self, tasks: Vec<T>, work: impl Fn(T) + Sync + Send) {
        match &self.workers {
            Some(workers) if tasks.len() > 1 => {
                workers.install(|| tasks.into_par_iter().for_each(work));
            }
            Some(_) | None => tasks.into_iter().for_each(work),
        }
    }

    fn threads(&self) -> usize {
        self.workers.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    fn divide(self, parts: usize) -> Vec<Self> {
        let threads = self.threads();
        let parts = parts.min(threads);
        if parts < 2 {
            return vec![self];
        }
        let share = |part| threads / parts + usize::from(part < threads % parts);
        let shares: Result<Vec<Self>, _> = (0..parts).map(|part| Self::new(share(part))).collect();
        shares.unwrap_or_else(|_| vec![self])
    }

    fn begin(&self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        // It ends by itself when there is nothing more to do for it.
        thread::Builder::new().name(name).spawn(work).map(drop)
    }
}
