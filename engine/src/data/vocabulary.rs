//! How a text becomes ids of tokens, and ids text again.
//!
//! Ids 0 to 255 are bytes. A byte-pair vocabulary goes on from there: each merge of two tokens that
//! often stand side by side is one more (Sennrich et al. 2016). A vocabulary is its list of merges,
//! and that of bytes the empty list.
//!
//! ```text
//!   merges [(116,104), (256,101)]      "the other" ─▶ 257 ' ' 'o' 257 'r'
//!           t   h      th   e
//! ```
//!
//! Merges never cross from one word into the next: a word is a run of letters, of digits or of other
//! signs, with the space before it.

use std::collections::BTreeMap;

/// The id that no text has: in front of a sequence, and behind one that is shorter than its row.
pub const PADDING: u32 = 0;

/// The id that ends a sequence of a pair: a byte that UTF-8 never has.
pub const END: u32 = 255;

/// Ids that are bytes.
pub const BYTES: u64 = 256;

/// The longest word in characters; what is longer is cut.
const MAX_WORD: usize = 64;

/// Tokens and their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocabulary {
    merges: Vec<(u32, u32)>,
    /// The bytes of each token.
    pieces: Vec<Vec<u8>>,
    /// What two tokens side by side become, and how early.
    joins: BTreeMap<(u32, u32), Join>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Join {
    rank: u32,
    id: u32,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Self {
            merges: Vec::new(),
            pieces: (0..=u8::MAX).map(|byte| vec![byte]).collect(),
            joins: BTreeMap::new(),
        }
    }
}

impl Vocabulary {
    /// The vocabulary of these merges, in the order in which they were learnt; nothing if one of
    /// them joins what is no token yet.
    pub fn new(merges: Vec<(u32, u32)>) -> Option<Self> {
        let mut all = Self::default();
        let mut ids: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for (rank, &(a, b)) in (0..).zip(&merges) {
            let piece = |id: u32| all.pieces.get(id as usize);
            let joined = [piece(a)?.as_slice(), piece(b)?].concat();
            // The same token can be reached in two ways: `a bc` and `ab c`.
            let id = *ids.entry(joined).or_insert_with_key(|joined| {
                all.pieces.push(joined.clone());
                all.pieces.len() as u32 - 1
            });
            all.joins.entry((a, b)).or_insert(Join { rank, id });
        }
        all.merges = merges;
        Some(all)
    }

    /// The merges, in the order in which they were learnt; none for bytes.
    pub fn merges(&self) -> &[(u32, u32)] {
        &self.merges
    }

    /// How many ids there are.
    pub fn size(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// The ids of a text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        if self.merges.is_empty() {
            return text.bytes().map(u32::from).collect();
        }
        let mut known: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        let mut ids = Vec::new();
        for word in words(text) {
            ids.extend_from_slice(known.entry(word).or_insert_with(|| self.merged(word)));
        }
        ids
    }

    /// A word's ids: the earliest merge that applies is made first, the leftmost of equals before
    /// the others.
    fn merged(&self, word: &str) -> Vec<u32> {
        let mut ids: Vec<u32> = word.bytes().map(u32::from).collect();
        loop {
            let joins = ids.windows(2).enumerate().filter_map(|(at, pair)| {
                let join = self.joins.get(&(*pair.first()?, *pair.last()?))?;
                Some((join.rank, at, join.id))
            });
            let Some((_, at, id)) = joins.min() else { return ids };
            ids.splice(at..at + 2, [id]);
        }
    }

    /// The bytes that ids stand for; padding and ends stand for none.
    pub fn bytes(&self, ids: &[u32]) -> Vec<u8> {
        let spoken = ids.iter().filter(|&&id| id != PADDING && id != END);
        spoken.filter_map(|&id| self.pieces.get(id as usize)).flatten().copied().collect()
    }

    /// The text that ids stand for; bytes that are no text are shown as `�`.
    pub fn decode(&self, ids: &[u32]) -> String {
        String::from_utf8_lossy(&self.bytes(ids)).into_owned()
    }
}

/// The words of a text, within which tokens are merged; together they are the text. A word is a run
/// of letters, of digits, of other signs, each with the space before it, or of white space.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (word, after) = rest.split_at(word(rest));
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    Space,
    Sign,
}

fn kind(c: char) -> Kind {
    match c {
        c if c.is_alphabetic() || c == '_' => Kind::Letter,
        c if c.is_numeric() => Kind::Digit,
        c if c.is_whitespace() => Kind::Space,
        _ => Kind::Sign,
    }
}

/// How long the first word is in bytes.
fn word(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let lead = text.strip_prefix(' ').and_then(|rest| rest.chars().next());
    let (own, skip) = match lead.map(kind) {
        Some(own) if own != Kind::Space => (own, 1),
        _ => (kind(first), 0),
    };
    let run = |(_, c): &(usize, char)| kind(*c) == own;
    let ends = text[skip..].char_indices().take_while(run).take(MAX_WORD);
    let (count, end) = ends.fold((0, skip), |(n, _), (at, c)| (n + 1, skip + at + c.len_utf8()));
    // The last space before a word is the word's.
    let follows = text[end..].chars().next().is_some_and(|c| kind(c) != Kind::Space);
    let gives = own == Kind::Space && follows && count > 1 && text[..end].ends_with(' ');
    end - usize::from(gives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_the_space_before_them() {
        let split = |text| words(text).collect::<Vec<_>>();
        assert_eq!(split("let x_1 = é2;"), ["let", " x_", "1", " =", " é", "2", ";"]);
        assert_eq!(split("a\n    b  "), ["a", "\n   ", " b", "  "]);
        assert_eq!(split("a\t b"), ["a", "\t", " b"]);
        assert!(split("").is_empty());
        assert_eq!(split(&"x".repeat(150)).len(), 3, "long words are cut");
        let text = " \n\n  fn ok(x: u8)\t->\u{a0}u8 {}  \n";
        assert_eq!(words(text).collect::<String>(), text);
    }

    #[test]
    fn bytes_are_their_own_ids() {
        let bytes = Vocabulary::default();
        assert_eq!(bytes.size(), BYTES);
        assert_eq!(bytes.encode("aé"), [97, 0xc3, 0xa9]);
        assert_eq!(bytes.decode(&[97, 0xc3, 0xa9, END, PADDING]), "aé");
        assert_eq!(bytes.decode(&[0xc3, 97]), "\u{fffd}a");
    }

    #[test]
    fn merges_are_made_in_their_order_within_words() {
        let merges = vec![(116, 104), (256, 101), (104, 101), (116, 258)];
        let vocabulary = Vocabulary::new(merges).unwrap();
        assert_eq!(vocabulary.size(), BYTES + 3, "`t he` is `th e` again");
        assert_eq!(vocabulary.encode("the"), [257]);
        assert_eq!(vocabulary.encode("hehe the"), [258, 258, 32, 257]);
        assert_eq!(vocabulary.encode("t he"), [116, 32, 258]);
        assert_eq!(vocabulary.decode(&[257, 32, 258]), "the he");
        assert!(Vocabulary::new(vec![(300, 1)]).is_none());
    }
}
