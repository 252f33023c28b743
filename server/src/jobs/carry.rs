//! The thread of one run: from its row to its last event.

use super::Shared;
use super::prepare::{NotReady, Source, Wishes, prepare};
use super::record::Record;
use super::train::{Job, Listener, NotRun, train};
use crate::store::Store;
use crate::store::parameters::Parameters;
use meshwork_engine::diag::Diagnostic;
use meshwork_wire::run::Event;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Carries a run to its end. Whatever happens, the run has a last event afterwards, unless the
/// process is ending.
pub(super) fn carry(shared: &Shared, id: &str, cancel: &AtomicBool) {
    let result = catch_unwind(AssertUnwindSafe(|| attempt(shared, id, cancel)));
    match result {
        Ok(Ok(())) => {}
        Ok(Err(message)) => fail(shared, id, message),
        Err(_) => {
            let message = "the engine broke down, which is a bug in Meshwork; please report it \
                           with the study";
            fail(shared, id, message.to_owned());
        }
    }
}

/// Ends a run as failed.
pub(super) fn fail(shared: &Shared, id: &str, message: String) {
    tracing::warn!(run = id, message, "failed");
    if let Err(e) = shared.store.add_events(id, &[Event::Failed { message }]) {
        tracing::error!("the end of a run cannot be written down: {e}");
    }
    shared.bell.send_modify(|n| *n += 1);
}

fn attempt(shared: &Shared, id: &str, cancel: &AtomicBool) -> Result<(), String> {
    let run = shared.store.run(id).map_err(|e| e.to_string())?;
    let Some(run) = run else { return Ok(()) };
    let source = match &run.data {
        Some(name) => Source::Pinned(name, &shared.store),
        None => Source::Catalog(Some(&shared.store)),
    };
    let wishes = Wishes::within(shared.limits.memory);
    let ready = prepare(&run.text, source, wishes).map_err(|e| match e {
        NotReady::Study(list) => in_words(&list),
        NotReady::Memory(diagnostic) => in_words(&[diagnostic]),
        NotReady::Store(e) => e.to_string(),
    })?;
    let job = Job {
        study: &ready.study,
        data: ready.data.as_ref().map(|found| &*found.data),
        steps: run.steps,
        threads: run.threads as usize,
        check: false,
        print: &[],
        sample: None,
        patience: shared.limits.patience,
    };
    let record = Record::new(Arc::clone(&shared.store), shared.bell.clone(), id, run.steps);
    let store = &shared.store;
    let mut listener = Writer { record, store, id, cancel, ending: &shared.ending, broken: None };
    tracing::info!(run = id, steps = run.steps, "starts");
    train(&job, &mut listener).map_err(|e| match e {
        NotRun::Study(list) => in_words(&list),
        NotRun::Threads(message) => message,
    })?;
    listener.broken.map_or(Ok(()), Err)
}

/// The first error, with its first mend.
fn in_words(diagnostics: &[Diagnostic]) -> String {
    let Some(first) = diagnostics.iter().find(|d| d.is_error()) else { return String::new() };
    let hint = first.hints.first().map_or("", |h| h.text.as_str());
    let stop = if hint.is_empty() { "" } else { ": " };
    format!("{}{stop}{hint}", first.message)
}

/// Writes what a run says into its record.
struct Writer<'a> {
    record: Record,
    store: &'a Store,
    id: &'a str,
    cancel: &'a AtomicBool,
    ending: &'a AtomicBool,
    /// Why the record could not be written.
    broken: Option<String>,
}

impl Listener for Writer<'_> {
    fn say(&mut self, event: Event) -> ControlFlow<()> {
        match self.record.say(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.broken = Some(format!("what the run says cannot be written down: {e}"));
                ControlFlow::Break(())
            }
        }
    }

    fn trained(&mut self, parameters: impl FnOnce() -> Parameters) -> ControlFlow<()> {
        match self.store.put_parameters(self.id, &parameters()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.broken = Some(format!("the parameters of the run cannot be kept: {e}"));
                ControlFlow::Break(())
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }
}
