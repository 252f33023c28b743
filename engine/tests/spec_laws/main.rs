//! Laws of the study text on random Specs and random texts: print and parse are inverse, `fmt`
//! settles, nothing panics, and edits do what they say.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "helpers of tests; one measures time"
)]

mod generate;

use self::generate::{mutant, spec, text};
use meshwork_engine::diag::{Span, TextEdit};
use meshwork_engine::examples;
use meshwork_engine::spec::ast::{OptValue, Stmt};
use meshwork_engine::spec::lex::MAX_TEXT;
use meshwork_engine::spec::{edit, parse::parse, print, spans::strip_spans, url};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn check_text(text: &str) {
    let (spec, diagnostics) = parse(text);
    let printed = print::print(&spec);
    assert_eq!(strip_spans(parse(&printed).0), strip_spans(spec), "{printed}");
    let formatted = print::fmt(text);
    assert_eq!(print::fmt(&formatted), formatted);
    assert_eq!(parse(&formatted).1.len(), diagnostics.len(), "{formatted}");
    for d in &diagnostics {
        assert!(text.get(d.span.start as usize..d.span.end as usize).is_some(), "{d:?}");
        for edit in d.hints.iter().filter_map(|h| h.edit.as_ref()) {
            assert!(text.get(edit.span.start as usize..edit.span.end as usize).is_some(), "{d:?}");
        }
    }
    if diagnostics.is_empty() {
        assert_eq!(printed, formatted);
    }
    check_edits(text);
    assert_eq!(url::decode(&url::encode(text)).unwrap().unwrap(), text);
}

/// What an edit writes is there afterwards, and writing it again changes nothing.
fn check_edits(text: &str) {
    let mesh = [("rows".to_owned(), 4), ("a b".to_owned(), 2)];
    let after = edit::set_mesh(text, &mesh);
    assert_eq!(mesh_of(&after), mesh, "{text:?} {after:?}");
    assert_eq!(edit::set_mesh(&after, &mesh), after);
    assert_eq!(mesh_of(&edit::set_mesh(&after, &[])), []);

    let mesh_dims = ["cols".to_owned(), "rows".to_owned()];
    let after = edit::set_rule(text, "batch", &mesh_dims);
    assert_eq!(rule_of(&after, "batch"), mesh_dims, "{text:?} {after:?}");
    assert_eq!(edit::set_rule(&after, "batch", &mesh_dims), after);
    assert_eq!(rule_of(&edit::set_rule(&after, "batch", &[]), "batch"), [""; 0]);

    let after = edit::set_rule(text, "batch", &[]);
    assert_eq!(rule_of(&after, "batch"), [""; 0], "{text:?} {after:?}");
    assert_eq!(edit::set_rule(&after, "batch", &[]), after);
    let after = edit::set_option(text, "train", "rate", "");
    assert_eq!(edit::set_option(&after, "train", "rate", ""), after, "{text:?}");

    let after = edit::set_size(text, "batch", 6);
    assert_eq!(edit::set_size(&after, "batch", 6), after, "{text:?} {after:?}");

    let after = edit::set_option(text, "train", "rate", "0.25");
    assert_eq!(edit::set_option(&after, "train", "rate", "0.25"), after, "{text:?}");
    let train = parse(&after).0.items.into_iter().find_map(|i| match i.stmt {
        Stmt::Train(options) => options.into_iter().find(|o| o.key.text == "rate"),
        _ => None,
    });
    assert_eq!(train.map(|o| o.value), Some(OptValue::Number(0.25)), "{text:?} {after:?}");
    let _unchecked = edit::rename_mesh_dim(text, "rows", "planes");
}

fn mesh_of(text: &str) -> Vec<(String, u64)> {
    let items = parse(text).0.items.into_iter();
    let pairs = items.filter_map(|i| match i.stmt {
        Stmt::Mesh(pairs) => Some(pairs),
        _ => None,
    });
    pairs.flatten().map(|p| (p.name.text, p.size)).collect()
}

