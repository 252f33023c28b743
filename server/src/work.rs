//! Threads for work that may take longer than a request handler should: planning, drawing, the
//! database. Handlers are async and only wait; tokio's own threads never compute.
//!
//! There are two desks, one for what computes and one for short looks into the database, so that
//! however much is being planned, the server still says how it is. A desk takes so many tasks and
//! no more: who comes then is asked to come again, and a task whose client has gone is not begun.

use crate::problem::Problem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

type Task = Box<dyn FnOnce() + Send>;

/// How long a request waits for a thread.
const PATIENCE: Duration = Duration::from_secs(20);

/// A few threads that take tasks in order. They end when the desk is dropped.
#[derive(Debug, Clone)]
pub struct Desk {
    tasks: SyncSender<Task>,
}

impl Desk {
    /// A desk with this many threads, at which so many tasks may wait.
    pub fn new(name: &str, threads: usize, waiting: usize) -> std::io::Result<Self> {
        let (tasks, queue) = sync_channel::<Task>(waiting);
        let queue = Arc::new(Mutex::new(queue));
        for i in 0..threads.max(1) {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new().name(format!("{name}-{i}")).spawn(move || serve(&queue))?;
        }
        Ok(Self { tasks })
    }

    /// Does `work` on a desk thread. A panic in it is a bug of ours, and stays with this request.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (answer, answered) = oneshot::channel();
        let (begin, begun) = oneshot::channel::<()>();
        let task = move || {
            if answer.is_closed() {
                return; // the client has gone
            }
            drop(begin);
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                tracing::error!("a request handler panicked");
                Err(Problem::Internal)
            });
            // The client may have gone meanwhile; then nobody waits for the answer.
            drop(answer.send(result));
        };
        match self.tasks.try_send(Box::new(task)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(overloaded()),
            Err(TrySendError::Disconnected(_)) => return Err(Problem::Internal),
        }
        // It is dropped when the work begins.
        if timeout(PATIENCE, begun).await.is_err() {
            return Err(overloaded());
        }
        answered.await.unwrap_or(Err(Problem::Internal))
    }
}

fn overloaded() -> Problem {
    let detail = "All threads are at work and as many requests wait as may; try again later.";
    Problem::Busy { detail: detail.to_owned(), seconds: 5 }
}

fn serve(queue: &Mutex<Receiver<Task>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(task) => task(),
            Err(_) => return,
        }
    }
}
