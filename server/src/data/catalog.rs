//! Finds the table a study names: among those that ship, then among the uploaded ones.

use super::hash::MIN_PIN;
use super::name::{TEACHER, TableRef};
use super::{Table, shipped};
use crate::store::{Store, StoreError};
use meshwork_engine::diag::nearest;
use std::borrow::Cow;

/// A table at hand.
#[derive(Debug)]
pub struct Found {
    /// The table.
    pub table: Cow<'static, Table>,
    /// Its content hash.
    pub hash: String,
}

impl Found {
    /// `NAME@HASH`: this content for ever.
    pub fn pinned(&self) -> String {
        format!("{}@{}", self.table.name, self.hash)
    }
}

/// Why there is no such table.
#[derive(Debug)]
pub enum Missing {
    /// The user's mistake: what is wrong, and how to mend it (with the name to write instead, if
    /// there is one).
    Unknown {
        /// What is wrong.
        message: String,
        /// How to mend it.
        hint: String,
        /// What to write instead.
        instead: Option<String>,
    },
    /// The database's.
    Store(StoreError),
}

impl From<StoreError> for Missing {
    fn from(e: StoreError) -> Self {
        Self::Store(e)
    }
}

/// Whether the engine makes the data itself, so that no table is needed.
pub fn is_teacher(name: &str) -> bool {
    name == TEACHER
}

/// The table that `NAME` or `NAME@HASH` names. Without a store only those that ship are at hand.
pub fn find(name: &str, store: Option<&Store>) -> Result<Found, Missing> {
    let wanted = TableRef::read(name).map_err(|message| Missing::Unknown {
        message,
        hint: "Leave out `@` and what follows it to take the newest table of that name.".to_owned(),
        instead: name.split_once('@').map(|(name, _)| name.to_owned()),
    })?;
    if is_teacher(&wanted.name) {
        return Err(Missing::Unknown {
            message: format!("`{TEACHER}` is no table: it has no rows to show"),
            hint: format!("`data:{TEACHER}` makes synthetic data of any shape as a study runs."),
            instead: Some(TEACHER.to_owned()),
        });
    }
    let pin = wanted.pin.as_deref().unwrap_or("");
    if let Some(table) = shipped::find(&wanted.name) {
        if table.hash.starts_with(pin) {
            return Ok(Found { table: Cow::Borrowed(&table.table), hash: table.hash.clone() });
        }
        return Err(other_content(&wanted.name, pin, &table.hash));
    }
    let Some(store) = store else { return Err(unknown(&wanted.name, &[])) };
    if let Some((table, hash)) = store.table(&wanted.name, pin)? {
        return Ok(Found { table: Cow::Owned(table), hash });
    }
    match store.table(&wanted.name, "")? {
        Some((_, hash)) => Err(other_content(&wanted.name, pin, &hash)),
        None => {
            let uploaded: Vec<String> = store.tables()?.into_iter().map(|t| t.name).collect();
            Err(unknown(&wanted.name, &uploaded))
        }
    }
}

fn other_content(name: &str, pin: &str, hash: &str) -> Missing {
    let pinned = format!("{name}@{}", &hash[..MIN_PIN]);
    Missing::Unknown {
        message: format!(
            "no content of the table `{name}` has the hash `{pin}`; the newest has `{}`",
            &hash[..MIN_PIN]
        ),
        hint: format!("Write `{pinned}` to train on that, or upload the old content again."),
        instead: Some(pinned),
    }
}

fn unknown(name: &str, uploaded: &[String]) -> Missing {
    let shipped = shipped::ALL.iter().map(|s| s.table.name.as_str());
    let known: Vec<&str> =
        shipped.chain(uploaded.iter().map(String::as_str)).chain([TEACHER]).collect();
    let instead = nearest(name, known.iter().copied()).map(str::to_owned);
    let hint = match &instead {
        Some(near) => format!("Did you mean `{near}`?"),
        None => format!("At hand are {}.", known.join(", ")),
    };
    Missing::Unknown { message: format!("there is no table `{name}`"), hint, instead }
}
