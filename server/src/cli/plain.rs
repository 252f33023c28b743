//! Text for people: control characters, which a name in back quotes may hold, are shown, so that
//! no study can move the cursor or colour the screen. Every character stays one character wide.

use std::borrow::Cow;
use std::io::{self, Write};

/// Writes text without control characters, line breaks and tabs apart. It is to be given whole
/// characters, as `write!` does.
#[derive(Debug)]
pub(super) struct Plain<W>(pub(super) W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(plain(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A text with its control characters replaced by pictures of them.
fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| picture(c) == c) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(picture).collect())
}

fn picture(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        // The second set of control characters, and what turns the direction of writing.
        '\u{80}'..='\u{9f}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        let mut out = Plain(Vec::new());
        write!(out, "a\x1b[31m\u{9b}\r\u{202e}\n\tä").unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "a␛[31m\u{fffd}␍\u{fffd}\n\tä");
    }
}
