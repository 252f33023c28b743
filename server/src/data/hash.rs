//! The content hash of data, which `data:NAME@HASH` pins.
//!
//! It covers what training sees: of a table columns, target and rows, not the spelling of the CSV;
//! of a text every byte.

use super::{Data, Table, Target};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Fewest digits of a hash that pin a table.
pub const MIN_PIN: usize = 8;

/// The SHA-256 of data in hexadecimal.
pub fn data_hash(data: &Data) -> String {
    match data {
        Data::Table(table) => table_hash(table),
        Data::Text(text) => sha256(text.text.as_bytes()),
    }
}

/// The SHA-256 of a table in hexadecimal.
fn table_hash(table: &Table) -> String {
    let mut hash = Sha256::new();
    let text = |hash: &mut Sha256, s: &str| {
        hash.update((s.len() as u64).to_le_bytes());
        hash.update(s.as_bytes());
    };
    hash.update((table.columns.len() as u64).to_le_bytes());
    for column in &table.columns {
        text(&mut hash, column);
    }
    match &table.target {
        Target::Number => text(&mut hash, "number"),
        Target::Classes(names) => {
            text(&mut hash, "classes");
            hash.update((names.len() as u64).to_le_bytes());
            for name in names {
                text(&mut hash, name);
            }
        }
    }
    for value in &table.rows {
        hash.update(value.to_le_bytes());
    }
    hex(&hash.finalize())
}

/// The SHA-256 of bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut s, b| {
        // Writing to a String cannot fail.
        if write!(s, "{b:02x}").is_err() {
            s.clear();
        }
        s
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            name: "t".into(),
            columns: vec!["a".into(), "y".into()],
            rows: vec![1.0, 2.0, 3.0, 4.0],
            target: Target::Number,
        }
    }

    #[test]
    fn the_hash_covers_what_training_sees() {
        let base = table_hash(&table());
        assert_eq!(base.len(), 64);
        let mut renamed = table();
        renamed.name = "other".into();
        assert_eq!(table_hash(&renamed), base, "the table's own name does not count");
        let mut changed = table();
        changed.rows[3] = 4.5;
        assert_ne!(table_hash(&changed), base);
        let mut classes = table();
        classes.target = Target::Classes(vec!["n".into(), "y".into()]);
        assert_ne!(table_hash(&classes), base);
        let mut columns = table();
        columns.columns = vec!["ay".into(), String::new()];
        assert_ne!(table_hash(&columns), base);
    }

    #[test]
    fn sha256_of_abc_is_the_published_one() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
