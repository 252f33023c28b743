//! Random Specs, random texts, and examples with a few bytes changed.

use meshwork_engine::diag::Span;
use meshwork_engine::examples;
use meshwork_engine::spec::ast::{
    BinaryOp, Call, Decl, Expr, ExprKind, Ident, Item, Opt, OptValue, Pair, RulePair, Spec, Stmt,
};
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
        decls().prop_map(Stmt::State),
        (ident(), expr()).prop_map(|(name, value)| Stmt::Next { name, value }),
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
pub(crate) fn spec() -> impl Strategy<Value = Spec> {
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
pub(crate) fn text() -> impl Strategy<Value = String> {
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
pub(crate) fn mutant() -> impl Strategy<Value = String> {
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
