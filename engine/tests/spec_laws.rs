//! Laws of the study text on random Specs and random texts: print and parse are inverse, `fmt`
//! settles, nothing panics, and edits do what they say.

use meshwork_engine::diag::{Span, TextEdit};
use meshwork_engine::examples;
use meshwork_engine::spec::ast::{
    BinaryOp, Call, Decl, Expr, ExprKind, Ident, Item, Opt, OptValue, Pair, RulePair, Spec, Stmt,
};
use meshwork_engine::spec::lex::MAX_TEXT;
use meshwork_engine::spec::{edit, parse::parse, print, spans::strip_spans, url};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeSet;

const NOWHERE: Span = Span::new(0, 0);

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z_][a-z0-9_]{0,5}",
        1 => "[äßπ一][a-z0-9]{0,3}",
        1 => "[ -_a-~]{1,6}",
        1 => prop::sample::select(vec!["mesh", "end", "input", "12", "1e5", "-", "#", "a.b", " "])
            .prop_map(str::to_owned),
    ]
}

fn ident() -> impl Strategy<Value = Ident> {
    name().prop_map(|text| Ident { text, span: NOWHERE })
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0_u32..1000).prop_map(f64::from),
        (0.0_f64..1.0),
        (prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL).prop_map(f64::abs),
        prop::sample::select(vec![0.0, 1e-4, 1e-5, 1e15, 1e16, 1e17, f64::MAX, 0.1]),
    ]
    .prop_map(f64::abs)
}

fn opt_value() -> impl Strategy<Value = OptValue> {
    let leaf = prop_oneof![
        (number(), any::<bool>()).prop_map(|(x, minus)| OptValue::Number(if minus {
            -x
        } else {
            x
        })),
        name().prop_map(OptValue::Word),
        "[a-z0-9@./+-]{1,6}".prop_filter_map("a number", |w| {
            meshwork_engine::spec::lex::number(&w).is_none().then_some(OptValue::Word(w))
        }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let options = vec((ident(), inner.clone()), 0..3).prop_map(keyed);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(OptValue::List),
            (name(), vec(inner, 0..3), options).prop_map(|(name, args, options)| OptValue::Call {
                name,
                args,
                options
            }),
        ]
    })
}

/// Options with distinct keys.
fn keyed(pairs: Vec<(Ident, OptValue)>) -> Vec<Opt> {
    let mut seen = BTreeSet::new();
    pairs
        .into_iter()
        .filter(|(key, _)| seen.insert(key.text.clone()))
        .map(|(key, value)| Opt { key, value, value_span: NOWHERE, span: NOWHERE })
        .collect()
}

fn options() -> impl Strategy<Value = Vec<Opt>> {
    vec((ident(), opt_value()), 0..4).prop_map(keyed)
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![number().prop_map(ExprKind::Number), name().prop_map(ExprKind::Name)];
    leaf.prop_map(|kind| Expr { kind, span: NOWHERE }).prop_recursive(5, 40, 4, |inner| {
        let op = prop::sample::select(vec![
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Pow,
        ]);
        let call = (ident(), vec(inner.clone(), 0..4), option::of(vec(ident(), 0..3)), options())
            .prop_map(|(function, args, arrow, options)| {
                ExprKind::Call(Call { function, args, arrow, options })
            });
        prop_oneof![
            inner.clone().prop_map(|x| ExprKind::Neg(Box::new(x))),
            (op, inner.clone(), inner).prop_map(|(op, a, b)| ExprKind::Binary(
                op,
                Box::new(a),
                Box::new(b)
            )),
            call,
        ]
        .prop_map(|kind| Expr { kind, span: NOWHERE })
    })
}

fn decls() -> impl Strategy<Value = Vec<Decl>> {
    let decl = (ident(), vec(ident(), 0..4), options());
    vec(decl.prop_map(|(name, dims, options)| Decl { name, dims, options, span: NOWHERE }), 1..4)
}

fn pairs() -> impl Strategy<Value = Vec<Pair>> {
    let size = prop_oneof![1_u64..100, Just(1 << 40)];
    let pair = (ident(), size).prop_map(|(name, size)| Pair {
        name,
        size,
        size_span: NOWHERE,
        span: NOWHERE,
    });
    vec(pair, 0..4)
}

fn rule() -> impl Strategy<Value = RulePair> {
    (ident(), vec(ident(), 1..4)).prop_map(|(dim, mut mesh_dims)| {
        let mut seen = BTreeSet::new();
        mesh_dims.retain(|m| seen.insert(m.text.clone()));
        RulePair { dim, mesh_dims, span: NOWHERE }
    })
}

