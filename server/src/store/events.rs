//! The events of runs, and the states that follow from them.

use super::{Store, StoreError, signed, unsigned};
use meshwork_wire::api::{NumberedEvent, RunState};
use meshwork_wire::run::Event;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

impl Store {
    /// Appends events of a run, in one transaction with what they mean for its row. Events of a
    /// run that is over already are dropped: nothing follows the last event. Where the database
    /// takes nothing at the moment they wait in memory; only one thread adds to a run at a time.
    pub fn add_events(&self, run: &str, events: &[Event]) -> Result<(), StoreError> {
        if self.unwritten().has(run) {
            let now = self.now();
            self.unwritten().add(run, events, now);
            // What is in the way was said when it got there.
            drop(self.write_down());
            return Ok(());
        }
        match self.write(|connection| append_alone(connection, run, events, None)) {
            Err(e @ (StoreError::Locked | StoreError::Sqlite(_))) => {
                tracing::warn!(run, "what the run says waits in memory: {e}");
                let now = self.now();
                self.unwritten().add(run, events, now);
                Ok(())
            }
            result => result,
        }
    }

    /// Writes down what waits in memory, as far as the database takes it.
    pub fn write_down(&self) -> Result<(), StoreError> {
        // Readers wait meanwhile: they find an event in one place, not in both or none.
        let mut unwritten = self.unwritten();
        while let Some((run, waiting)) = unwritten.first() {
            let ended = waiting.ended.as_deref();
            self.attempt(|connection| append_alone(connection, run, &waiting.events, ended))?;
            let run = run.clone();
            unwritten.remove(&run);
        }
        Ok(())
    }

    /// Whether something waits in memory.
    pub fn has_unwritten(&self) -> bool {
        self.unwritten().first().is_some()
    }

    /// The time, as the database writes it.
    fn now(&self) -> String {
        let sql = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
        self.reader().query_row(sql, [], |row| row.get(0)).unwrap_or_default()
    }

    /// Ends a queued run; false when it is not queued.
    pub fn cancel_queued(&self, run: &str) -> Result<bool, StoreError> {
        self.write(|connection| {
            let sql = "SELECT count(*) FROM runs WHERE id = ?1 AND state = 'queued'";
            let count = |c: &Connection| c.query_row(sql, [run], |row| row.get::<_, i64>(0));
            // Most often it is not, and then nothing is to be written.
            if count(connection)? == 0 {
                return Ok(false);
            }
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let queued = count(&transaction)? == 1;
            if queued {
                append(&transaction, run, &[Event::Cancelled { step: 0 }], None)?;
            }
            transaction.commit()?;
            Ok(queued)
        })
    }

    /// Queues again, from their start, the runs that were going on when the process ended. What
    /// they had said is dropped, and a `restarted` event stands in its place.
    pub fn requeue_interrupted(&self) -> Result<Vec<String>, StoreError> {
        self.write(requeue)
    }

