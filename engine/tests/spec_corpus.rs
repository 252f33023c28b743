//! The corpus of study texts: `corpus/*.study-cases` holds texts with what the parser reports for
//! each, `corpus/studies/*.study-cases` with what the whole study reports.
//!
//! ```text
//! === name of the case
//! the text
//! --- expected
//! error bad-number 1:12 `0` is no size for `rows`: …
//!   mend: what the hint says => the text after the one-click change, line breaks as ⏎
//!   hint: what a hint without a change says
//! ```
//!
//! In a text `␀` stands for a NUL character and `␍` for a carriage return. `MESHWORK_BLESS=1 cargo test
//! --test spec_corpus` writes what is reported now; read the difference before keeping it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests; the corpus is read from files"
)]

use meshwork_engine::diag::{Code, Diagnostic, place};
use meshwork_engine::spec::{ast::Stmt, edit, parse::parse, print, spans::strip_spans};
use meshwork_engine::study::Study;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

struct Case {
    name: String,
    text: String,
    expected: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "study-cases"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn cases(file: &Path) -> Vec<Case> {
    let content = std::fs::read_to_string(file).unwrap();
    let mut cases = Vec::new();
    for part in content.split("=== ").skip(1) {
        let (name, rest) = part.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("--- expected\n").unwrap_or_else(|| {
            panic!("{}: the case {name:?} has no line `--- expected`", file.display())
        });
        cases.push(Case {
            name: name.to_owned(),
            text: text.replace('␀', "\0").replace('␍', "\r"),
            expected: expected.trim_end().to_owned(),
        });
    }
    cases
}

fn report(text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let at = place(text, d.span.start);
        let severity = d.severity.name();
        writeln!(out, "{severity} {} {}:{} {}", d.code, at.line, at.column, d.message).unwrap();
        for hint in &d.hints {
            match &hint.edit {
                None => writeln!(out, "  hint: {}", hint.text).unwrap(),
                Some(edit) => {
                    let after = edit::apply(text, std::slice::from_ref(edit));
                    let after = after.trim_end_matches('\n').replace('\n', "⏎");
                    let after = after.replace('\0', "␀").replace('\r', "␍");
                    writeln!(out, "  mend: {} => {after}", hint.text).unwrap();
                }
            }
        }
    }
    out.trim_end().to_owned()
}

#[test]
fn texts() {
    compare(&folder(), |text| parse(text).1);
}

/// What the later stages say: models, layouts, options.
#[test]
fn studies() {
    compare(&folder().join("studies"), |text| Study::new(text).diagnostics().to_vec());
}

fn compare(folder: &Path, diagnose: impl Fn(&str) -> Vec<Diagnostic>) {
    let bless = std::env::var("MESHWORK_BLESS").is_ok();
    let mut wrong = String::new();
    for file in files(folder) {
        let mut blessed = String::new();
        for Case { name, text, expected } in cases(&file) {
            let found = report(&text, &diagnose(&text));
            let shown = text.replace('\0', "␀").replace('\r', "␍");
            let gap = if found.is_empty() { "" } else { "\n" };
            write!(blessed, "=== {name}\n{shown}--- expected\n{found}{gap}\n").unwrap();
            if found != expected {
                let file = file.display();
                writeln!(wrong, "{file}: {name}\n{text}expected:\n{expected}\nfound:\n{found}\n")
                    .unwrap();
            }
        }
        if bless {
            std::fs::write(&file, blessed.trim_end().to_owned() + "\n").unwrap();
        }
    }
    assert!(bless || wrong.is_empty(), "{wrong}");
}

