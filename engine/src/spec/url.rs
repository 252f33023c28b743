//! The study in the address bar.
//!
//! A link is `#1=` and the deflated text in base64url without padding; the number is the version
//! of this format, and a version once released keeps opening. A readable query is understood as
//! well: `?mesh=rows:2,cols:2&layout=batch:rows,hidden:cols&model=two_layer`.

use crate::diag::{Code, Diagnostic, Hint, Span};
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

/// The longest link that is opened, in characters of its encoded part.
pub const MAX_ENCODED: usize = 64 << 10;

/// The longest text that a link may hold, in bytes.
pub const MAX_DECODED: usize = 1 << 20;

/// Links beyond this many characters are cut by some chat programs.
pub const LONG_LINK: usize = 8000;

/// The statements that a readable query may hold, in the order they get in the text.
const QUERY: &[&str] = &["mesh", "layout", "model", "dims", "train", "pipeline", "hardware"];

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// The fragment that holds a text: `#1=…`.
pub fn encode(text: &str) -> String {
    format!("#1={}", BASE64.encode(compress_to_vec(text.as_bytes(), 9)))
}

/// Whether a link may hold a text: those that decoding takes.
pub fn fits(text: &str) -> Result<(), Diagnostic> {
    if text.len() > MAX_DECODED {
        let len = text.len();
        return Err(too_long(&format!(
            "The text has {len} bytes; a link holds at most {MAX_DECODED}"
        )));
    }
    Ok(())
}

/// Whether the link of a text is too long for chat programs.
pub fn is_long(text: &str) -> bool {
    encode(text).len() > LONG_LINK
}

/// The text in a fragment (`#1=…`) or a query (`?mesh=…`), alone or at the end of an address;
/// `None` where neither holds a study.
pub fn decode(link: &str) -> Result<Option<String>, Diagnostic> {
    let link = link.trim();
    let (before, fragment) = match link.split_once('#') {
        Some((before, fragment)) => (before, fragment),
        None if version(link.trim_start_matches('/')).is_some() => ("", link),
        None => (link, ""),
    };
    if let Some((number, payload)) = version(fragment.trim_start_matches('/')) {
        return if number == "1" { version_1(payload).map(Some) } else { Err(unknown(number)) };
    }
    query(before.rsplit_once('?').map_or(before, |(_, query)| query))
}

/// `1` and `…` of `1=…`.
fn version(fragment: &str) -> Option<(&str, &str)> {
    let (number, payload) = fragment.split_once('=')?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some((number, payload))
}

fn error(code: Code, message: &str, mend: &str) -> Diagnostic {
    Diagnostic::error(code, Span::default(), message).hint(Hint::new(mend))
}

fn unknown(number: &str) -> Diagnostic {
    let number = number.get(..20).unwrap_or(number);
    error(
        Code::BadLink,
        &format!("The link is of version {number}; this Meshwork opens links of version 1"),
        "Open it with a newer Meshwork, or ask its sender for the text.",
    )
}

fn cut_short(what: &str) -> Diagnostic {
    error(
        Code::BadLink,
        &format!("The link holds no study: {what}"),
        "It was cut short or altered on its way. Copy the whole link again, or ask for the text.",
    )
}

fn too_long(what: &str) -> Diagnostic {
    error(
        Code::TooLarge,
        what,
        "Keep data in a data set (`data:NAME`) rather than in the text, or send the text itself.",
    )
}

fn version_1(payload: &str) -> Result<String, Diagnostic> {
    if payload.len() > MAX_ENCODED {
        let len = payload.len();
        let what = format!("The link has {len} characters; at most {MAX_ENCODED} are opened");
        return Err(too_long(&what));
    }
    let payload = percent_decode(payload)?;
    let deflated = BASE64
        .decode(payload.trim_end_matches(['=', ' ']))
        .map_err(|e| cut_short(&format!("after `#1=` base64url is expected ({e})")))?;
    let bytes = decompress_to_vec_with_limit(&deflated, MAX_DECODED).map_err(|e| {
        if e.status == TINFLStatus::HasMoreOutput {
            too_long(&format!("The text in the link is longer than {MAX_DECODED} bytes"))
        } else {
            cut_short("what it holds cannot be inflated")
        }
    })?;
    String::from_utf8(bytes).map_err(|e| cut_short(&format!("what it holds is no text ({e})")))
}

fn query(query: &str) -> Result<Option<String>, Diagnostic> {
    let mut statements: Vec<(usize, String)> = Vec::new();
    for pair in query.split('&') {
        let Some((key, value)) = pair.split_once('=') else { continue };
        let Some(order) = QUERY.iter().position(|&word| word == key) else { continue };
        if query.len() > MAX_ENCODED {
            let len = query.len();
            let what = format!("The link has {len} characters; at most {MAX_ENCODED} are opened");
            return Err(too_long(&what));
        }
        let value = percent_decode(&plus_to_space(key, value))?;
        if value.contains(['\n', '\r']) {
            return Err(error(
                Code::BadLink,
                &format!("The value of `{key}` in the link has several lines"),
                "Give each statement a parameter of its own: `?mesh=rows:2&layout=batch:rows`.",
            ));
        }
        statements.push((order, format!("{key} {}", value.trim())));
    }
    statements.sort_by_key(|&(order, _)| order);
    let lines = statements.iter().map(|(_, line)| format!("{}\n", line.trim_end()));
    Ok(Some(lines.collect::<String>()).filter(|text| !text.is_empty()))
}

/// Forms write a space as `+`. In a layout it also joins mesh dimensions: there it is a space only
/// where the next pair begins.
fn plus_to_space(key: &str, value: &str) -> String {
    if key != "layout" {
        return value.replace('+', " ");
    }
    let mut out = String::with_capacity(value.len());
    for (i, piece) in value.split('+').enumerate() {
        let first = piece.split([',', '.', ';', ' ']).next().unwrap_or(piece);
        if i > 0 {
            let begins = first.is_empty() || first.contains(':') || first.contains("%3");
            out.push(if begins { ' ' } else { '+' });
        }
        out.push_str(piece);
    }
    out
}

/// Replaces `%XX`; a `%` that no two digits follow stays.
fn percent_decode(text: &str) -> Result<String, Diagnostic> {
    let hex = |b: Option<&u8>| (*b? as char).to_digit(16);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).map_err(|e| cut_short(&format!("its `%` codes are no text ({e})")))
}
