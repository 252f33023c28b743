//! Programs that the original, Mesh-TensorFlow 0.1.21, ran: the same values, layouts and slices,
//! and no more elements through collectives. `data/meshtf_cases.json` holds the programs as
//! studies, with what the original gave or the error it reported.

use crate::common::numbers;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::index::MeshAxis;
use meshwork_engine::session::{Session, difference};
use meshwork_engine::spmd::check::check;
use meshwork_engine::spmd::collective::CollectiveKind;
use meshwork_engine::study::{Study, TensorInfo};
use serde_json::Value;
use std::collections::BTreeMap;

const CASES: &str = include_str!("../data/meshtf_cases.json");

/// What the original refuses and we do.
const BETTERED: [&str; 5] = [
    "slice/on-split-dim",
    "concat/on-split-dim",
    "unstack/on-split-dim",
    "stack/on-split-dim",
    // Numbers here are all of one type.
    "add/int-float-mix",
];

/// What the original computes, silently wrong, and we refuse: one name with two sizes.
const REFUSED: [&str; 1] = ["einsum/size-clash-is-two-dims"];

fn cases() -> Vec<Value> {
    let all: Value = serde_json::from_str(CASES).unwrap();
    all.as_array().unwrap().clone()
}

fn layout_of(study: &Study, tensor: &TensorInfo) -> Vec<Value> {
    let splits = tensor.layout.as_ref().unwrap().splits();
    // The original splits over one mesh dimension.
    let name = |axes: &Vec<MeshAxis>| {
        axes.first().map_or(Value::Null, |&a| Value::from(&*study.mesh().dim(a).name))
    };
    splits.iter().map(name).collect()
}

