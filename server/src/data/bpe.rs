//! A byte-pair vocabulary, learnt from a text by the crate `tokenizers`.
//!
//! The crate knows characters, not bytes: each byte goes in as a character of its own, of which only
//! the order counts. What comes out is the list of merges; the engine does the rest, in the browser
//! too.

use meshwork_engine::data::text::parts;
use meshwork_engine::data::vocabulary::{BYTES, Vocabulary, words};
use std::collections::BTreeMap;
use tokenizers::Trainer as _;
use tokenizers::models::bpe::{BPE, BpeTrainerBuilder};

/// The first of the characters that stand for bytes.
const FIRST: u32 = 0x100;

/// Learns a vocabulary of so many tokens, or as many as there are, from the part of a text that is
/// trained on; the error is what the crate says.
pub fn learn(text: &str, size: u64) -> Result<Vocabulary, String> {
    if size <= BYTES {
        return Ok(Vocabulary::default());
    }
    let mut trainer = BpeTrainerBuilder::new()
        .show_progress(false)
        .vocab_size(usize::try_from(size).unwrap_or(usize::MAX))
        .initial_alphabet((0..=u8::MAX).map(character).collect())
        .build();
    let training = parts(text).training;
    let split = |line: &str| Ok(words(line).map(spelt).collect());
    trainer.feed(std::iter::once(training), split).map_err(|e| e.to_string())?;
    let mut model = BPE::default();
    trainer.train(&mut model).map_err(|e| e.to_string())?;
    let merges = merges(&model).ok_or("the crate tokenizers names its tokens otherwise")?;
    Vocabulary::new(merges).ok_or_else(|| "a merge of the vocabulary joins no tokens".to_owned())
}

/// The merges of a model in the order in which they were learnt. It writes them as JSON only.
fn merges(model: &BPE) -> Option<Vec<(u32, u32)>> {
    let written = serde_json::to_value(model).ok()?;
    let mut ids: BTreeMap<&str, u32> = BTreeMap::new();
    for (token, id) in written["vocab"].as_object()? {
        ids.insert(token, u32::try_from(id.as_u64()?).ok()?);
    }
    let id = |token: &serde_json::Value| ids.get(token.as_str()?).copied();
    let pair = |merge: &serde_json::Value| Some((id(&merge[0])?, id(&merge[1])?));
    written["merges"].as_array()?.iter().map(pair).collect()
}

fn spelt(word: &str) -> String {
    word.bytes().map(character).collect()
}

fn character(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::shipped;
    use meshwork_engine::data::Data;
    use tokenizers::Model as _;

    fn sources() -> &'static str {
        let Data::Text(text) = &shipped::find("sources").unwrap().data else { unreachable!() };
        &text.text
    }

    #[test]
    fn the_size_is_exactly_what_was_asked_for() {
        for size in [256, 257, 300, 512] {
            assert_eq!(learn(sources(), size).unwrap().size(), size);
        }
        assert_eq!(learn(sources(), 300).unwrap(), learn(sources(), 300).unwrap());
        let few = learn("ab ab ab", 1000).unwrap();
        assert!(few.size() < 270, "{}", few.size());
    }

    #[test]
    fn tokens_are_those_of_the_crate() {
        let text = &sources()[..100_000];
        let vocabulary = learn(text, 600).unwrap();
        let tokens: Vec<String> = (0..vocabulary.size() as u32)
            .map(|id| match id {
                // These two are no part of a text that is decoded.
                0 | 255 => character(id as u8).to_string(),
                id => vocabulary.bytes(&[id]).into_iter().map(character).collect(),
            })
            .collect();
        let vocab: Vec<(String, u32)> = tokens.iter().cloned().zip(0..).collect();
        let merge = |&(a, b): &(u32, u32)| (tokens[a as usize].clone(), tokens[b as usize].clone());
        let theirs = BPE::builder()
            .vocab_and_merges(
                vocab.into_iter().collect::<tokenizers::models::bpe::Vocab>(),
                vocabulary.merges().iter().map(merge).collect(),
            )
            .build()
            .unwrap();
        let theirs: Vec<u32> = words(text)
            .flat_map(|word| theirs.tokenize(&spelt(word)).unwrap())
            .map(|token| token.id)
            .collect();
        let ours = vocabulary.encode(text);
        assert_eq!(ours, theirs);
        assert!(ours.len() < text.len() * 2 / 3, "{} of {}", ours.len(), text.len());
        assert_eq!(vocabulary.decode(&ours), text);
    }
}