/// What every text must hold to: printing keeps the meaning, `fmt` settles at once, and a
/// one-click mend takes its problem away and brings no more than one that it hid.
#[test]
fn laws_hold_on_the_corpus() {
    for case in files(&folder()).iter().flat_map(|f| cases(f)) {
        let Case { name, text, .. } = case;
        let (spec, diagnostics) = parse(&text);
        let printed = print::print(&spec);
        assert_eq!(strip_spans(parse(&printed).0), strip_spans(spec), "{name}: {printed}");
        let formatted = print::fmt(&text);
        assert_eq!(print::fmt(&formatted), formatted, "{name}");
        assert_eq!(parse(&formatted).1.len(), diagnostics.len(), "{name}: {formatted}");
        for d in &diagnostics {
            assert!(d.span.start <= d.span.end, "{name}: {d:?}");
            assert!(
                text.get(d.span.start as usize..d.span.end as usize).is_some(),
                "{name}: {d:?}"
            );
            assert!(!d.message.is_empty() && !d.message.ends_with('.'), "{name}: {}", d.message);
            for hint in &d.hints {
                assert!(hint.text.ends_with(['.', '?']), "{name}: {}", hint.text);
            }
            for edit in d.hints.iter().filter_map(|h| h.edit.as_ref()) {
                let mended = edit::apply(&text, std::slice::from_ref(edit));
                let left = parse(&mended).1;
                let gone = |l: &Diagnostic| (l.span, &l.message) != (d.span, &d.message);
                assert!(
                    left.iter().all(gone) && left.len() <= diagnostics.len(),
                    "{name}: {}\n{mended}\n{}",
                    d.message,
                    report(&mended, &left)
                );
            }
        }
    }
}

/// A one-click mend of a study leads to one without what it mends.
#[test]
fn mends_of_studies_mend() {
    for case in files(&folder().join("studies")).iter().flat_map(|f| cases(f)) {
        let Case { name, text, .. } = case;
        for d in Study::new(&text).diagnostics() {
            for edit in d.hints.iter().filter_map(|h| h.edit.as_ref()) {
                let mended = edit::apply(&text, std::slice::from_ref(edit));
                let left = Study::tried(&mended);
                let gone = |l: &Diagnostic| (l.code, &l.message) != (d.code, &d.message);
                let is_gone = left.diagnostics().iter().all(gone);
                let report = report(&mended, left.diagnostics());
                assert!(is_gone, "{name}: {}\n{mended}\n{report}", d.message);
            }
        }
    }
}

/// `meshtf-strings.txt`: what Mesh-TensorFlow reads is read alike, except where it takes slips in
/// silence: sizes of zero, names given twice, rules without a mesh dimension.
#[test]
fn strings_of_mesh_tensorflow() {
    let rows = std::fs::read_to_string(folder().join("meshtf-strings.txt")).unwrap();
    let mut read = 0;
    for row in rows.lines().filter(|row| !row.starts_with('#')) {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        // A string may hold `|` itself.
        let (statement, ours) = (columns[0], columns[columns.len() - 1]);
        let theirs = columns[columns.len() - 2];
        let string = row.split_once(" | ").unwrap().1;
        let string = string.rsplit(" | ").skip(2).collect::<Vec<_>>().join(" | ");
        let expected = if ours == "=" { theirs } else { ours };
        let (spec, diagnostics) = parse(&format!("{statement} {string}\n"));
        let found = match &spec.items[0].stmt {
            _ if !diagnostics.is_empty() => "error".to_owned(),
            Stmt::Mesh(pairs) => {
                let pairs = pairs.iter().map(|p| format!("{}:{}", p.name.text, p.size));
                pairs.collect::<Vec<_>>().join(" ")
            }
            Stmt::Layout(rules) => {
                let rules = rules.iter().map(|r| format!("{}:{}", r.dim.text, r.mesh_dims[0].text));
                rules.collect::<Vec<_>>().join(" ")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected, "{row}");
        read += 1;
    }
    assert!(read > 20);
}

#[test]
fn every_code_of_the_text_has_a_case() {
    let reported: BTreeSet<Code> = files(&folder())
        .iter()
        .flat_map(|f| cases(f))
        .flat_map(|c| parse(&c.text).1)
        .map(|d| d.code)
        .collect();
    for code in [
        Code::UnknownStatement,
        Code::Syntax,
        Code::BadNumber,
        Code::Duplicate,
        Code::UnclosedBlock,
        Code::TooLarge,
        Code::TwoMeshDimensions,
    ] {
        assert!(reported.contains(&code), "{code}");
    }
}
