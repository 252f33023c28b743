//! How a study names a table: `NAME`, or `NAME@HASH` to pin its content.

use super::hash::MIN_PIN;

/// A name that is no table: the synthetic teacher of the engine.
pub const TEACHER: &str = "teacher";

/// A table as a study names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRef {
    /// The name.
    pub name: String,
    /// The first digits of the content hash, if it is pinned.
    pub pin: Option<String>,
}

impl TableRef {
    /// Reads `NAME` or `NAME@HASH`; the error says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let Some((name, pin)) = text.split_once('@') else {
            return Ok(Self { name: text.to_owned(), pin: None });
        };
        let is_hex = pin.chars().all(|c| c.is_ascii_hexdigit());
        if pin.len() < MIN_PIN || pin.len() > 64 || !is_hex {
            return Err(format!(
                "`{pin}` is no content hash: after `@` stand {MIN_PIN} to 64 hexadecimal digits, \
                 as the list of tables shows them"
            ));
        }
        Ok(Self { name: name.to_owned(), pin: Some(pin.to_ascii_lowercase()) })
    }
}

/// Whether a table may have this name; the error says what names may be.
pub fn check_name(name: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && name.len() <= 64 && name.chars().all(good) {
        return Ok(());
    }
    Err(format!(
        "`{name}` is no name for a table: a name starts with a letter and has letters, digits, \
         `_`, `-` and `.`, at most 64 in all"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_pins() {
        assert_eq!(TableRef::read("iris").unwrap(), TableRef { name: "iris".into(), pin: None });
        let pinned = TableRef::read("iris@ABCDEF12").unwrap();
        assert_eq!(pinned.pin.as_deref(), Some("abcdef12"));
        assert!(TableRef::read("iris@abc").is_err(), "too short");
        assert!(TableRef::read("iris@abcdefgh").is_err(), "not hexadecimal");
        assert!(check_name("my-table_2.csv").is_ok());
        for bad in ["", "2x", "a b", "a/b", "a@b", "-a", &"a".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
