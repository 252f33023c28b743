//! Runs on the server: a queue in the database, and threads that work it off.
//!
//! ```text
//!   POST /runs ─▶ row 'queued' ─▶ dispatcher: threads and memory free? ─▶ thread of the run
//!                                                                          │ events, in batches
//!   GET /runs/{id}/events ◀─ bell ◀────────────────────── row 'running', then 'done', …
//! ```
//!
//! Whatever happens to the process, the database says what is left to do: a run found `running`
//! when the store is opened was interrupted, and is queued again from its start.

pub mod prepare;
pub mod record;
pub mod thin;
pub mod sample;
pub mod train;
mod carry;

use crate::store::runs::Waiting;
use crate::store::{Store, StoreError};
use record::Bell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the dispatcher tries again where the database takes nothing.
const RETRY: Duration = Duration::from_millis(100);

/// How long the end of the process waits for what is not written down yet.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What runs may take together, and each of them by itself.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Threads.
    pub threads: u64,
    /// Bytes.
    pub memory: u64,
    /// How long no cell of a run's pipeline may move until the run is given up.
    pub patience: Duration,
}

/// The queue with its dispatcher.
#[derive(Debug)]
pub struct Queue {
    shared: Arc<Shared>,
    dispatcher: Mutex<Option<JoinHandle<()>>>,
}

/// What the dispatcher and the runs' threads share.
#[derive(Debug)]
struct Shared {
    store: Arc<Store>,
    limits: Limits,
    bell: Bell,
    going: Mutex<Going>,
    changed: Condvar,
    /// Set when the process is about to end: runs stop between steps and stay `running`.
    ending: AtomicBool,
}

/// The runs that are going on.
#[derive(Debug, Default)]
struct Going {
    runs: BTreeMap<String, Carried>,
    /// Threads of runs that are over, to be joined.
    ended: Vec<JoinHandle<()>>,
    /// Something was queued since the dispatcher last looked.
    knock: bool,
}

#[derive(Debug)]
struct Carried {
    needs: Waiting,
    cancel: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Queue {
    /// Queues the interrupted runs again and starts to work.
    pub fn start(store: Arc<Store>, limits: Limits) -> Result<Self, StoreError> {
        for run in store.requeue_interrupted()? {
            tracing::info!(run, "was interrupted, begins again");
        }
        let shared = Arc::new(Shared {
            store,
            limits,
            bell: Bell::new(0),
            going: Mutex::default(),
            changed: Condvar::new(),
            ending: AtomicBool::new(false),
        });
        let dispatcher = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name("dispatcher".to_owned())
                .spawn(move || dispatch(&shared))
        };
        let dispatcher = dispatcher.map_err(|e| StoreError::Corrupt(e.to_string()))?;
        Ok(Self { shared, dispatcher: Mutex::new(Some(dispatcher)) })
    }

    /// Rings when events were written down.
    pub fn bell(&self) -> &Bell {
        &self.shared.bell
    }

    /// Says that a run was queued.
    pub fn knock(&self) {
        self.shared.going().knock = true;
        self.shared.changed.notify_all();
    }

    /// Cancels a run: at once if it waits, after its current step if it is going on. A run that is
    /// over stays as it is.
    pub fn cancel(&self, run: &str) -> Result<(), StoreError> {
        let going = || {
            let going = self.shared.going();
            let carried = going.runs.get(run);
            carried.inspect(|carried| carried.cancel.store(true, Ordering::Relaxed)).is_some()
        };
        // It may begin between the first look and the second.
        if going() {
        } else if self.shared.store.cancel_queued(run)? {
            self.shared.bell.send_modify(|n| *n += 1);
        } else {
            going();
        }
        Ok(())
    }

    /// Stops all runs between steps and waits for them. They begin again when the store is opened
    /// the next time.
    pub fn stop(&self) {
        self.shared.ending.store(true, Ordering::Relaxed);
        self.knock();
        let dispatcher = self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if dispatcher.is_some_and(|d| d.join().is_err()) {
            tracing::error!("the dispatcher panicked");
        }
        let threads: Vec<JoinHandle<()>> = {
            let mut going = self.shared.going();
            let ended = std::mem::take(&mut going.ended);
            going.runs.values_mut().filter_map(|c| c.thread.take()).chain(ended).collect()
        };
        join(threads);
        let begun = Instant::now();
        while let Err(e) = self.shared.store.write_down() {
            if begun.elapsed() > LAST_WORDS {
                tracing::error!("what runs said last is lost, and they begin again: {e}");
                break;
            }
            std::thread::sleep(RETRY);
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn going(&self) -> MutexGuard<'_, Going> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Whether there is room for a run; a run alone always has.
    fn has_room(&self, going: &Going, needs: &Waiting) -> bool {
        let taken =
            |of: fn(&Waiting) -> u64| -> u64 { going.runs.values().map(|c| of(&c.needs)).sum() };
        going.runs.is_empty()
            || (taken(|w| w.threads) + needs.threads <= self.limits.threads
                && taken(|w| w.memory).saturating_add(needs.memory) <= self.limits.memory)
    }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("the thread of a run panicked");
        }
    }
}

/// Starts queued runs, oldest first, as room becomes free.
fn dispatch(shared: &Arc<Shared>) {
    let mut going = shared.going();
    while !shared.is_ending() {
        going.knock = false;
        // These need no lock any more: they have moved their handle here as their last act.
        join(std::mem::take(&mut going.ended));
        // Runs write down what waits as long as they have something to say; then this does.
        let mut again = shared.store.write_down().is_err();
        match shared.store.next_queued() {
            Ok(Some(needs)) if shared.has_room(&going, &needs) => {
                match start(shared, &mut going, needs) {
                    Ok(()) => continue,
                    Err(e) => {
                        tracing::debug!("the run cannot be started yet: {e}");
                        again = true;
                    }
                }
            }
            Ok(_) => {}
            Err(e) => {
                tracing::error!("the queue cannot be read: {e}");
                again = true;
            }
        }
        while !going.knock && !shared.is_ending() {
            if again {
                let waited = shared.changed.wait_timeout(going, RETRY);
                going = waited.unwrap_or_else(PoisonError::into_inner).0;
                break;
            }
            going = shared.changed.wait(going).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn start(shared: &Arc<Shared>, going: &mut Going, needs: Waiting) -> Result<(), StoreError> {
    if !shared.store.start_run(&needs.id)? {
        return Ok(()); // cancelled in between
    }
    let id = needs.id.clone();
    let cancel = Arc::new(AtomicBool::new(false));
    let thread = {
        let (shared, id, cancel) = (Arc::clone(shared), id.clone(), Arc::clone(&cancel));
        std::thread::Builder::new().name(format!("run-{id}")).spawn(move || {
            carry::carry(&shared, &id, &cancel);
            let mut going = shared.going();
            let thread = going.runs.remove(&id).and_then(|carried| carried.thread);
            going.ended.extend(thread);
            going.knock = true;
            drop(going);
            shared.changed.notify_all();
        })
    };
    match thread {
        Ok(thread) => {
            going.runs.insert(id, Carried { needs, cancel, thread: Some(thread) });
        }
        Err(e) => carry::fail(shared, &id, format!("the system gives no thread for the run: {e}")),
    }
    Ok(())
}
