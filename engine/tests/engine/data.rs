//! Data: what goes with a study, what it is told to change, how well it is learnt.

use meshwork_engine::data::Data;
use meshwork_engine::data::table::{Table, Target};
use meshwork_engine::diag::Diagnostic;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::session::{Session, bytes_needed};
use meshwork_engine::spec::edit;
use meshwork_engine::study::Study;

/// Points whose class is the half in which their first number lies, and a third class that is
/// far away.
fn table(rows: usize, names: usize) -> Table {
    let row = |i: usize| {
        let class = i % names;
        let x = (i as f64 * 0.37).sin() * 0.1;
        [x + class as f64, x - 2.0 * class as f64, class as f64]
    };
    Table {
        name: "points".to_owned(),
        columns: ["a", "b", "class"].map(str::to_owned).to_vec(),
        rows: (0..rows).flat_map(row).collect(),
        target: Target::Classes((0..names).map(|i| format!("c{i}")).collect()),
    }
}

fn classes(rows: usize, names: usize) -> Data {
    Data::Table(table(rows, names))
}

fn numbers(rows: usize) -> Data {
    Data::Table(Table { target: Target::Number, ..table(rows, 3) })
}

const LABELS: &str = "\
mesh p:2
layout batch:p
dims batch:8 in:2 classes:4
input x[batch in], labels[batch]
param w[in classes], bias[classes]
logits = einsum(x, w -> batch classes) + bias
loss = LOSS
train optimizer:adam rate:0.1 steps:60 data:points
";

fn accuracy(loss: &str, table: &Data) -> Option<f64> {
    let study = Study::new(&LABELS.replace("LOSS", loss));
    assert!(!study.has_errors(), "{:?}", study.diagnostics());
    let mut session = Session::new(&study, Some(table), Alone).unwrap();
    for _ in 0..60 {
        session.step();
    }
    let seen = session.validate().unwrap();
    assert_eq!(seen.error, None, "{loss}");
    seen.accuracy
}

#[test]
fn labels_by_number_have_an_accuracy() {
    let table = classes(60, 3);
    for loss in [
        "mean(cross_entropy(logits, labels, dim:classes))",
        "mean(cross_entropy(logits, one_hot(labels, dim:classes), dim:classes))",
        "mean(cross_entropy(logits, labels, dim:classes label_smoothing:0.1))",
        "0 - mean(sum(log_softmax(logits, dim:classes) * one_hot(labels, dim:classes), over:classes))",
        "mean_square(logits, one_hot(labels, dim:classes))",
    ] {
        let share = accuracy(loss, &table).unwrap_or_else(|| panic!("no accuracy: {loss}"));
        // Least squares cannot tell the middle one of three classes on a line.
        let least = if loss.starts_with("mean_square") { 0.5 } else { 0.9 };
        assert!(share > least, "{loss}: {share}");
    }
}

#[test]
fn the_accuracy_counts_right_rows() {
    // Two labels per row, the class dimension in the middle: nothing is learnt in no steps, and
    // equal outputs name the first class.
    let text = "\
dims batch:4 in:2 places:2 classes:3
input x[batch in], labels[batch places]
param w[in classes places] init:zeros
logits = einsum(x, w -> places batch classes)
loss = mean(cross_entropy(logits, labels, dim:classes))
train data:teacher
";
    let study = Study::new(text);
    assert!(!study.has_errors(), "{:?}", study.diagnostics());
    let mut session = Session::new(&study, None, Alone).unwrap();
    let before = session.step().loss.unwrap();
    assert!((before - 3.0_f64.ln()).abs() < 1e-5, "{before}");
    for _ in 0..300 {
        session.step();
    }
    assert!(session.step().loss.unwrap() < 0.8 * before, "the teacher names classes");
}

