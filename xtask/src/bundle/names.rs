//! Names by content: `style.css` becomes `style-0123456789abcdef.css`, and whoever mentions it
//! mentions the new name.
//!
//! A mention is the file's path in quotes or in CSS's `url(…)`, with or without `/` or `./` before
//! it: `"/style.css"`, `'./meshwork.js'`, `url(icons.svg)`. A file is named after those it mentions,
//! so that a change of one reaches the names of all that depend on it.

use crate::hash;
use anyhow::{Result, bail};
use std::collections::BTreeMap;

/// The page keeps its name: it is what the address means.
const PAGE: &str = "index.html";
/// Kinds of files that can mention others.
const TEXT: [&str; 6] = ["html", "js", "mjs", "css", "svg", "webmanifest"];

/// Renames the files and their mentions.
pub(crate) fn by_content(files: BTreeMap<String, Vec<u8>>) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut waiting = files;
    let mut renamed = BTreeMap::new();
    let mut names = BTreeMap::new();
    while !waiting.is_empty() {
        let ready = waiting
            .iter()
            .find(|(name, content)| !mentions_any(name, content, waiting.keys()))
            .map(|(name, _)| name.clone());
        let Some(name) = ready else {
            let circle: Vec<&str> = waiting.keys().map(String::as_str).collect();
            bail!("these files mention each other in a circle: {}", circle.join(", "));
        };
        let Some(content) = waiting.remove(&name) else { continue };
        let content = if is_text(&name) { replace(content, &names)? } else { content };
        let new = if name == PAGE { name.clone() } else { hashed(&name, &content) };
        renamed.insert(new.clone(), content);
        names.insert(name, new);
    }
    Ok(renamed)
}

fn mentions_any<'a>(
    name: &str,
    content: &[u8],
    mut others: impl Iterator<Item = &'a String>,
) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    is_text(name) && others.any(|other| other != name && find(text, other).is_some())
}

fn is_text(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| TEXT.contains(&extension))
}

fn replace(content: Vec<u8>, names: &BTreeMap<String, String>) -> Result<Vec<u8>> {
    let mut text = String::from_utf8(content)?;
    for (old, new) in names.iter().filter(|(old, new)| old != new) {
        let mut done = String::new();
        let mut rest = text.as_str();
        while let Some(at) = find(rest, old) {
            done.push_str(&rest[..at]);
            done.push_str(new);
            rest = &rest[at + old.len()..];
        }
        done.push_str(rest);
        text = done;
    }
    Ok(text.into_bytes())
}

/// Where a text first mentions a file.
fn find(text: &str, name: &str) -> Option<usize> {
    text.match_indices(name).map(|(at, _)| at).find(|&at| {
        let before = text[..at].strip_suffix("./").or_else(|| text[..at].strip_suffix('/'));
        let before = before.unwrap_or(&text[..at]);
        before.ends_with(['"', '\'', '`', '('])
            && text[at + name.len()..].starts_with(['"', '\'', '`', ')'])
    })
}

/// `folder/name.ext` → `folder/name-HASH.ext`.
fn hashed(name: &str, content: &[u8]) -> String {
    let hash = hash::hex([content]);
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}-{hash}.{extension}"),
        None => format!("{name}-{hash}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{by_content, find};
    use std::collections::BTreeMap;

    fn files(list: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        list.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_change_reaches_the_names_of_all_that_depend_on_it() {
        let page = |glue: &str| {
            let all = by_content(files(&[
                ("index.html", r#"<script src="/boot.js">"#),
                ("boot.js", "import './glue.js'"),
                ("glue.js", glue),
            ]));
            String::from_utf8(all.unwrap().remove("index.html").unwrap()).unwrap()
        };
        assert!(page("1").starts_with(r#"<script src="/boot-"#), "{}", page("1"));
        assert_eq!(page("1"), page("1"));
        assert_ne!(page("1"), page("2"));
    }

    #[test]
    fn the_longer_of_two_names_is_not_taken_for_the_shorter() {
        assert_eq!(find("'big.css' 'g.css'", "g.css"), Some(11));
        assert_eq!(find("url(./g.css)", "g.css"), Some(6));
        assert_eq!(find("g.css is a file", "g.css"), None);
        assert_eq!(find("'/api/g.css'", "g.css"), None);
    }

    #[test]
    fn a_circle_is_an_error_that_names_its_files() {
        let error = by_content(files(&[("a.js", "'b.js'"), ("b.js", "'a.js'")])).unwrap_err();
        assert!(error.to_string().ends_with("a.js, b.js"), "{error}");
    }
}