fn rule_of(text: &str, dim: &str) -> Vec<String> {
    let items = parse(text).0.items.into_iter();
    let rules = items.filter_map(|i| match i.stmt {
        Stmt::Layout(rules) => Some(rules),
        _ => None,
    });
    let found = rules.flatten().find(|r| r.dim.text == dim);
    found.map_or(Vec::new(), |r| r.mesh_dims.into_iter().map(|m| m.text).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn print_and_parse_are_inverse(spec in spec()) {
        let printed = print::print(&spec);
        let (parsed, _) = parse(&printed);
        prop_assert_eq!(strip_spans(parsed), spec, "{}", printed);
    }

    #[test]
    fn any_text(text in text()) {
        check_text(&text);
    }

    #[test]
    fn nearly_examples(text in mutant()) {
        check_text(&text);
    }

    #[test]
    fn apply_takes_any_edits(
        text in text(),
        edits in vec((0_u32..60, 0_u32..60, "[a-z]{0,3}"), 0..6),
    ) {
        let edits: Vec<TextEdit> = edits
            .into_iter()
            .map(|(start, end, replacement)| TextEdit { span: Span::new(start, end), replacement })
            .collect();
        let forwards = edit::apply(&text, &edits);
        let backwards: Vec<TextEdit> = edits.iter().rev().cloned().collect();
        let starts: BTreeSet<_> = edits.iter().map(|e| e.span.start).collect();
        if starts.len() == edits.len() {
            prop_assert_eq!(&edit::apply(&text, &backwards), &forwards);
        }
        prop_assert_eq!(edit::apply(&text, &[]), text);
    }
}

#[test]
fn examples_are_canonical_and_without_problems() {
    let mut ids = BTreeSet::new();
    for example in examples::ALL {
        assert_eq!(parse(example.text).1, [], "{}", example.id);
        assert_eq!(print::fmt(example.text), example.text, "{}", example.id);
        assert!(example.text.starts_with("# "), "{}", example.id);
        assert!(example.text.contains("# Look for: "), "{}", example.id);
        assert!(example.text.contains("\ntrain "), "{}", example.id);
        assert!(!url::is_long(example.text));
        assert!(ids.insert(example.id));
        assert_eq!(examples::find(example.id), Some(example));
    }
    for id in ["empty", "figure-2", "figure-3", "figure-4", "figure-5", "illegal"] {
        assert!(ids.contains(id), "{id}");
    }
}

#[test]
fn a_text_beyond_the_limit_is_not_read() {
    let text = "mesh rows:2\n".repeat(MAX_TEXT / 12 + 1);
    let (spec, diagnostics) = parse(&text);
    assert!(spec.items.is_empty());
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].code.name(), "too-large");
    assert_eq!(print::fmt(&text), text);
    assert_eq!(edit::set_mesh(&text, &[("x".to_owned(), 2)]), text);
    assert_eq!(edit::set_size(&text, "x", 2), text);
}

#[test]
fn many_problems_are_cut() {
    let (_, diagnostics) = parse(&"quux\n".repeat(5000));
    assert_eq!(diagnostics.len(), 1001);
    assert!(diagnostics[1000].message.contains("1000"));
    assert_eq!(parse(&"quux\n".repeat(1000)).1.len(), 1000);
}

#[test]
fn many_values_are_read() {
    let values: Vec<String> = (0..100_000).map(|i| format!("{}", f64::from(i) / 8.0)).collect();
    let text = format!("param w[a] init:values({})\n", values.join(" "));
    let (spec, diagnostics) = parse(&text);
    assert_eq!(diagnostics, []);
    let Stmt::Param(decls) = &spec.items[0].stmt else { panic!("{:?}", spec.items[0]) };
    let OptValue::Call { args, .. } = &decls[0].options[0].value else { panic!() };
    assert_eq!(args.len(), 100_000);
    assert_eq!(args[3], OptValue::Number(0.375));
    assert_eq!(print::print(&spec), text);
}

/// Long runs of one thing take no time to speak of: anything quadratic would take seconds. A busy
/// machine gets several tries.
#[test]
fn parsing_is_linear() {
    let pieces = [
        "`",
        "(",
        "a:b ",
        "a:1 ",
        "x ",
        "- ",
        "a,",
        "[",
        "\n",
        "#",
        "\0",
        "a = b\n",
        "mesh a:1\n",
        "layout a:b a:c\n",
        "block a\n",
        "end\n",
        "+",
        "x+",
        "f(",
        "``",
        "a:",
        "train a:1\n",
        " ",
        "h = x  (",
        "é",
        "a.",
        "1_",
        "->",
        "mesh a:1 a:1 ",
        "x[",
        "a`b",
    ];
    let heads = ["", "mesh ", "layout ", "dims ", "param x ", "train ", "h = ", "h = f(", "h["];
    let quick = |text: &str| {
        let start = std::time::Instant::now();
        drop(parse(text));
        start.elapsed().as_millis() < 500
    };
    for (head, piece) in heads.iter().flat_map(|h| pieces.iter().map(move |p| (*h, *p))) {
        let text = format!("{head}{}", piece.repeat(200_000 / piece.len()));
        assert!((0..5).any(|_| quick(&text)), "{head:?} {piece:?}");
    }
}
