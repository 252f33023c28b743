//! The shape of the database. Each entry takes it one version up; released entries never change.

use super::StoreError;
use rusqlite::Connection;

const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE studies (
        id      TEXT PRIMARY KEY,           -- 32 digits of the hash of the text
        text    TEXT NOT NULL,
        created TEXT NOT NULL
    ) STRICT;
    CREATE TABLE runs (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT NOT NULL UNIQUE,    -- random, so that addresses are not guessed
        state      TEXT NOT NULL,
        created    TEXT NOT NULL,
        started    TEXT,
        finished   TEXT,
        text       TEXT NOT NULL,
        data       TEXT,                    -- NAME@HASH, resolved when the run was asked for
        steps      INTEGER NOT NULL,
        threads    INTEGER NOT NULL,
        memory     INTEGER NOT NULL,        -- predicted bytes of all processors
        last_step  INTEGER,
        last_loss  REAL,
        restarts   INTEGER NOT NULL DEFAULT 0,
        message    TEXT,
        next_event INTEGER NOT NULL DEFAULT 1 -- numbers of events rise over restarts too
    ) STRICT;
    CREATE INDEX runs_by_state ON runs (state, number);
    CREATE TABLE events (
        run   INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        id    INTEGER NOT NULL,
        event TEXT NOT NULL,                -- wire::run::Event as JSON
        PRIMARY KEY (run, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tables (
        number  INTEGER PRIMARY KEY AUTOINCREMENT, -- the newest of a name counts
        name    TEXT NOT NULL,
        hash    TEXT NOT NULL,
        created TEXT NOT NULL,
        columns TEXT NOT NULL,              -- JSON
        target  TEXT NOT NULL,              -- JSON
        rows    BLOB NOT NULL,              -- f64, little end first, row by row
        UNIQUE (name, hash)
    ) STRICT;
",
    "
    CREATE TABLE texts (
        number  INTEGER PRIMARY KEY AUTOINCREMENT, -- the newest of a name counts
        name    TEXT NOT NULL,                     -- of no table
        hash    TEXT NOT NULL,
        created TEXT NOT NULL,
        lines   INTEGER NOT NULL,
        text    TEXT NOT NULL,
        UNIQUE (name, hash)
    ) STRICT;
",
];

/// Takes the database to the newest version, each step in a transaction of its own.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = super::signed(MIGRATIONS.len() as u64);
    if version > known {
        return Err(StoreError::Newer { file: version, known });
    }
    for (number, sql) in (1..).zip(MIGRATIONS) {
        if number <= version {
            continue;
        }
        let transaction = connection.transaction()?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_file_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        migrate(&mut connection).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        let error = migrate(&mut connection).unwrap_err();
        assert!(matches!(error, StoreError::Newer { file: 99, .. }), "{error}");
    }
}
