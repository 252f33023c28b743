//! Uploaded texts, every version of a name, as with tables. A name is that of a table or of a text.

use super::{Store, StoreError, unsigned};
use meshwork_engine::data::text::Text;
use meshwork_engine::data::vocabulary::Vocabulary;
use rusqlite::{OptionalExtension as _, params};

/// What is known of an uploaded text without reading it.
#[derive(Debug, Clone)]
pub struct UploadedText {
    /// Its name.
    pub name: String,
    /// Its content hash.
    pub hash: String,
    /// How long it is.
    pub bytes: u64,
    /// How many lines it has.
    pub lines: u64,
    /// When it was uploaded.
    pub created: String,
}

impl Store {
    /// Stores a text as the newest of its name; the same content again only becomes the newest.
    pub fn put_text(&self, name: &str, hash: &str, text: &str) -> Result<(), StoreError> {
        let lines = super::signed(text.lines().count() as u64);
        self.write(|connection| {
            connection.execute(
                "INSERT OR REPLACE INTO texts (name, hash, created, lines, text)
                 VALUES (?1, ?2, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ?3, ?4)",
                params![name, hash, lines, text],
            )?;
            Ok(())
        })
    }

    /// The newest version of every uploaded text, by name.
    pub fn texts(&self) -> Result<Vec<UploadedText>, StoreError> {
        let connection = self.reader();
        let mut query = connection.prepare_cached(
            "SELECT name, hash, octet_length(text), lines, created FROM texts
             WHERE number IN (SELECT max(number) FROM texts GROUP BY name) ORDER BY name",
        )?;
        let rows = query.query_map([], |row| {
            Ok(UploadedText {
                name: row.get(0)?,
                hash: row.get(1)?,
                bytes: unsigned(row.get(2)?),
                lines: unsigned(row.get(3)?),
                created: row.get(4)?,
            })
        })?;
        rows.map(|row| Ok(row?)).collect()
    }

    /// The text of a name whose hash starts with `pin`, or its newest version; with its hash.
    pub fn text(&self, name: &str, pin: &str) -> Result<Option<(Text, String)>, StoreError> {
        let connection = self.reader();
        let mut query = connection.prepare_cached(
            "SELECT hash, text FROM texts WHERE name = ?1 AND substr(hash, 1, length(?2)) = ?2
             ORDER BY number DESC LIMIT 1",
        )?;
        let found = query.query_row(params![name, pin], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        Ok(found.optional()?.map(|(hash, text)| {
            let vocabulary = Vocabulary::default();
            (Text { name: name.to_owned(), text: text.into(), vocabulary }, hash)
        }))
    }
}
