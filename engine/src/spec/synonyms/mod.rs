//! Words of others: what JAX, PyTorch, `NumPy`, TensorFlow, Mesh-TensorFlow and Megatron call what
//! a study calls otherwise.
//!
//! A word that is not known is looked up here before it is taken for a misspelling of a near name:
//! `eps` is nearer to `steps` than to `epsilon`, and `argmin` is one letter away from `argmax`.
//! Where a word of ours means the same, one click writes it; where only an expression does, the
//! hint shows it; where nothing does, the hint says so and nobody is led astray.
//!
//! ```text
//! FUNCTIONS   reduce_sum → sum    argmin → argmax(-x)    erf → there is none
//! TRAIN       lr → rate           batch_size → stands elsewhere
//! VALUES      rope → rotary       true → on
//! ```

pub mod functions;
pub mod call;
pub mod train;
pub mod preset;
pub mod options;
pub mod words;

use crate::diag::{Hint, Span, nearest};

/// What is written here for a word of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// The first of these words that is known at the place.
    Word(&'static [&'static str]),
    /// An expression of so many arguments, called x, y and z. Options that were given go to its
    /// outermost function.
    Form(usize, &'static str),
    /// Nothing: a sentence says why.
    Nothing(&'static str),
    /// No word alone: a sentence says what.
    Advice(&'static str),
    /// The same, where a word is known at the place: `f32`, where types of numbers stand.
    Beside(&'static str, &'static str),
}

/// Words of others and what is written for them. Words are lower-case.
pub type Table = &'static [(&'static [&'static str], Ours)];

/// What is written for a word at a place where these are known.
pub fn find(table: Table, word: &str, known: &[&str]) -> Option<Ours> {
    let small = word.to_lowercase().replace('-', "_");
    let entries = table.iter().filter(|e| e.0.contains(&small.as_str())).map(|e| e.1);
    entries.into_iter().find_map(|ours| match ours {
        Ours::Word(words) => {
            let at = words.iter().position(|w| known.contains(w))?;
            Some(Ours::Word(&words[at..=at]))
        }
        Ours::Beside(word, says) => known.contains(&word).then_some(Ours::Advice(says)),
        Ours::Form(..) | Ours::Nothing(_) | Ours::Advice(_) => Some(ours),
    })
}

/// The hint for a word of others that stands at `span`; `whole` is what goes where nothing is
/// written for it.
pub fn hint(table: Table, word: &str, known: &[&str], span: Span, whole: Span) -> Option<Hint> {
    Some(match find(table, word, known)? {
        Ours::Word(words) => write(words.first()?, span),
        Ours::Form(_, form) => Hint::new(format!("Write `{form}`.")),
        Ours::Nothing(why) => Hint::edit(why, whole, ""),
        Ours::Advice(says) | Ours::Beside(_, says) => Hint::new(says),
    })
}

/// The hint that writes the nearest of the words that are known.
pub fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, span: Span) -> Option<Hint> {
    nearest(word, known).map(|near| write(near, span))
}

/// The hint that writes a word.
pub fn write(word: &str, span: Span) -> Hint {
    Hint::edit(format!("Write `{word}`."), span, word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const TABLES: &[Table] = &[
        functions::FUNCTIONS,
        train::TRAIN,
        preset::PRESET,
        options::BLOCK,
        options::PIPELINE,
        call::CALL,
        words::STATEMENTS,
        words::PRESETS,
        words::VALUES,
        words::INITIAL,
        words::SCHEDULES,
    ];

    #[test]
    fn words_stand_once_beside_the_same_ones_of_ours() {
        for table in TABLES {
            let mut seen = BTreeSet::new();
            for (theirs, ours) in *table {
                assert!(!theirs.is_empty());
                for word in *theirs {
                    assert_eq!(*word, word.to_lowercase());
                    assert!(seen.insert((*word, format!("{ours:?}"))), "{word}");
                }
                if let Ours::Nothing(says) | Ours::Advice(says) | Ours::Beside(_, says) = ours {
                    assert!(says.ends_with('.'), "{says}");
                }
            }
        }
    }

    #[test]
    fn the_first_word_that_is_known_is_written() {
        let found = |known: &[&str]| find(call::CALL, "axis", known);
        assert_eq!(found(&["over"]), Some(Ours::Word(&["over"])));
        assert_eq!(found(&["dim", "exclusive"]), Some(Ours::Word(&["dim"])));
        assert_eq!(found(&["stride"]), None);
        let dtype = find(words::VALUES, "bfloat16", &["f32", "f64"]);
        assert!(matches!(dtype, Some(Ours::Advice(_))));
        assert_eq!(find(words::VALUES, "bfloat16", &["sgd"]), None);
    }
}
