//! The studio, embedded in the binary as `cargo xtask build` leaves it in `target/studio/`: files
//! with hashed names, each with compressed siblings (`.br`, `.gz`).

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use files::Files;
use rust_embed::EmbeddedFile;
use std::fmt::Write as _;

#[expect(clippy::same_name_method, reason = "the derive gives methods and a trait of one name")]
mod files {
    /// The files of `target/studio/`.
    #[derive(Debug, rust_embed::RustEmbed)]
    #[folder = "../target/studio/"]
    pub(super) struct Files;
}

/// What the page may do: run its own scripts and WebAssembly, in workers too, and talk to this
/// server. Styles may be set by scripts.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
                      style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      worker-src 'self' blob:; connect-src 'self'; object-src 'none'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'self'";

/// The page of the studio: `/`, and `/runs/{id}`, which the page itself reads.
pub async fn index(method: Method, headers: HeaderMap) -> Response {
    file(&method, "/index.html", &headers)
}

/// A file of the studio.
pub fn file(method: &Method, path: &str, headers: &HeaderMap) -> Response {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let name = path.trim_start_matches('/');
    let is_sibling = has_ending(name, "br") || has_ending(name, "gz");
    let Some(plain) = Files::get(name).filter(|_| !is_sibling) else {
        return (StatusCode::NOT_FOUND, "There is nothing here. The studio is at /.")
            .into_response();
    };
    let (file, encoding) = smallest(name, plain, headers);
    let tag = tag(&file);
    let mut answer = HeaderMap::new();
    let mut say = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            answer.insert(name, value);
        }
    };
    say(header::ETAG, &tag);
    say(header::VARY, "accept-encoding");
    say(header::CACHE_CONTROL, if is_hashed(name) { FOR_EVER } else { "no-cache" });
    say(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    say(header::REFERRER_POLICY, "no-referrer");
    // The page, and its workers, which are bound by the policy of their own script.
    say(header::CONTENT_SECURITY_POLICY, POLICY);
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, answer).into_response();
    }
    say(header::CONTENT_TYPE, media_type(name));
    if let Some(encoding) = encoding {
        say(header::CONTENT_ENCODING, encoding);
    }
    (answer, file.data).into_response()
}

const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// The compressed sibling that the client reads, brotli first, or the file itself.
fn smallest(
    name: &str,
    plain: EmbeddedFile,
    headers: &HeaderMap,
) -> (EmbeddedFile, Option<&'static str>) {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).unwrap_or("");
    for (ending, encoding) in [("br", "br"), ("gz", "gzip")] {
        if accepts(accepted, encoding)
            && let Some(file) = Files::get(&format!("{name}.{ending}"))
        {
            return (file, Some(encoding));
        }
    }
    (plain, None)
}

/// Whether `Accept-Encoding` takes an encoding: named, and not with `q=0`.
fn accepts(header: &str, encoding: &str) -> bool {
    header.split(',').any(|part| {
        let (name, weight) = part.split_once(';').unwrap_or((part, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|q| q.parse::<f64>().ok());
        name.trim().eq_ignore_ascii_case(encoding) && weight.is_none_or(|w| w > 0.0)
    })
}

fn tag(file: &EmbeddedFile) -> String {
    let mut tag = String::from("\"");
    for byte in &file.metadata.sha256_hash()[..16] {
        // Writing to a String cannot fail.
        if write!(tag, "{byte:02x}").is_err() {
            break;
        }
    }
    tag.push('"');
    tag
}

/// Whether the content is named by a hash (`style-0a1b2c3d4e.css`), so that it never changes.
fn is_hashed(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let is_hash = |part: &str| part.len() >= 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
    stem.split(['-', '_']).any(is_hash)
}

fn has_ending(name: &str, ending: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, e)| e == ending)
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hashed_names_are_kept_for_ever() {
        assert!(is_hashed("meshwork-0a1b2c3d4e5f_bg.wasm"));
        assert!(is_hashed("style-deadbeef.css"));
        assert!(!is_hashed("index.html"));
        assert!(!is_hashed("favicon.svg"));
        assert!(!is_hashed("meshwork_bg.wasm"));
    }

    #[test]
    fn encodings_are_taken_as_the_client_says() {
        assert!(accepts("gzip, deflate, br", "br"));
        assert!(accepts("br;q=0.5", "br"));
        assert!(!accepts("br;q=0, gzip", "br"));
        assert!(!accepts("", "gzip"));
    }

    #[test]
    fn the_page_is_there() {
        let answer = file(&Method::GET, "/index.html", &HeaderMap::new());
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-cache");
        let mut again = HeaderMap::new();
        again.insert(header::IF_NONE_MATCH, answer.headers()[header::ETAG].clone());
        let answer = file(&Method::GET, "/index.html", &again);
        assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(file(&Method::GET, "/../Cargo.toml", &HeaderMap::new()).status(), 404);
    }
}
