//! Words of others: every entry of the tables, at every place where its mend is offered, leads by
//! one click to a text without that problem.

use meshwork_engine::diag::{Code, Diagnostic};
use meshwork_engine::spec::edit::apply;
use meshwork_engine::spec::synonyms::{
    Ours, Table, call, functions, options, preset, train, words,
};
use meshwork_engine::study::Study;

/// The edit that mends a problem of this code, applied; its first, which is the best.
fn mended(text: &str, code: Code) -> Option<String> {
    let study = Study::tried(text);
    let problem = study.diagnostics().iter().find(|d| d.code == code)?;
    let edit = problem.hints.first()?.edit.clone()?;
    let after = apply(text, &[edit]);
    let same = |d: &&Diagnostic| d.code == code && d.message == problem.message;
    let tried = Study::tried(&after);
    assert_eq!(tried.diagnostics().iter().find(same), None, "{text}\n→\n{after}");
    Some(after)
}

#[test]
fn schedules() {
    let study = "mesh s:2\nmodel mlp depth:9 batch:16\npipeline schedule:@ micro_batches:8\n";
    check(words::SCHEDULES, Code::BadOption, &[study]);
}

/// Takes every word of a table to every place that may know its meaning; one of them has to.
fn check(table: Table, code: Code, places: &[&str]) {
    for (theirs, ours) in table {
        for word in *theirs {
            let texts = places.iter().map(|place| place.replace('@', word));
            let made: Vec<String> = texts.filter_map(|text| mended(&text, code)).collect();
            match ours {
                Ours::Word(_) | Ours::Nothing(_) => assert!(!made.is_empty(), "{word}"),
                Ours::Form(..) | Ours::Advice(_) | Ours::Beside(..) => {}
            }
        }
    }
}

#[test]
fn statements() {
    let places = ["@ a:2\n", "@ x[a] init:ones\n", "@ h = 3\n", "@ mlp\n", "@ a100\n"];
    check(words::STATEMENTS, Code::UnknownStatement, &places);
}

#[test]
fn presets() {
    check(words::PRESETS, Code::UnknownPreset, &["model @\n"]);
}

#[test]
fn functions_with_their_arguments() {
    let arguments = ["x", "x, x", "x, x, x", "x, dim:a", "x -> a b"];
    for (theirs, ours) in functions::FUNCTIONS {
        for word in *theirs {
            let text = |args: &str| format!("dims a:2 b:2\ninput x[a]\nh = {word}({args})\n");
            let made = arguments.map(|args| mended(&text(args), Code::UnknownFunction));
            let offered = made.iter().flatten().count();
            match ours {
                Ours::Word(_) => assert_eq!(offered, arguments.len(), "{word}"),
                Ours::Form(..) => assert!(offered > 0, "{word}"),
                Ours::Nothing(_) | Ours::Advice(_) | Ours::Beside(..) => {
                    assert_eq!(offered, 0, "{word}");
                }
            }
        }
    }
}

#[test]
fn options_of_statements() {
    let train = ["model two_layer\ntrain @:1\n"];
    check(train::TRAIN, Code::UnknownOption, &train);
    let presets = [
        "model mlp @:1\n",
        "model two_layer @:1\n",
        "model transformer layers:1 @:1\n",
        "model encoder layers:1 @:1\n",
        "model encoder_decoder layers:1 @:1\n",
        "model convnet @:1\n",
    ];
    check(preset::PRESET, Code::UnknownOption, &presets);
    let block = ["dims a:2\ninput x[a]\nblock layer @:2\nh = relu(x)\nend\n"];
    check(options::BLOCK, Code::UnknownOption, &block);
    check(options::PIPELINE, Code::UnknownOption, &["mesh s:2\nmodel mlp\npipeline @:2\n"]);
    check(options::DECLARATION, Code::UnknownOption, &["dims a:2\ninput x[a] @:ones\ny = x\n"]);
}

#[test]
fn options_of_functions() {
    let calls = [
        "sum(x, @:a)",
        "softmax(x, @:a)",
        "shift(x, dim:a @:1)",
        "slice(x, a -> b, @:1)",
        "pad(x, a -> b, @:1)",
        "unstack(x, dim:a @:1)",
        "layer_norm(x, dim:a @:1)",
        "cross_entropy(x, x, dim:a @:0.1)",
        "dropout(x, @:0.1)",
        "cumsum(x, dim:a @:on)",
        "window(x, a -> a b, @:1)",
        "max_pool(x, over:a @:b)",
    ];
    let texts = calls.map(|call| format!("dims a:2 b:2\ninput x[a]\nh = {call}\n"));
    check(call::CALL, Code::UnknownOption, &texts.each_ref().map(String::as_str));
}

#[test]
fn values() {
    let places = [
        "model transformer tied:@\n",
        "model transformer attention:@\n",
        "model transformer positions:@\n",
        "model transformer norm:@\n",
        "model transformer ffn:@\n",
        "model mlp activation:@\n",
        "model mlp loss:@\n",
        "model mlp dtype:@\n",
        "model moe gating:@\n",
        "model convnet norm:@\n",
        "model convnet pool:@\n",
        "model two_layer\ntrain optimizer:@\n",
        "model two_layer\ntrain decay:@\n",
        "model two_layer\ntrain data:sources tokens:@\n",
        "dims a:2 b:2\ninput x[a]\nh = window(x, a -> a b, padding:@)\n",
    ];
    check(words::VALUES, Code::BadOption, &places);
}

#[test]
fn initial_values() {
    let places =
        ["dims a:2\ninput x[a] init:@\ny = x\n", "dims a:2\ninput x[a] init:@(0 1)\ny = x\n"];
    check(words::INITIAL, Code::BadOption, &places);
}

/// Arguments stay whole where an expression is written for a call.
#[test]
fn arguments_keep_together() {
    for (call, written) in [
        ("2 * sub(x, x + 1)", "2 * (x - (x + 1))"),
        ("x / mul(x, x)", "x / (x * x)"),
        ("neg(x - 1) ^ 2", "(-(x - 1)) ^ 2"),
        ("argmin(x + 1, dim:a)", "argmax(-(x + 1) dim:a)"),
        ("log1p(relu(x))", "log(1 + relu(x))"),
    ] {
        let head = "dims a:2\ninput x[a]\nh = ";
        let made = mended(&format!("{head}{call}\n"), Code::UnknownFunction);
        assert_eq!(made.unwrap(), format!("{head}{written}\n"));
    }
}
