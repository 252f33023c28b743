//! Threads for work that may take longer than a request handler should: planning, drawing, the
//! database. Handlers are async and only wait; tokio's own threads never compute.

use crate::problem::Problem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

type Task = Box<dyn FnOnce() + Send>;

/// A few threads that take tasks in order. They end when the desk is dropped.
#[derive(Debug, Clone)]
pub struct Desk {
    tasks: Sender<Task>,
}

impl Desk {
    /// A desk with this many threads.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let (tasks, queue) = channel::<Task>();
        let queue = Arc::new(Mutex::new(queue));
        for i in 0..threads.max(1) {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new().name(format!("desk-{i}")).spawn(move || serve(&queue))?;
        }
        Ok(Self { tasks })
    }

    /// Does `work` on a desk thread. A panic in it is a bug of ours, and stays with this request.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (answer, answered) = oneshot::channel();
        let task = move || {
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                tracing::error!("a request handler panicked");
                Err(Problem::Internal)
            });
            // The client may have gone; then nobody waits for the answer.
            drop(answer.send(result));
        };
        let sent = self.tasks.send(Box::new(task));
        if sent.is_err() {
            return Err(Problem::Internal);
        }
        answered.await.unwrap_or(Err(Problem::Internal))
    }
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