    /// Events of a run after a number, at most `limit`.
    pub fn events(
        &self,
        run: &str,
        after: u64,
        limit: u64,
    ) -> Result<Vec<NumberedEvent>, StoreError> {
        let unwritten = self.unwritten();
        let connection = self.reader();
        let mut query = connection.prepare_cached(
            "SELECT e.id, e.event FROM events e JOIN runs r ON r.number = e.run
             WHERE r.id = ?1 AND e.id > ?2 ORDER BY e.id LIMIT ?3",
        )?;
        let rows = query.query_map(params![run, signed(after), signed(limit)], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        let written = rows.map(|row| {
            let (id, event) = row?;
            Ok(NumberedEvent { id: unsigned(id), event: serde_json::from_str(&event)? })
        });
        let mut events = written.collect::<Result<Vec<_>, StoreError>>()?;
        if let Some(waiting) = unwritten.of(run) {
            let sql = "SELECT next_event FROM runs WHERE id = ?1";
            let next: i64 =
                connection.query_row(sql, [run], |row| row.get(0)).optional()?.unwrap_or(1);
            let numbered = (unsigned(next)..).zip(waiting).filter(|&(id, _)| id > after);
            let numbered = numbered.map(|(id, event)| NumberedEvent { id, event: event.clone() });
            let left = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(events.len());
            events.extend(numbered.take(left));
        }
        Ok(events)
    }
}

impl Store {
    /// What a run has said last.
    pub fn last_event(&self, run: &str) -> Result<Option<Event>, StoreError> {
        let unwritten = self.unwritten();
        if let Some(event) = unwritten.of(run).and_then(<[Event]>::last) {
            return Ok(Some(event.clone()));
        }
        let connection = self.reader();
        let mut query = connection.prepare_cached(
            "SELECT e.event FROM events e JOIN runs r ON r.number = e.run
             WHERE r.id = ?1 ORDER BY e.id DESC LIMIT 1",
        )?;
        let event = query.query_row([run], |row| row.get::<_, String>(0)).optional()?;
        Ok(event.map(|event| serde_json::from_str(&event)).transpose()?)
    }
}

fn requeue(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let interrupted: Vec<(String, i64)> = {
        let mut query = transaction
            .prepare("SELECT id, restarts FROM runs WHERE state = 'running' ORDER BY number")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    for (id, restarts) in &interrupted {
        transaction.execute(
            "DELETE FROM events WHERE run = (SELECT number FROM runs WHERE id = ?1)",
            [id],
        )?;
        transaction.execute(
            "UPDATE runs SET state = 'queued', started = NULL, last_step = NULL,
                 last_loss = NULL, restarts = restarts + 1 WHERE id = ?1",
            [id],
        )?;
        let message = "The server ended while the run was going on; it begins again at step 0.";
        let times = unsigned(restarts + 1);
        append(&transaction, id, &[Event::Restarted { times, message: message.to_owned() }], None)?;
    }
    transaction.commit()?;
    Ok(interrupted.into_iter().map(|(id, _)| id).collect())
}

fn append_alone(
    connection: &mut Connection,
    run: &str,
    events: &[Event],
    ended: Option<&str>,
) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    append(&transaction, run, events, ended)?;
    Ok(transaction.commit()?)
}

/// Appends events; a run that ends with them ended at `ended`, or else now.
fn append(
    transaction: &Transaction<'_>,
    run: &str,
    events: &[Event],
    ended: Option<&str>,
) -> Result<(), StoreError> {
    let mut find = transaction.prepare_cached(
        "SELECT number, next_event FROM runs WHERE id = ?1 AND state IN ('queued', 'running')",
    )?;
    let row = find.query_row([run], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((number, first)): Option<(i64, i64)> = row else { return Ok(()) };
    let mut insert =
        transaction.prepare_cached("INSERT INTO events (run, id, event) VALUES (?1, ?2, ?3)")?;
    for (id, event) in (first..).zip(events) {
        insert.execute(params![number, id, serde_json::to_string(event)?])?;
    }
    transaction
        .prepare_cached("UPDATE runs SET next_event = next_event + ?2 WHERE number = ?1")?
        .execute(params![number, signed(events.len() as u64)])?;
    if let Some((step, loss)) = last_step(events) {
        transaction
            .prepare_cached("UPDATE runs SET last_step = ?2, last_loss = ?3 WHERE number = ?1")?
            .execute(params![number, signed(step), loss])?;
    }
    let Some((state, message)) = end(events) else { return Ok(()) };
    transaction
        .prepare_cached(
            "UPDATE runs SET state = ?2, message = ?3,
             finished = coalesce(?4, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) WHERE number = ?1",
        )?
        .execute(params![number, state.name(), message, ended])?;
    Ok(())
}

/// The latest step of these events, with its loss.
pub(super) fn last_step(events: &[Event]) -> Option<(u64, f64)> {
    events.iter().rev().find_map(|e| match e {
        Event::Step { step, loss } => Some((*step, *loss)),
        _ => None,
    })
}

/// The state in which a run is after its last event, with the reason; nothing before that.
pub(super) fn end(events: &[Event]) -> Option<(RunState, Option<&str>)> {
    match events.last()? {
        Event::Done { .. } => Some((RunState::Done, None)),
        Event::Diverged { message, .. } => Some((RunState::Diverged, Some(message))),
        Event::Cancelled { .. } => Some((RunState::Cancelled, None)),
        Event::Failed { message } => Some((RunState::Failed, Some(message))),
        Event::Step { .. }
        | Event::Validation { .. }
        | Event::Value { .. }
        | Event::Sample { .. }
        | Event::Restarted { .. } => None,
    }
}
