//! The command line, as scripts use it: the built binary, its output and its exit status.

use crate::app::{FIGURE_4, read};
use meshwork_wire::plan::Plan;
use meshwork_wire::run::Event;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const BAD: &str = "mesh all:3\nlayout batch:all\nmodel two_layer batch:8 io:4 hidden:8\n";

/// What a call of the binary gave.
struct Called {
    status: i32,
    out: String,
    err: String,
}

fn called(output: Output) -> Called {
    Called {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn meshwork(args: &[&str], stdin: &str) -> Called {
    let mut child = Command::new(env!("CARGO_BIN_EXE_meshwork"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input closes it; that is no matter here.
    drop(child.stdin.take().unwrap().write_all(stdin.as_bytes()));
    called(child.wait_with_output().unwrap())
}

fn events(out: &str) -> Vec<Event> {
    out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
}

#[test]
fn plan_as_json_is_one_object() {
    let plan = meshwork(&["plan", "-", "--json", "--slices"], FIGURE_4);
    assert_eq!((plan.status, plan.err.as_str()), (0, ""));
    let parsed: Plan = serde_json::from_str(&plan.out).unwrap();
    assert_eq!(parsed.mesh, [("rows".to_owned(), 2), ("cols".to_owned(), 2)]);
    assert!(parsed.tensors.iter().all(|t| t.slice_begin.as_ref().unwrap().len() == 4));
    let raw: Value = serde_json::from_str(&plan.out).unwrap();
    let keys = ["collectives", "diagnostics", "mesh", "processors", "tensors", "totals"];
    assert_eq!(raw.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
    let without = meshwork(&["plan", "-", "--json"], FIGURE_4);
    assert!(!without.out.contains("slice_begin"));
}

#[test]
fn plan_for_people_has_every_table() {
    let plan = meshwork(&["plan", "-"], FIGURE_4);
    assert_eq!(plan.status, 0);
    for part in [
        "mesh of 4 processors: rows:2 cols:2",
        "tensors",
        "batch:rows",
        "allreduce",
        "the Allreduce adds",
    ] {
        assert!(plan.out.contains(part), "{part} in {}", plan.out);
    }
    let alone = meshwork(&["plan", "-"], "model two_layer batch:8 io:4 hidden:8\n");
    assert!(alone.out.contains("mesh of 1 processor\n"), "{}", alone.out);
    assert!(alone.out.contains("no collectives"), "{}", alone.out);
}

#[test]
fn a_study_with_errors_is_status_1() {
    let people = meshwork(&["plan", "-"], BAD);
    assert_eq!((people.status, people.out.as_str()), (1, ""));
    assert!(people.err.starts_with("error[not-divisible]: "), "{}", people.err);
    assert!(people.err.contains("--> <stdin>:2:8"), "{}", people.err);
    assert!(
        people.err.contains(" 2 | layout batch:all\n   |        ^^^^^^^^^\n   = "),
        "{}",
        people.err
    );
    let json = meshwork(&["plan", "-", "--json"], BAD);
    assert_eq!((json.status, json.err.as_str()), (1, ""));
    let plan: Plan = serde_json::from_str(&json.out).unwrap();
    assert_eq!(plan.diagnostics[0].code, "not-divisible");
    assert!(!plan.tensors.is_empty(), "what can be known is said");
    let run = meshwork(&["run", "-", "--json"], BAD);
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["diagnostics"][0]["code"], "not-divisible");
    assert_eq!(meshwork(&["run", "-"], BAD).status, 1);
    assert_eq!(meshwork(&["draw", "-", "-o", "-"], BAD).status, 1);
    assert_eq!(meshwork(&["fmt", "-"], "mehs all:2\n").status, 1);
}

#[test]
fn misuse_is_status_2() {
    let folder = TempDir::new().unwrap();
    let nowhere = folder.path().join("no/such/x.svg");
    let nowhere = nowhere.to_str().unwrap();
    let cases: [(&[&str], &str, &str); 11] = [
        (&[], "", "Usage"),
        (&["plan"], "", "FILE"),
        (&["plan", "/no/such/file"], "", "/no/such/file cannot be read"),
        (&["plan", "-", "--yaml"], "", "--yaml"),
        (&["run", "-", "--threads", "0"], FIGURE_4, "--threads"),
        (&["run", "-", "--print", "ww"], FIGURE_4, "did you mean `w`?"),
        (&["run", "-", "--data", "/no/such.csv"], FIGURE_4, "/no/such.csv cannot be read"),
        (&["draw", "-", "-o", "-", "--tensor", "target2"], FIGURE_4, "did you mean `target`?"),
        (&["draw", "-", "-o", nowhere], FIGURE_4, "cannot be written"),
        (&["fmt", "-", "--write"], FIGURE_4, "--write needs a file"),
        (&["serve", "--listen", "nowhere"], "", "--listen"),
    ];
    for (args, stdin, message) in cases {
        let call = meshwork(args, stdin);
        assert_eq!(call.status, 2, "{args:?}: {}{}", call.out, call.err);
        assert!(call.err.contains(message), "{args:?}: {}", call.err);
        assert_eq!(call.out, "", "{args:?}");
    }
    assert_eq!(meshwork(&["--help"], "").status, 0);
    assert_eq!(meshwork(&["--version"], "").status, 0);
}

#[test]
fn a_run_says_steps_values_and_what_it_counted() {
    let args = [
        "run",
        "-",
        "--json",
        "--check",
        "--steps",
        "5",
        "--threads",
        "2",
        "--print",
        "w",
        "--print",
        "h",
    ];
    let run = meshwork(&args, FIGURE_4);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    let events = events(&run.out);
    assert_eq!(events.len(), 5 + 2 + 1);
    for (i, event) in events[..5].iter().enumerate() {
        assert!(matches!(event, Event::Step { step, .. } if *step == i as u64), "{event:?}");
    }
    let Event::Value { name, dims, values } = &events[5] else { panic!("{:?}", events[5]) };
    assert_eq!((name.as_str(), values.len()), ("w", 32));
    assert_eq!(*dims, [("io".to_owned(), 4), ("hidden".to_owned(), 8)]);
    assert!(
        matches!(&events[6], Event::Value { name, values, .. } if name == "h" && values.len() == 64)
    );
    let Event::Done { loss, counted, predicted, max_difference, steps_per_second } = events[7]
    else {
        panic!("{:?}", events[7])
    };
    assert!(matches!(events[4], Event::Step { loss: last, .. } if Some(last) == loss));
    assert_eq!(counted, predicted);
    assert!(counted.messages > 0 && steps_per_second > 0.0);
    assert!(max_difference.unwrap() < 1e-5, "{max_difference:?}");
    let plain = meshwork(&["run", "-", "--json", "--steps", "1"], FIGURE_4);
    assert!(!plain.out.contains("max_difference"));
}

#[test]
fn a_study_without_train_is_its_forward_pass() {
    let text = "dims a:2\ninput x[a] init:values(1 2)\ny = x + x\n";
    let run = meshwork(&["run", "-", "--json", "--print", "y"], text);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let events = events(&run.out);
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(matches!(&events[0], Event::Value { values, .. } if *values == [2.0, 4.0]));
    assert!(matches!(events[1], Event::Done { loss: None, .. }));
}

#[test]
fn a_run_for_people_is_readable() {
    let run = meshwork(&["run", "-", "--check", "--print", "bias"], FIGURE_4);
    assert_eq!(run.status, 0, "{}", run.err);
    for part in [
        "20 steps, 4 processors (rows:2 cols:2)",
        "step        0   loss ",
        "step       19   loss ",
        "bias[hidden:8] =",
        "messages as predicted",
        "largest difference from one processor",
    ] {
        assert!(run.out.contains(part), "{part} in {}", run.out);
    }
}

#[test]
fn a_run_that_diverges_is_status_1() {
    let text = FIGURE_4.replace("rate:0.1", "rate:1e9");
    let run = meshwork(&["run", "-", "--json", "--steps", "500"], &text);
    assert_eq!(run.status, 1);
    let events = events(&run.out);
    let Some(Event::Diverged { step, message }) = events.last() else { panic!("{events:?}") };
    assert_eq!(*step as usize, events.len() - 1);
    assert!(message.contains("rate"));
}

#[test]
fn a_csv_is_trained_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("points.csv");
    let rows: Vec<String> = (0..40).map(|i| format!("{i},{},{}", i % 5, 2 * i + i % 5)).collect();
    std::fs::write(&path, format!("a,b,y\n{}\n", rows.join("\n"))).unwrap();
    let text = "model mlp batch:8 in:2 hidden:8 out:1\ntrain optimizer:adam rate:0.01 steps:200 data:points\n";
    let csv = path.to_str().unwrap();
    let run = meshwork(&["run", "-", "--json", "--data", csv], text);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let events = events(&run.out);
    let errors: Vec<f64> = events
        .iter()
        .filter_map(|e| match e {
            Event::Validation { error, accuracy: None, .. } => *error,
            _ => None,
        })
        .collect();
    assert!(errors.len() >= 10 && errors.last() < errors.first(), "{errors:?}");
    assert!(*errors.last().unwrap() < 0.5, "{errors:?}");
    let without = meshwork(&["run", "-"], text);
    assert_eq!(without.status, 1);
    assert!(without.err.contains("there is no table `points`"), "{}", without.err);

    std::fs::write(&path, "a,b,y\n1,2,3\n1,x,3\n").unwrap();
    let bad = meshwork(&["run", "-", "--data", csv], text);
    assert_eq!(bad.status, 2);
    assert!(bad.err.contains("points.csv:3:2: `b` is `x`, not a number"), "{}", bad.err);
}

#[test]
fn memory_is_bounded() {
    let huge = "model two_layer batch:65536 io:65536 hidden:65536\ntrain steps:1";
    let run = meshwork(&["run", "-", "--json"], huge);
    assert_eq!(run.status, 1);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["diagnostics"][0]["code"], "too-large");
    assert_eq!(meshwork(&["plan", "-"], huge).status, 0, "planning costs nothing");
}

#[test]
fn pictures_go_to_a_file_or_to_standard_output() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("w.svg");
    let draw = meshwork(&["draw", "-", "--tensor", "w", "-o", path.to_str().unwrap()], FIGURE_4);
    assert_eq!((draw.status, draw.out.as_str()), (0, ""), "{}", draw.err);
    let file = read(&path);
    let piped = meshwork(&["draw", "-", "--tensor", "w", "-o", "-"], FIGURE_4);
    assert_eq!(piped.out, file);
    assert!(file.starts_with("<svg") && file.contains("w[io:4 hidden:8]"), "{file}");
    let sheet = meshwork(&["draw", "-", "-o", "-"], FIGURE_4).out;
    for tensor in ["bias", "target", "loss"] {
        assert!(sheet.contains(&format!("{tensor}[")), "{tensor}");
    }
}

#[test]
fn studies_are_formatted_and_linked() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.study");
    std::fs::write(&path, "mesh   all:2,\n# kept\nmodel  two_layer batch:8\n").unwrap();
    let file = path.to_str().unwrap();
    let printed = meshwork(&["fmt", file], "");
    assert_eq!(printed.status, 0, "{}", printed.err);
    assert_eq!(printed.out, "mesh all:2\n# kept\nmodel two_layer batch:8\n");
    assert_ne!(read(&path), printed.out, "the file is left alone");
    let written = meshwork(&["fmt", "--write", file], "");
    assert_eq!((written.status, written.out.as_str()), (0, ""));
    assert_eq!(read(&path), printed.out);
    let link = meshwork(&["link", file, "--studio", "https://example.test/"], "");
    let text = meshwork_engine::spec::url::decode(link.out.trim()).unwrap().unwrap();
    assert_eq!(text, printed.out);
    assert!(link.out.starts_with("https://example.test/#1="));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_meshwork"))
        .args(["run", "-", "--json", "--steps", "200000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(FIGURE_4.as_bytes()).unwrap();
    drop(child.stdout.take());
    let end = called(child.wait_with_output().unwrap());
    assert_eq!((end.status, end.err.as_str()), (0, ""));
}
