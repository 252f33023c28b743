//! Studies stored under their content hash, for links too long for a chat.

use super::{Store, StoreError};
use crate::data::hash::sha256;
use rusqlite::{OptionalExtension as _, params};

/// Digits of the hash that make the id.
const ID_DIGITS: usize = 32;

impl Store {
    /// Stores a study; the same text always has the same id.
    pub fn put_study(&self, text: &str) -> Result<String, StoreError> {
        let mut id = sha256(text.as_bytes());
        id.truncate(ID_DIGITS);
        self.write(|connection| {
            connection.execute(
                "INSERT INTO studies (id, text, created)
                 VALUES (?1, ?2, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) ON CONFLICT DO NOTHING",
                params![id, text],
            )?;
            Ok(())
        })?;
        Ok(id)
    }

    /// The text of a stored study.
    pub fn study(&self, id: &str) -> Result<Option<String>, StoreError> {
        let connection = self.reader();
        let mut query = connection.prepare_cached("SELECT text FROM studies WHERE id = ?1")?;
        Ok(query.query_row([id], |row| row.get(0)).optional()?)
    }
}
