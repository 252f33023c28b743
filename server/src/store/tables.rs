//! Uploaded tables. Every version of a name is kept, so that a pinned study goes on training on
//! the rows it was written for; the newest counts where nothing is pinned.

use super::{Store, StoreError, unsigned};
use crate::data::{Data, Table, Target};
use meshwork_wire::api;
use rusqlite::{OptionalExtension as _, params};

/// What is known of an uploaded table without its rows.
#[derive(Debug, Clone)]
pub struct Uploaded {
    /// Its name.
    pub name: String,
    /// Its content hash.
    pub hash: String,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// What the last column holds.
    pub target: Target,
    /// How many rows.
    pub rows: u64,
    /// When it was uploaded.
    pub created: String,
}

impl Store {
    /// Stores a table as the newest of its name; the same content again only becomes the newest.
    pub fn put_table(&self, table: &Table, hash: &str) -> Result<(), StoreError> {
        let rows: Vec<u8> = table.rows.iter().flat_map(|v| v.to_le_bytes()).collect();
        let target = serde_json::to_string(&crate::convert::target(&table.target))?;
        let columns = serde_json::to_string(&table.columns)?;
        self.write(|connection| {
            connection.execute(
                "INSERT OR REPLACE INTO tables (name, hash, created, columns, target, rows)
                 VALUES (?1, ?2, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ?3, ?4, ?5)",
                params![table.name, hash, columns, target, rows],
            )?;
            Ok(())
        })
    }

    /// The newest version of every uploaded table, by name.
    pub fn tables(&self) -> Result<Vec<Uploaded>, StoreError> {
        let connection = self.reader();
        let mut query = connection.prepare_cached(
            "SELECT name, hash, columns, target, length(rows), created FROM tables
             WHERE number IN (SELECT max(number) FROM tables GROUP BY name) ORDER BY name",
        )?;
        let mut rows = query.query([])?;
        let mut tables = Vec::new();
        while let Some(row) = rows.next()? {
            let columns: Vec<String> = serde_json::from_str(&row.get::<_, String>(2)?)?;
            let bytes = unsigned(row.get(4)?);
            tables.push(Uploaded {
                name: row.get(0)?,
                hash: row.get(1)?,
                target: read_target(&row.get::<_, String>(3)?)?,
                rows: bytes / 8 / (columns.len() as u64).max(1),
                columns,
                created: row.get(5)?,
            });
        }
        Ok(tables)
    }

    /// The table of a name whose hash starts with `pin`, or its newest version; with its hash.
    pub fn table(&self, name: &str, pin: &str) -> Result<Option<(Table, String)>, StoreError> {
        let connection = self.reader();
        let mut query = connection.prepare_cached(
            "SELECT hash, columns, target, rows FROM tables
             WHERE name = ?1 AND substr(hash, 1, length(?2)) = ?2
             ORDER BY number DESC LIMIT 1",
        )?;
        let row = query.query_row(params![name, pin], |row| {
            let rows: Vec<u8> = row.get(3)?;
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, rows))
        });
        let Some((hash, columns, target, bytes)) = row.optional()? else { return Ok(None) };
        let (values, _) = bytes.as_chunks::<8>();
        let table = Table {
            name: name.to_owned(),
            columns: serde_json::from_str(&columns)?,
            rows: values.iter().map(|v| f64::from_le_bytes(*v)).collect(),
            target: read_target(&target)?,
        };
        Ok(Some((table, hash)))
    }

    /// Removes all versions of a table or text; false when there was none.
    pub fn remove_data(&self, name: &str) -> Result<bool, StoreError> {
        self.write(|connection| {
            let tables = connection.execute("DELETE FROM tables WHERE name = ?1", [name])?;
            Ok(tables + connection.execute("DELETE FROM texts WHERE name = ?1", [name])? > 0)
        })
    }

    /// The data of a name whose hash starts with `pin`, or its newest version; with its hash.
    pub fn data(&self, name: &str, pin: &str) -> Result<Option<(Data, String)>, StoreError> {
        if let Some((table, hash)) = self.table(name, pin)? {
            return Ok(Some((Data::Table(table), hash)));
        }
        Ok(self.text(name, pin)?.map(|(text, hash)| (Data::Text(text), hash)))
    }
}

fn read_target(json: &str) -> Result<Target, StoreError> {
    Ok(match serde_json::from_str(json)? {
        api::Target::Number => Target::Number,
        api::Target::Classes { names } => Target::Classes(names),
    })
}