#[test]
fn a_class_as_a_single_number_is_neither_right_nor_near() {
    let text = "model mlp batch:8 in:2 out:1\ntrain data:points";
    let mut session = Session::new(&Study::new(text), Some(&classes(60, 3)), Alone).unwrap();
    session.step();
    let seen = session.validate().unwrap();
    assert_eq!((seen.accuracy, seen.error), (None, None));
}

fn misfit(text: &str, table: &Data) -> Diagnostic {
    let study = Study::new(text);
    assert!(!study.has_errors(), "{:?}", study.diagnostics());
    bytes_needed(&study, Some(table), &[]).unwrap_err()
}

/// The text after the first mend.
fn mended(text: &str, d: &Diagnostic) -> String {
    edit::apply(text, &[d.hints[0].edit.clone().unwrap()])
}

#[test]
fn data_that_does_not_fit_says_which_sizes_do() {
    let labels = LABELS
        .replace("LOSS", "mean(cross_entropy(logits, labels, dim:classes))")
        .replace("classes:4", "classes:2");
    for (text, table, right) in [
        ("model mlp in:5\ntrain data:points", numbers(90), "in:2"),
        ("model mlp # short\ntrain data:points", numbers(90), "model mlp in:2 # short"),
        ("model mlp in:2 out:4\ntrain data:points", numbers(90), "out:1"),
        ("model mlp in:2 out:2\ntrain data:points", classes(90, 3), "out:3"),
        ("model mlp in:2\ntrain data:points", numbers(20), "batch:8"),
        ("model mlp in:2 batch:2\ntrain data:points", numbers(3), "batch:1"),
        (&labels, classes(60, 3), "classes:3"),
    ] {
        let d = misfit(text, &table);
        let mended = mended(text, &d);
        assert!(mended.contains(right), "{} => {mended}", d.message);
        assert!(bytes_needed(&Study::new(&mended), Some(&table), &[]).is_ok(), "{mended}");
        let last = d.hints.last().unwrap().edit.clone().unwrap();
        assert!(edit::apply(text, &[last]).contains("data:teacher"), "{d:?}");
    }
    let d = misfit(&labels, &numbers(60));
    assert!(d.message.contains("names positions of `classes`"), "{}", d.message);
    let d = misfit("model two_layer\ntrain data:points", &numbers(60));
    assert!(d.hints[0].edit.is_none(), "io is the target's too: {d:?}");
}

#[test]
fn a_table_that_is_given_counts_whatever_the_study_says() {
    for train in ["", "train", "train data:teacher", "train data:iris"] {
        let text = format!("model mlp batch:8 in:2\n{train}");
        let mut session = Session::new(&Study::new(&text), Some(&numbers(60)), Alone).unwrap();
        session.step();
        assert!(session.validate().is_some(), "{train}");
        let wide = format!("model mlp batch:8 in:3\n{train}");
        let d = misfit(&wide, &numbers(60));
        assert!(mended(&wide, &d).contains("in:2"), "{d:?}");
        assert_eq!(d.hints.len(), if train.contains("data") { 2 } else { 1 }, "{d:?}");
    }
}

#[test]
fn what_is_kept_and_fed_needs_memory() {
    let study = Study::new("model mlp batch:64 in:64 hidden:64 depth:8\ntrain data:teacher");
    let bytes = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|&n| n.to_owned()).collect();
        bytes_needed(&study, None, &names).unwrap()
    };
    let most = study.totals().unwrap().peak_bytes_per_processor;
    assert!(bytes(&[]) >= most);
    let all: Vec<String> = study.tensors().iter().map(|t| t.name.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert!(bytes(&all) > bytes(&[]) + 8 * 64 * 64 * 4, "{} {}", bytes(&all), bytes(&[]));
    // The teacher's weights are as many as features times targets, whatever the model holds.
    let teacher = "dims batch:1 a:1048576 b:1048576\ninput x[batch a], t[batch b]\nparam w\n\
                   loss = mean(x) * w + mean(t)\ntrain data:teacher";
    assert!(bytes_needed(&Study::new(teacher), None, &[]).unwrap() >= 8 << 40);
}
