//! Writes down what a run says: thinned, in batches, ringing the bell for those who listen.

use super::thin::Thin;
use crate::store::{Store, StoreError};
use meshwork_wire::run::Event;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Events wait at most about this long for others, so that quick steps share a transaction.
const BATCH: Duration = Duration::from_millis(100);

/// Rings when events were written down. Listeners then look into the store.
pub type Bell = watch::Sender<u64>;

/// The record of one run.
#[derive(Debug)]
pub struct Record {
    store: Arc<Store>,
    bell: Bell,
    run: String,
    thin: Thin,
    began: Instant,
    flushed: Instant,
    heard: Instant,
    pending: Vec<Event>,
}

impl Record {
    /// The record of a run of so many steps, begun now.
    pub fn new(store: Arc<Store>, bell: Bell, run: &str, steps: u64) -> Self {
        let now = Instant::now();
        Self {
            store,
            bell,
            run: run.to_owned(),
            thin: Thin::new(steps),
            began: now,
            flushed: now,
            heard: now,
            pending: Vec::new(),
        }
    }

    /// Takes an event.
    pub fn say(&mut self, event: Event) -> Result<(), StoreError> {
        let now = Instant::now();
        // After a long step the next one will be long too: do not let this event wait for it.
        let slow = now - self.heard >= BATCH / 4;
        self.heard = now;
        let urgent = slow || !matches!(event, Event::Step { .. }) || now - self.flushed >= BATCH;
        self.pending.extend(self.thin.take(event, now - self.began));
        if urgent { self.flush(now) } else { Ok(()) }
    }

    fn flush(&mut self, now: Instant) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.store.add_events(&self.run, &self.pending)?;
        self.pending.clear();
        self.flushed = now;
        self.bell.send_modify(|n| *n += 1);
        Ok(())
    }
}
