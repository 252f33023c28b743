//! Numbers in JSON, which knows neither NaN nor infinities: those are the strings `NaN`, `Infinity`
//! and `-Infinity`, which JavaScript's `Number()` and Python's `float()` read.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number, or the word for one that is not finite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Numeral {
    /// A finite number.
    Number(f64),
    /// `NaN`, `Infinity` or `-Infinity`.
    Word(String),
}

impl From<f64> for Numeral {
    fn from(x: f64) -> Self {
        let word = match x {
            f64::INFINITY => "Infinity",
            f64::NEG_INFINITY => "-Infinity",
            x if x.is_nan() => "NaN",
            x => return Self::Number(x),
        };
        Self::Word(word.to_owned())
    }
}

impl From<Numeral> for f64 {
    fn from(numeral: Numeral) -> Self {
        match numeral {
            Numeral::Number(x) => x,
            Numeral::Word(word) => word.parse().unwrap_or(Self::NAN),
        }
    }
}

/// A list of numbers.
pub(crate) mod list {
    use super::{Deserialize as _, Deserializer, Numeral, Serializer};

    pub(crate) fn serialize<S: Serializer>(list: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(list.iter().map(|&x| Numeral::from(x)))
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<f64>, D::Error> {
        // `null` is what was written once.
        let list = Vec::<Option<Numeral>>::deserialize(from)?;
        Ok(list.into_iter().map(|x| x.map_or(f64::NAN, f64::from)).collect())
    }
}

/// A number that may be missing.
pub(crate) mod option {
    use super::{Deserialize as _, Deserializer, Numeral, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "serde asks for this")]
    pub(crate) fn serialize<S: Serializer>(x: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        x.map(Numeral::from).serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Numeral>::deserialize(from)?.map(f64::from))
    }
}