#[test]
fn same_values_layouts_and_slices() {
    let mut problems = Vec::new();
    for case in cases().iter().filter(|c| c["expect"].is_object()) {
        let id = case["id"].as_str().unwrap();
        let study = Study::new(case["study"].as_str().unwrap());
        if REFUSED.contains(&id) {
            assert!(study.has_errors(), "{id}");
            continue;
        }
        if study.has_errors() {
            problems.push(format!("{id}: {:#?}", study.diagnostics()));
            continue;
        }
        check(study.program().unwrap()).unwrap();
        let expect = case["expect"].as_object().unwrap();
        let names: Vec<String> = expect.keys().cloned().collect();
        let mut session = Session::keeping(&study, None, Alone, &names).unwrap();
        session.step();
        if session.counted() != session.predicted() {
            problems.push(format!("{id}: {:?} {:?}", session.counted(), session.predicted()));
        }
        for (name, golden) in expect {
            let Some(whole) = session.value(name) else {
                problems.push(format!("{id}: no {name}"));
                continue;
            };
            let expected = numbers(&golden["full"]);
            let scale = expected.iter().fold(1e-1_f64, |m, x| m.max(x.abs()));
            if difference(&whole.values, &expected) / scale > 1e-5 {
                problems.push(format!("{id}: {name} is {:?}, not {expected:?}", whole.values));
            }
            let tensors = study.tensors();
            let tensor = tensors.iter().find(|t| *t.name == **name).unwrap();
            let dims: Vec<Value> =
                tensor.shape.dims().iter().map(|d| serde_json::json!([&*d.name, d.size])).collect();
            if Value::from(dims.clone()) != golden["dims"] {
                problems.push(format!("{id}: {name} has {dims:?}, not {}", golden["dims"]));
            }
            let layout = Value::from(layout_of(&study, tensor));
            if layout != golden["layout"] {
                problems.push(format!("{id}: {name} on {layout}, not {}", golden["layout"]));
            }
            if Value::from(tensor.slice_shape.clone()) != golden["slice_shape"] {
                problems.push(format!("{id}: {name}: {:?}", tensor.slice_shape));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn same_errors() {
    for case in cases().iter().filter(|c| c["error"].is_string()) {
        let id = case["id"].as_str().unwrap();
        let study = Study::new(case["study"].as_str().unwrap());
        let expected = !BETTERED.contains(&id);
        assert_eq!(study.has_errors(), expected, "{id}: {:#?}", study.diagnostics());
    }
}

/// Elements through collectives of each kind, counted as the original counts them: an Allreduce by
/// its slice, an Alltoall by its slice, an Allgather by its result; all processors together.
pub(crate) fn elements(study: &Study) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    let processors = study.mesh().processors();
    for collective in study.collectives() {
        let slice = collective.slice_bytes / 4 * processors;
        let n = study.mesh().group_size(&collective.axes);
        let (kind, elements) = match collective.kind {
            CollectiveKind::Allreduce(_) | CollectiveKind::Reducescatter(..) => {
                ("allreduce", slice)
            }
            CollectiveKind::Alltoall(..) => ("alltoall", slice),
            CollectiveKind::Allgather(_) => ("allconcat", slice * n),
            CollectiveKind::Receive(..) => {
                ("shift", (collective.sent_bytes_per_processor * processors as f64) as u64 / 4)
            }
            CollectiveKind::Allsplit(_) | CollectiveKind::Hop { .. } => continue,
        };
        *sums.entry(kind).or_insert(0) += elements;
    }
    sums
}

#[test]
fn no_more_through_collectives() {
    let mut compared = 0;
    let mut problems = Vec::new();
    for case in cases().iter().filter(|c| c["counters"].is_object()) {
        let id = case["id"].as_str().unwrap();
        let study = Study::new(case["study"].as_str().unwrap());
        if study.has_errors() {
            continue;
        }
        let mut theirs: BTreeMap<&str, u64> = BTreeMap::new();
        for (key, count) in case["counters"].as_object().unwrap() {
            let kind = key.split(['/', '[']).next().unwrap();
            if kind == "shift" && key == "shift[0]" || kind.starts_with("einsum") {
                continue;
            }
            *theirs.entry(kind).or_insert(0) += count.as_u64().unwrap();
        }
        for (kind, ours) in elements(&study) {
            // A running sum gathers, where the original multiplies by a triangle and reduces.
            let key = if id.starts_with("cumsum") { "allreduce" } else { kind };
            let limit = theirs.get(key).copied().unwrap_or(0);
            compared += 1;
            if ours > limit {
                problems.push(format!("{id}: {kind} {ours}, the original {theirs:?}"));
            }
        }
    }
    assert!(compared > 20, "{compared}");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The dimensions of two operands that are broadcast, as the original has them: those of the one
/// that holds the other's in their order, else the first's and then the second's new ones.
#[test]
fn dimensions_of_two_operands() {
    for (x, y, expected) in [
        ("a b", "a b", "a b"),
        ("b", "a b", "a b"),
        ("a b", "b", "a b"),
        ("a", "b", "a b"),
        ("a b", "b a", "a b"),
        ("a b", "b a c", "a b c"),
        ("a b", "b c", "a b c"),
        ("a c", "a b c", "a b c"),
        ("c a", "a b c", "c a b"),
        ("a b c", "c a", "a b c"),
    ] {
        let functions = ["x + y", "x * y", "maximum(x, y)", "less(x, y)", "equal(x, y)"];
        let others = ["greater(x, y)", "greater_equal(x, y)", "not_equal(x, y)"];
        for function in functions.iter().chain(&others) {
            let text = format!("dims a:2 b:2 c:2\ninput x[{x}], y[{y}]\nz = {function}");
            let study = Study::new(&text);
            assert!(!study.has_errors(), "{text}: {:?}", study.diagnostics());
            let z = study.tensors().into_iter().find(|t| &*t.name == "z").unwrap();
            let dims: Vec<&str> = z.shape.dims().iter().map(|d| &*d.name).collect();
            assert_eq!(dims.join(" "), expected, "{text}");
        }
    }
}
