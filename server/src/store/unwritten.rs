//! What runs said while the database took nothing: it waits here, and readers see it as if it were
//! written. With it stays the time at which a run ended.

use super::Store;
use super::events::{end, last_step};
use meshwork_wire::api::{Run, RunState};
use meshwork_wire::run::Event;
use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

/// Events by run.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    runs: BTreeMap<String, Waiting>,
}

/// The events of one run.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// In order.
    pub(super) events: Vec<Event>,
    /// When the run ended, if it has.
    pub(super) ended: Option<String>,
}

impl Unwritten {
    /// Whether events of a run wait.
    pub(super) fn has(&self, run: &str) -> bool {
        self.runs.contains_key(run)
    }

    /// The events of a run that wait.
    pub(super) fn of(&self, run: &str) -> Option<&[Event]> {
        self.runs.get(run).map(|waiting| &*waiting.events)
    }

    /// A run with events that wait.
    pub(super) fn first(&self) -> Option<(&String, &Waiting)> {
        self.runs.first_key_value()
    }

    /// Takes events that came at `now`; nothing follows a last event.
    pub(super) fn add(&mut self, run: &str, events: &[Event], now: String) {
        let waiting = self.runs.entry(run.to_owned()).or_default();
        if waiting.ended.is_none() {
            waiting.events.extend_from_slice(events);
            waiting.ended = end(events).map(|_| now);
        }
    }

    /// Forgets the events of a run.
    pub(super) fn remove(&mut self, run: &str) {
        self.runs.remove(run);
    }

    /// A run as it is after what waits.
    pub(super) fn applied(&self, mut run: Run) -> Run {
        let Some(Waiting { events, ended }) = self.runs.get(&run.id) else { return run };
        if run.state.is_over() {
            return run;
        }
        if let Some((step, loss)) = last_step(events) {
            (run.last_step, run.last_loss) = (Some(step), Some(loss));
        }
        if let Some((state, message)) = end(events) {
            run.state = state;
            run.message = message.map(str::to_owned);
            run.finished.clone_from(ended);
        }
        run
    }

    /// How many runs are in a state, of which so many are written down to be.
    pub(super) fn counted(&self, state: RunState, written: u64) -> u64 {
        let ends = || self.runs.values().filter_map(|w| end(&w.events));
        if state == RunState::Running {
            return written.saturating_sub(ends().count() as u64);
        }
        written + ends().filter(|(ended, _)| *ended == state).count() as u64
    }
}

impl Store {
    /// What waits to be written. Whoever reads the database as well takes this first.
    pub(super) fn unwritten(&self) -> MutexGuard<'_, Unwritten> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
