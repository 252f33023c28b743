//! The events of runs, and the states that follow from them.

use super::{Store, StoreError, signed, unsigned};
use meshwork_wire::api::{NumberedEvent, RunState};
use meshwork_wire::run::Event;
use rusqlite::{OptionalExtension as _, Transaction, params};

impl Store {
    /// Appends events of a run, in one transaction with what they mean for its row. Events of a
    /// run that is over already are dropped: nothing follows the last event.
    pub fn add_events(&self, run: &str, events: &[Event]) -> Result<(), StoreError> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        append(&transaction, run, events)?;
        Ok(transaction.commit()?)
    }

    /// Ends a queued run; false when it is not queued.
    pub fn cancel_queued(&self, run: &str) -> Result<bool, StoreError> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let sql = "SELECT count(*) FROM runs WHERE id = ?1 AND state = 'queued'";
        let queued: i64 = transaction.query_row(sql, [run], |row| row.get(0))?;
        if queued == 1 {
            append(&transaction, run, &[Event::Cancelled { step: 0 }])?;
        }
        transaction.commit()?;
        Ok(queued == 1)
    }

    /// Queues again, from their start, the runs that were going on when the process ended. What
    /// they had said is dropped, and a `restarted` event stands in its place.
    pub fn requeue_interrupted(&self) -> Result<Vec<String>, StoreError> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
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
            append(&transaction, id, &[Event::Restarted { times, message: message.to_owned() }])?;
        }
        transaction.commit()?;
        Ok(interrupted.into_iter().map(|(id, _)| id).collect())
    }

    /// Events of a run after a number, at most `limit`.
    pub fn events(
        &self,
        run: &str,
        after: u64,
        limit: u64,
    ) -> Result<Vec<NumberedEvent>, StoreError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached(
            "SELECT e.id, e.event FROM events e JOIN runs r ON r.number = e.run
             WHERE r.id = ?1 AND e.id > ?2 ORDER BY e.id LIMIT ?3",
        )?;
        let rows = query.query_map(params![run, signed(after), signed(limit)], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        rows.map(|row| {
            let (id, event) = row?;
            Ok(NumberedEvent { id: unsigned(id), event: serde_json::from_str(&event)? })
        })
        .collect()
    }
}

fn append(transaction: &Transaction<'_>, run: &str, events: &[Event]) -> Result<(), StoreError> {
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
    let last_step = events.iter().rev().find_map(|e| match e {
        Event::Step { step, loss } => Some((*step, *loss)),
        _ => None,
    });
    if let Some((step, loss)) = last_step {
        transaction
            .prepare_cached("UPDATE runs SET last_step = ?2, last_loss = ?3 WHERE number = ?1")?
            .execute(params![number, signed(step), loss])?;
    }
    let Some(last) = events.last().filter(|e| e.is_last()) else { return Ok(()) };
    let (state, message) = match last {
        Event::Done { .. } => (RunState::Done, None),
        Event::Diverged { message, .. } => (RunState::Diverged, Some(message)),
        Event::Cancelled { .. } => (RunState::Cancelled, None),
        Event::Failed { message } => (RunState::Failed, Some(message)),
        Event::Step { .. }
        | Event::Validation { .. }
        | Event::Value { .. }
        | Event::Restarted { .. } => return Ok(()),
    };
    transaction
        .prepare_cached(
            "UPDATE runs SET state = ?2, message = ?3,
             finished = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE number = ?1",
        )?
        .execute(params![number, state.name(), message])?;
    Ok(())
}
