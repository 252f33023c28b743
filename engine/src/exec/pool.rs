//! Who does the work: a list of independent tasks, done by one thread or by several.
//!
//! A task's result never depends on who does it or when, so a run is the same, bit for bit, on any
//! number of threads.

/// Does lists of independent tasks.
pub trait Pool: Send {
    /// Does every task; returns when all are done.
    fn each<T: Send>(&self, tasks: Vec<T>, work: impl Fn(T) + Sync + Send);

    /// How many threads work.
    fn threads(&self) -> usize;
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
