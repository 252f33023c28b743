//! Characters, words and numbers of the study text, and how it falls into lines.
//!
//! A line is code and, from the first `#` outside back quotes on, a comment. What a run of
//! characters means depends on the statement (`.` separates pairs in `mesh` and is part of a
//! number elsewhere), so there is no token list: the parser asks for what it expects.

use crate::diag::Span;

/// The longest text that is parsed, in bytes.
pub const MAX_TEXT: usize = 4 << 20;

/// The largest size of a dimension.
pub const MAX_SIZE: u64 = 1 << 40;

/// The words that start a statement, in the order of the reference.
pub const STATEMENTS: &[&str] = &[
    "mesh", "layout", "model", "dims", "input", "param", "state", "block", "end", "train",
    "pipeline", "hardware",
];

/// White space within a line, a byte order mark included.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// What may follow the first character of a name without back quotes.
pub fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What a name may start with.
pub fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// What a name in `mesh`, `layout` and `dims` may hold without back quotes; `a-b_c/d` is a name in
/// Mesh-TensorFlow's strings.
pub fn is_pair_name_char(c: char) -> bool {
    is_name_char(c) || c == '-' || c == '/'
}

/// What is taken for one name where back quotes are missing: `layer.0.w`, `a-b/c`.
pub fn is_odd_name_char(c: char) -> bool {
    is_pair_name_char(c) || c == '.'
}

/// What a value of an option may hold without back quotes: `tpu-v2`, `NAME@HASH`, `-1e-3`.
pub fn is_word_char(c: char) -> bool {
    is_name_char(c) || matches!(c, '-' | '.' | '@' | '/' | '+')
}

/// Whether a name is written without back quotes.
pub fn is_bare_name(name: &str) -> bool {
    name.starts_with(is_name_start) && name.chars().all(is_name_char)
}

/// Whether the value of an option is a word that is written without back quotes.
pub fn is_bare_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_word_char) && number(word).is_none()
}

/// Whether a name can be written at all: in back quotes there is no way to write a back quote.
pub fn is_writable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['`', '\n'])
}

/// A name as it is written, in back quotes where it needs them.
pub fn written(name: &str) -> String {
    let mut out = String::new();
    write_name(&mut out, name);
    out
}

/// Writes a name, in back quotes where it needs them.
pub fn write_name(out: &mut String, name: &str) {
    if is_bare_name(name) {
        out.push_str(name);
    } else {
        out.push('`');
        out.push_str(name);
        out.push('`');
    }
}

/// Length in bytes of the number at the start of `text`, without a sign; 0 if there is none.
pub fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(0);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return 0;
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// The number that `text` as a whole is: `8`, `.5`, `-1e-3`. Beyond the range it is infinite.
pub fn number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned.is_empty() || number_len(unsigned) != unsigned.len() {
        return None;
    }
    text.parse().ok()
}

/// Length in bytes of the name at the start of `text`, back quotes included; 0 if there is none.
pub fn name_len(text: &str) -> usize {
    if let Some(rest) = text.strip_prefix('`') {
        return match rest.find('`') {
            Some(0) | None => 0,
            Some(close) => close + 2,
        };
    }
    if text.starts_with(is_name_start) { run_len(text, is_name_char) } else { 0 }
}

/// Length in bytes of the longest start of `text` that only holds such characters.
pub fn run_len(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}

/// The code of a line and its comment, both without the white space around them.
pub fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut quoted = false;
    let comment = line.char_indices().find(|&(_, c)| {
        quoted ^= c == '`';
        c == '#' && !quoted
    });
    match comment {
        Some((at, _)) => {
            (line[..at].trim_matches(is_space), Some(line[at..].trim_end_matches(is_space)))
        }
        None => (line.trim_matches(is_space), None),
    }
}

/// The lines of a text with the offset of their first byte, without line breaks.
pub fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let mut offset = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = offset as u32;
        offset += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        (start, line.strip_suffix('\r').unwrap_or(line))
    })
}

/// The line break a text uses.
pub fn line_break(text: &str) -> &'static str {
    let first = text.find('\n');
    if first.is_some_and(|at| text[..at].ends_with('\r')) { "\r\n" } else { "\n" }
}

/// Where the part of a slice `inner` of `text` stands.
pub fn span_within(text: &str, inner: &str) -> Span {
    let start = (inner.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    Span::new(start as u32, (start + inner.len()) as u32)
}

/// A piece of the text for a message: in back quotes, shortened, control characters spelled out.
pub fn shown(piece: &str) -> String {
    const LONGEST: usize = 40;
    let unquoted = piece.strip_prefix('`').and_then(|p| p.strip_suffix('`'));
    let piece = unquoted.filter(|p| !p.is_empty()).unwrap_or(piece);
    let mut out = String::from("`");
    for (i, c) in piece.chars().enumerate() {
        if i == LONGEST {
            out.push('…');
            break;
        }
        let invisible = c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}');
        if invisible {
            out.extend(c.escape_unicode());
        } else {
            out.push(if c == '`' { '\'' } else { c });
        }
    }
    out.push('`');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, value) in
            [("1", 1.0), (".5", 0.5), ("5.", 5.0), ("1e-3", 1e-3), ("-2E+2", -200.0), ("+7", 7.0)]
        {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in ["", ".", "-", "1_000", "1e", "e5", "2bp", "inf", "nan", "1.2.3", "٣"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(number_len("1e-x"), 1);
        assert_eq!(number("1e999"), Some(f64::INFINITY));
    }

    #[test]
    fn comments_start_outside_back_quotes() {
        assert_eq!(split_comment(" a = `b#c` # d \r"), ("a = `b#c`", Some("# d")));
        assert_eq!(split_comment("a `b # c"), ("a `b # c", None));
        assert_eq!(split_comment("#"), ("", Some("#")));
    }

    #[test]
    fn lines_keep_offsets() {
        let lines: Vec<_> = lines("a\r\n\nb").collect();
        assert_eq!(lines, [(0, "a"), (3, ""), (4, "b")]);
        assert_eq!(line_break("a\r\nb\n"), "\r\n");
        assert_eq!(line_break("a"), "\n");
    }

    #[test]
    fn shown_shortens_and_spells_out() {
        assert_eq!(shown("a\0b"), "`a\\u{0}b`");
        assert_eq!(shown(&"x".repeat(50)).chars().count(), 43);
    }
}
