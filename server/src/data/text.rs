//! A file → text: UTF-8 that says something. What is wrong is said with its place; nothing is kept
//! of a file that has an error.

use meshwork_wire::plan::Diagnostic;

/// The text in a file, or what is wrong with it; `column` counts characters.
pub fn read(bytes: &[u8]) -> Result<String, Vec<Diagnostic>> {
    let start = bytes.len() - bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).len();
    let said =
        |at: usize, message: String, hint: &str| vec![problem(bytes, start, at, message, hint)];
    let text = std::str::from_utf8(&bytes[start..]).map_err(|e| {
        let at = start + e.valid_up_to();
        let byte = bytes.get(at).copied().unwrap_or_default();
        let message = format!("byte {at} (0x{byte:02x}) is not UTF-8 text");
        said(at, message, "Save the file in the encoding UTF-8.")
    })?;
    if let Some(at) = text.find('\0') {
        let message = format!("byte {} is 0, which no text has", start + at);
        return Err(said(start + at, message, "Save the file in the encoding UTF-8."));
    }
    if text.trim().is_empty() {
        let message = "the text is empty".to_owned();
        return Err(said(start, message, "Upload a file with something to read."));
    }
    Ok(text.to_owned())
}

/// A diagnostic at a byte; what stands before it, after `start`, is UTF-8.
fn problem(bytes: &[u8], start: usize, at: usize, message: String, hint: &str) -> Diagnostic {
    let before = String::from_utf8_lossy(&bytes[start..at]);
    let line = before.rsplit('\n').next().unwrap_or_default();
    Diagnostic {
        code: "bad-text".to_owned(),
        severity: "error".to_owned(),
        line: before.matches('\n').count() as u32 + 1,
        column: line.chars().count() as u32 + 1,
        message,
        hints: vec![hint.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_what_is_no_text_is_said() {
        assert_eq!(read("\u{feff}ä b\n".as_bytes()).unwrap(), "ä b\n");
        for (bytes, line, column, message) in [
            (&b"ab\n\xc3\xa4\xffx"[..], 2, 2, "byte 5 (0xff) is not UTF-8 text"),
            (b"\xef\xbb\xbfa\xc3", 1, 2, "byte 4 (0xc3) is not UTF-8 text"),
            (b"one\n\ntwo\0", 3, 4, "byte 8 is 0, which no text has"),
            (b"", 1, 1, "the text is empty"),
            (b" \n\t\n", 1, 1, "the text is empty"),
        ] {
            let found = read(bytes).unwrap_err().remove(0);
            assert_eq!((found.line, found.column, &*found.message), (line, column, message));
        }
    }
}