fn stmt() -> impl Strategy<Value = Stmt> {
    prop_oneof![
        Just(Stmt::Blank),
        pairs().prop_map(Stmt::Mesh),
        vec(rule(), 0..4).prop_map(Stmt::Layout),
        (ident(), options()).prop_map(|(preset, options)| Stmt::Model { preset, options }),
        pairs().prop_map(Stmt::Dims),
        decls().prop_map(Stmt::Input),
        decls().prop_map(Stmt::Param),
        (ident(), option::of(vec(ident(), 0..3)), expr())
            .prop_map(|(name, dims, value)| Stmt::Assign { name, dims, value }),
        (ident(), options()).prop_map(|(name, options)| Stmt::Block { name, options }),
        Just(Stmt::End),
        options().prop_map(Stmt::Train),
        options().prop_map(Stmt::Pipeline),
        (option::of(ident()), options())
            .prop_map(|(name, options)| Stmt::Hardware { name, options }),
        prop::sample::select(vec!["quux", "rows:2", "h =", "mesh a:0", "x = `a # b"])
            .prop_map(|text| Stmt::Unreadable(text.to_owned())),
    ]
}

/// A Spec as parsing yields it: no clashes, blocks and ends in pairs.
fn spec() -> impl Strategy<Value = Spec> {
    let comment = option::of(prop_oneof!["# [a-z `#:]{0,8}x", Just("#".to_owned())]);
    vec((stmt(), comment), 0..12).prop_map(|lines| {
        let mut spec = Spec::default();
        let mut seen = BTreeSet::new();
        for (mut stmt, mut comment) in lines {
            let mut first = |kind: &str, name: &str| seen.insert(format!("{kind} {name}"));
            let keep = match &mut stmt {
                Stmt::Mesh(pairs) => {
                    pairs.retain(|p| first("mesh", &p.name.text));
                    true
                }
                Stmt::Dims(pairs) => {
                    pairs.retain(|p| first("dims", &p.name.text));
                    true
                }
                Stmt::Layout(rules) => {
                    rules.retain(|r| first("layout", &r.dim.text));
                    true
                }
                Stmt::Model { .. } => first("model", ""),
                Stmt::Train(_) => first("train", ""),
                Stmt::Pipeline(_) => first("pipeline", ""),
                Stmt::Hardware { .. } => first("hardware", ""),
                Stmt::Unreadable(text) => {
                    if text.contains('`') {
                        comment = None;
                    }
                    true
                }
                _ => true,
            };
            if keep {
                spec.items.push(Item { stmt, comment, span: NOWHERE });
            }
        }
        close_blocks(&mut spec);
        spec
    })
}

/// Leaves out ends that close nothing.
fn close_blocks(spec: &mut Spec) {
    let mut open = 0_usize;
    spec.items.retain(|item| match item.stmt {
        Stmt::Block { .. } => {
            open += 1;
            true
        }
        Stmt::End => {
            let closes = open > 0;
            open = open.saturating_sub(1);
            closes
        }
        _ => true,
    });
}

/// Texts that look like studies, more or less.
fn text() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        prop::sample::select(vec![
            "mesh",
            "layout",
            "model",
            "dims",
            "input",
            "param",
            "block",
            "end",
            "train",
            "pipeline",
            "hardware",
            "rows",
            "cols",
            "batch",
            "x",
            "h",
            "two_layer",
            "relu",
            "einsum",
            "2",
            "0",
            "1.5",
            ".",
            ";",
            ",",
            ":",
            "=",
            "+",
            "-",
            "*",
            "/",
            "^",
            "->",
            "(",
            ")",
            "[",
            "]",
            "`",
            "#",
            "\n",
            "\n",
            "\r\n",
            " ",
            " ",
            "\t",
            "|",
            "@",
            "\0",
            "é",
            "一",
            "\u{feff}",
            "\u{200b}",
            "rows:2",
            "batch:rows",
            "init:zeros",
            "x[a]",
            "h =",
            "1e9",
        ])
        .prop_map(str::to_owned),
        "\\PC{1,3}",
    ];
    vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

/// An example with a few bytes changed.
fn mutant() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0_usize..4, "[ -~\\n]{0,3}");
    (prop::sample::select(examples::ALL), vec(change, 1..6)).prop_map(|(example, changes)| {
        let mut text = example.text.to_owned();
        for (at, len, put) in changes {
            let start = at.index(text.len() + 1);
            let end = (start + len).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, &put);
            }
        }
        text
    })
}

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

/// Twice the text takes about twice the time: hostile texts with long runs of one thing.
#[test]
fn parsing_is_linear() {
    let clock = std::time::Instant::now;
    for piece in [
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
    ] {
        for head in ["", "mesh ", "layout ", "dims ", "param x ", "train ", "h = ", "h = f(", "h["]
        {
            let text = format!("{head}{}", piece.repeat(200_000 / piece.len()));
            let start = clock();
            let (spec, _) = parse(&text);
            let taken = start.elapsed();
            assert!(taken.as_millis() < 2000, "{head:?} {piece:?}: {taken:?}");
            drop(print::print(&spec));
        }
    }
}
