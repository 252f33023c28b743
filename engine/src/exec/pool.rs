//! Who does the work: a list of independent tasks, done by one thread or by several.
//!
//! A task's result never depends on who does it or when, so a run is the same, bit for bit, on any
//! number of threads.

use std::io;

/// Does lists of independent tasks.
pub trait Pool: Send + Sized + 'static {
    /// Does every task; returns when all are done.
    fn each<T: Send>(&self, tasks: Vec<T>, work: impl Fn(T) + Sync + Send);

    /// How many threads work.
    fn threads(&self) -> usize;

    /// Pools that share its threads and work beside each other, at most `parts` of them; itself
    /// where it has too few threads, or none can be had.
    #[must_use]
    fn divide(self, parts: usize) -> Vec<Self> {
        let _: usize = parts;
        vec![self]
    }

    /// Begins work on a thread of its own, beside the caller's, and does not wait for it: what
    /// walks through a cell's part of the Program, while its pool does the tasks. Where there are no
    /// threads, as in the browser, it does not begin.
    fn begin(&self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        drop((name, work));
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// One thread, the caller's: the browser, and the proof run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Pool for Alone {
    fn each<T: Send>(&self, tasks: Vec<T>, work: impl Fn(T) + Sync + Send) {
        tasks.into_iter().for_each(work);
    }

    fn threads(&self) -> usize {
        1
    }
}
