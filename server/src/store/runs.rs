//! Runs as rows.

use super::{Store, StoreError, signed, unsigned};
use meshwork_wire::api::{Run, RunState};
use rusqlite::{OptionalExtension as _, Row, params};

/// What a run is before it has happened.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The study.
    pub text: String,
    /// Its table as `NAME@HASH`.
    pub data: Option<String>,
    /// Steps to take.
    pub steps: u64,
    /// Threads to take them on.
    pub threads: u64,
    /// Predicted bytes of all processors.
    pub memory: u64,
}

/// A queued run, and what it needs to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its id.
    pub id: String,
    /// Threads it takes.
    pub threads: u64,
    /// Bytes it takes.
    pub memory: u64,
}

const COLUMNS: &str = "id, state, created, started, finished, text, data, steps, threads, \
                       last_step, last_loss, restarts, message";
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

impl Store {
    /// Writes a run down as queued.
    pub fn add_run(&self, run: &NewRun) -> Result<Run, StoreError> {
        let sql = format!(
            "INSERT INTO runs (id, state, created, text, data, steps, threads, memory)
             VALUES (lower(hex(randomblob(8))), 'queued', {NOW}, ?1, ?2, ?3, ?4, ?5)
             RETURNING {COLUMNS}"
        );
        let NewRun { text, data, steps, threads, memory } = run;
        let values = params![text, data, signed(*steps), signed(*threads), signed(*memory)];
        self.write(|connection| connection.query_row(&sql, values, |row| Ok(read(row)))?)
    }

    /// A run.
    pub fn run(&self, id: &str) -> Result<Option<Run>, StoreError> {
        let unwritten = self.unwritten();
        let connection = self.reader();
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
        let mut query = connection.prepare_cached(&sql)?;
        let run = query.query_row([id], |row| Ok(read(row))).optional()?.transpose()?;
        Ok(run.map(|run| unwritten.applied(run)))
    }

    /// Runs, newest first, older than the run `before` if that is given.
    pub fn runs(&self, limit: u64, before: Option<&str>) -> Result<Vec<Run>, StoreError> {
        let unwritten = self.unwritten();
        let connection = self.reader();
        let sql = format!(
            "SELECT {COLUMNS} FROM runs
             WHERE ?2 IS NULL OR number < (SELECT number FROM runs WHERE id = ?2)
             ORDER BY number DESC LIMIT ?1"
        );
        let mut query = connection.prepare_cached(&sql)?;
        let rows = query.query_map(params![signed(limit), before], |row| Ok(read(row)))?;
        rows.map(|row| Ok(unwritten.applied(row??))).collect()
    }

    /// How many runs are in a state.
    pub fn count_runs(&self, state: RunState) -> Result<u64, StoreError> {
        let unwritten = self.unwritten();
        let connection = self.reader();
        let mut query = connection.prepare_cached("SELECT count(*) FROM runs WHERE state = ?1")?;
        let written = unsigned(query.query_row([state.name()], |row| row.get(0))?);
        Ok(unwritten.counted(state, written))
    }

    /// The run that has been queued longest.
    pub fn next_queued(&self) -> Result<Option<Waiting>, StoreError> {
        let connection = self.reader();
        let mut query = connection.prepare_cached(
            "SELECT id, threads, memory FROM runs WHERE state = 'queued' ORDER BY number LIMIT 1",
        )?;
        let waiting = query.query_row([], |row| {
            Ok(Waiting {
                id: row.get(0)?,
                threads: unsigned(row.get(1)?),
                memory: unsigned(row.get(2)?),
            })
        });
        Ok(waiting.optional()?)
    }

    /// Turns a queued run into a running one; false when it is no longer queued. It does not wait
    /// for a lock.
    pub fn start_run(&self, id: &str) -> Result<bool, StoreError> {
        let sql = format!(
            "UPDATE runs SET state = 'running', started = {NOW} WHERE id = ?1 AND state = 'queued'"
        );
        self.attempt(|connection| Ok(connection.execute(&sql, [id])? == 1))
    }

    /// Removes a run that is over, with its events; false when it is not over or not there.
    pub fn remove_run(&self, id: &str) -> Result<bool, StoreError> {
        self.write_down()?;
        let sql = "DELETE FROM runs WHERE id = ?1 AND state NOT IN ('queued', 'running')";
        let removed = self.write(|connection| Ok(connection.execute(sql, [id])? == 1))?;
        if removed {
            self.remove_parameters(id);
        }
        Ok(removed)
    }
}

fn read(row: &Row<'_>) -> Result<Run, StoreError> {
    let state: String = row.get("state")?;
    let state = RunState::ALL.into_iter().find(|s| s.name() == state);
    let number = |column: &str| Ok::<_, rusqlite::Error>(unsigned(row.get(column)?));
    Ok(Run {
        id: row.get("id")?,
        state: state.ok_or_else(|| StoreError::Corrupt("an unknown state of a run".to_owned()))?,
        created: row.get("created")?,
        started: row.get("started")?,
        finished: row.get("finished")?,
        text: row.get("text")?,
        data: row.get("data")?,
        steps: number("steps")?,
        threads: number("threads")?,
        last_step: row.get::<_, Option<i64>>("last_step")?.map(unsigned),
        last_loss: row.get("last_loss")?,
        restarts: number("restarts")?,
        message: row.get("message")?,
    })
}
