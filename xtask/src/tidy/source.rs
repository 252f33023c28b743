//! The files the rules look at, and their code without comments and literals.

use super::Workspace;
use crate::files;
use anyhow::Result;
use std::path::Path;

/// Folders that hold no text of ours.
const NOT_OURS: [&str; 4] = ["node_modules", "test-results", "playwright-report", "artifacts"];
/// Kinds of text besides Rust.
const OTHER: [&str; 9] = ["ts", "js", "css", "html", "svg", "toml", "sh", "md", "yml"];

/// One file.
#[derive(Debug)]
pub(super) struct Source {
    /// Path below the root, with `/` between.
    pub(super) path: String,
    /// The text as it is.
    pub(super) text: String,
    /// Rust only: the text with comments and the insides of literals blanked out, line by line the
    /// same.
    pub(super) code: String,
    /// Rust only: the code before the unit tests that close the file.
    pub(super) untested: String,
}

impl Source {
    pub(super) fn rust(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let code = code(&text);
        let tests = code.find("#[cfg(test)]\nmod tests").unwrap_or(code.len());
        let untested = code[..tests].to_owned();
        Self { path: path.into(), text, code, untested }
    }

    /// Rust only: the text of its tests, which is all of a file that is a test.
    pub(super) fn tests(&self) -> &str {
        if self.path.contains("/tests/") {
            return &self.text;
        }
        // blanked characters have other lengths, lines are the same
        let lines = self.untested.matches('\n').count();
        let start = self.text.match_indices('\n').nth(lines.saturating_sub(1));
        start.map_or("", |(at, _)| &self.text[at..])
    }

    /// Lines that hold code.
    pub(super) fn code_lines(&self) -> usize {
        self.code.lines().filter(|line| !line.trim().is_empty()).count()
    }
}

impl Workspace {
    /// Reads every file of ours below `root`.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut workspace = Self { root: root.to_path_buf(), rust: vec![], other: vec![] };
        workspace.read_folder(root, "")?;
        Ok(workspace)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        for path in files::list(folder)? {
            let name = files::name(&path);
            let below = format!("{prefix}{name}");
            let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci";
                if !hidden && !name.starts_with("target") && !NOT_OURS.contains(&name.as_str()) {
                    self.read_folder(&path, &format!("{below}/"))?;
                }
            } else if extension == "rs" {
                self.rust.push(Source::rust(below, files::text(&path)?));
            } else if OTHER.contains(&extension.as_str()) || below == ".ci/run" {
                let (code, untested) = (String::new(), String::new());
                self.other.push(Source { path: below, text: files::text(&path)?, code, untested });
            }
        }
        Ok(())
    }
}

/// Blanks out comments and the insides of literals; line breaks stay.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = comment(rest).or_else(|| literal(rest, code.chars().next_back()));
        if let Some(length) = skipped {
            let hidden = &rest[..length];
            code.extend(hidden.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// The length of the comment a text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    Some(text.len())
}

/// The length of the string or character a text begins with; `before` is what stands before it.
fn literal(text: &str, before: Option<char>) -> Option<usize> {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if let Some(raw) = text.strip_prefix('r').filter(|_| !in_word || before == Some('b')) {
        let hashes = raw.chars().take_while(|&c| c == '#').count();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let inside = &raw[hashes + 1..];
            return Some(inside.find(&end).map_or(text.len(), |at| 2 + hashes + at + end.len()));
        }
    }
    if text.starts_with('"') {
        return Some(quoted(text, '"'));
    }
    // 'x' and '\n' are characters, 'a in a type is a lifetime
    let inside = text.strip_prefix('\'')?;
    let mut chars = inside.chars();
    let (first, second) = (chars.next()?, chars.next()?);
    (first == '\\' || second == '\'').then(|| quoted(text, '\''))
}

/// The length up to and with the closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{Source, code};

    #[test]
    fn comments_and_literals_are_no_code() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ */ d", "a                 d"),
            ("f(\"a \\\" b\", 'c', '\\'')", "f(        ,    ,     )"),
            ("r#\"a \" b\"# + x", "           + x"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ];
        for (text, expected) in cases {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn the_unit_tests_are_apart() {
        let source = Source::rust("a.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests {}\n");
        assert_eq!(source.untested, "fn a() {}\n\n");
        assert_eq!(source.code_lines(), 3);
        assert_eq!(source.tests().trim(), "#[cfg(test)]\nmod tests {}");
    }
}
