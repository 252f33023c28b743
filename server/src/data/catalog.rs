//! Finds the data a study names: in what ships, then in what was uploaded.

use super::hash::MIN_PIN;
use super::name::{TEACHER, TableRef};
use super::{Data, shipped};
use crate::store::{Store, StoreError};
use meshwork_engine::diag::nearest;
use std::borrow::Cow;

/// Data at hand.
#[derive(Debug)]
pub struct Found {
    /// The data.
    pub data: Cow<'static, Data>,
    /// Its content hash.
    pub hash: String,
}

impl Found {
    /// `NAME@HASH`: this content for ever.
    pub fn pinned(&self) -> String {
        format!("{}@{}", self.data.name(), self.hash)
    }
}

/// Why there is no such data.
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

/// The data that `NAME` or `NAME@HASH` names. Without a store only what ships is at hand.
pub fn find(name: &str, store: Option<&Store>) -> Result<Found, Missing> {
    let wanted = TableRef::read(name).map_err(|message| Missing::Unknown {
        message,
        hint: "Leave out `@` and what follows it to take the newest data of that name.".to_owned(),
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
    if let Some(ours) = shipped::find(&wanted.name) {
        if ours.hash.starts_with(pin) {
            return Ok(Found { data: Cow::Borrowed(&ours.data), hash: ours.hash.clone() });
        }
        return Err(other_content(&wanted.name, pin, &ours.hash));
    }
    let Some(store) = store else { return Err(unknown(&wanted.name, &[])) };
    if let Some((data, hash)) = store.data(&wanted.name, pin)? {
        return Ok(Found { data: Cow::Owned(data), hash });
    }
    match store.data(&wanted.name, "")? {
        Some((_, hash)) => Err(other_content(&wanted.name, pin, &hash)),
        None => {
            let tables = store.tables()?.into_iter().map(|t| t.name);
            let texts = store.texts()?.into_iter().map(|t| t.name);
            Err(unknown(&wanted.name, &tables.chain(texts).collect::<Vec<_>>()))
        }
    }
}

fn other_content(name: &str, pin: &str, hash: &str) -> Missing {
    let pinned = format!("{name}@{}", &hash[..MIN_PIN]);
    Missing::Unknown {
        message: format!(
            "no content of `{name}` has the hash `{pin}`; the newest has `{}`",
            &hash[..MIN_PIN]
        ),
        hint: format!("Write `{pinned}` to train on that, or upload the old content again."),
        instead: Some(pinned),
    }
}

fn unknown(name: &str, uploaded: &[String]) -> Missing {
    let shipped = shipped::ALL.iter().map(|s| s.data.name());
    let known: Vec<&str> =
        shipped.chain(uploaded.iter().map(String::as_str)).chain([TEACHER]).collect();
    let instead = nearest(name, known.iter().copied()).map(str::to_owned);
    let hint = match &instead {
        Some(near) => format!("Did you mean `{near}`?"),
        None => format!("At hand are {}.", known.join(", ")),
    };
    Missing::Unknown { message: format!("there is no data set `{name}`"), hint, instead }
}
