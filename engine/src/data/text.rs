//! A text to train on, and its division into a part to train on and a part held out.
//!
//! The text is cut at line ends into blocks of about 4096 bytes at most, at least ten of them; every
//! tenth is held out. So both parts have something of everything, whatever the order of the text.

use super::vocabulary::Vocabulary;
use std::sync::Arc;

/// About the most bytes of a block.
const BLOCK: usize = 4096;

/// Of so many blocks one, the last, is held out.
const OF: usize = 10;

/// A text and how it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Its name.
    pub name: String,
    /// All of it.
    pub text: Arc<str>,
    /// Its tokens.
    pub vocabulary: Vocabulary,
}

/// The two parts of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// What is trained on.
    pub training: String,
    /// What is held out.
    pub held_out: String,
}

/// Divides a text.
pub fn parts(text: &str) -> Parts {
    let blocks = OF * text.len().div_ceil(OF * BLOCK).max(1);
    let mut parts = Parts::default();
    for (i, block) in cut(text, blocks).into_iter().enumerate() {
        let part = if i % OF == OF - 1 { &mut parts.held_out } else { &mut parts.training };
        part.push_str(block);
    }
    parts
}

/// A text in so many blocks of as many lines each, give or take one; where there are fewer lines
/// than blocks, of as many bytes.
fn cut(text: &str, blocks: usize) -> Vec<&str> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut ends = Vec::new();
    if lines.len() >= blocks {
        let (mut line, mut end) = (0, 0);
        for i in 1..=blocks {
            let next = lines.len() * i / blocks;
            end += lines[line..next].iter().map(|l| l.len()).sum::<usize>();
            line = next;
            ends.push(end);
        }
    } else {
        let at = |i: usize| text.len() * i / blocks;
        let whole = |at: usize| (at..text.len()).find(|&i| text.is_char_boundary(i));
        ends.extend((1..=blocks).map(|i| whole(at(i)).unwrap_or(text.len())));
    }
    let begins = std::iter::once(0).chain(ends.iter().copied());
    begins.zip(&ends).map(|(begin, &end)| &text[begin..end]).collect()
}

/// How many words begin within a piece of text after `before`: a word begins where white space, or
/// nothing, stands before something else.
pub fn words_begun(before: &[u8], piece: &[u8]) -> u64 {
    let mut after_space = before.last().is_none_or(u8::is_ascii_whitespace);
    let mut count = 0;
    for byte in piece {
        let space = byte.is_ascii_whitespace();
        count += u64::from(after_space && !space);
        after_space = space;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_held_out_in_whole_lines() {
        let text: String = (0..5000).map(|i| format!("line {i} of the text\n")).collect();
        let Parts { training, held_out } = parts(&text);
        assert_eq!(training.len() + held_out.len(), text.len());
        let share = held_out.len() as f64 / text.len() as f64;
        assert!((0.08..0.12).contains(&share), "{share}");
        assert!(training.ends_with('\n') && held_out.ends_with('\n'));
        for line in text.lines() {
            let of = |part: &str| part.lines().filter(|l| *l == line).count();
            assert_eq!(of(&training) + of(&held_out), 1, "{line}");
        }
        assert_eq!(parts(&text), parts(&text));
    }

    #[test]
    fn texts_without_lines_are_cut_between_characters() {
        for text in ["", "é", "ab", "ééééééééééééééééé", &"é".repeat(30_000)] {
            let Parts { training, held_out } = parts(text);
            assert_eq!(training.len() + held_out.len(), text.len());
        }
        assert!(!parts(&"x".repeat(100)).held_out.is_empty());
    }

    #[test]
    fn short_texts_keep_their_lines_whole() {
        let text: String = (0..12).map(|i| format!("{i}\t{}\n", "word ".repeat(i))).collect();
        let Parts { training, held_out } = parts(&text);
        assert!(!held_out.is_empty() && !training.is_empty());
        for line in training.lines().chain(held_out.lines()) {
            assert!(line.contains('\t'), "{line}");
        }
    }

    #[test]
    fn a_word_counts_where_it_begins() {
        assert_eq!(words_begun(b"", b"one two\n three"), 3);
        assert_eq!(words_begun(b"on", b"e two"), 1);
        assert_eq!(words_begun(b"one ", b"two "), 1);
    }
}
