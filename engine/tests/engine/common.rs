//! What several test files use.

use meshwork_engine::exec::pool::Alone;
use meshwork_engine::graph::models;
use meshwork_engine::session::Session;
use meshwork_engine::spec::ast::Stmt;
use meshwork_engine::spec::parse::parse;
use meshwork_engine::study::Study;
use serde_json::Value;

/// A study without errors.
pub(crate) fn study(text: &str) -> Study {
    let study = Study::new(text);
    assert!(!study.has_errors(), "{:#?}\nin\n{text}", study.diagnostics());
    study
}

/// A session on one thread.
pub(crate) fn session(text: &str) -> Session<Alone> {
    Session::new(&study(text), None, Alone).unwrap()
}

/// The losses of the first steps.
pub(crate) fn losses(session: &mut Session<Alone>, steps: usize) -> Vec<f64> {
    (0..steps).map(|_| session.step().loss.unwrap()).collect()
}

/// A list of numbers of a golden file.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The text that a `model` line stands for.
pub(crate) fn written_out(line: &str) -> String {
    let (spec, problems) = parse(line);
    assert!(problems.is_empty(), "{problems:?}");
    let Stmt::Model { preset, options } = &spec.items[0].stmt else { unreachable!() };
    let mut problems = Vec::new();
    let text = models::expand(preset, options, &mut problems).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    text
}
