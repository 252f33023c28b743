//! `meshwork run`, as scripts use it.

use crate::app::FIGURE_4;
use crate::cli::{called, meshwork};
use meshwork_wire::plan::Plan;
use meshwork_wire::run::Event;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};
use tempfile::TempDir;

fn events(out: &str) -> Vec<Event> {
    out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
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
    let Event::Done {
        loss,
        counted,
        predicted,
        held: Some(held),
        max_difference,
        loss_difference,
        steps_per_second,
        timeline: None,
    } = events[7]
    else {
        panic!("{:?}", events[7])
    };
    assert!(matches!(events[4], Event::Step { loss: last, .. } if Some(last) == loss));
    assert_eq!(counted, predicted);
    assert_eq!(held.counted, held.predicted);
    let plan = meshwork(&["plan", "-", "--json"], FIGURE_4);
    let plan: Plan = serde_json::from_str(&plan.out).unwrap();
    let planned = plan.totals.peak_bytes_per_processor;
    assert!(held.counted > planned, "what is printed is held: {held:?} {planned}");
    assert!(counted.messages > 0 && steps_per_second > 0.0);
    assert!(max_difference.unwrap() < 1e-5, "{max_difference:?}");
    assert!(loss_difference <= max_difference, "{loss_difference:?} {max_difference:?}");
    let plain = meshwork(&["run", "-", "--json", "--steps", "1"], FIGURE_4);
    assert!(!plain.out.contains("max_difference"));
    assert!(
        plain.out.contains(&format!(r#""held":{{"counted":{planned},"predicted":{planned}}}"#))
    );
    let none = meshwork(&["run", "-", "--json", "--steps", "0"], FIGURE_4);
    assert!(!none.out.contains("held"), "{}", none.out);
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
        "bytes held by a processor as predicted",
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

/// The sum of large numbers in another order gives the sine something else altogether.
#[test]
fn a_difference_beyond_rounding_is_status_1() {
    let text = |angle: &str, train: &str| {
        format!(
            "mesh p:4\nlayout a:p\ndims a:4096\ninput x[a] init:normal(0 1000)\nparam w init:ones\n\
             loss = square(w - sin({angle}))\ntrain rate:0.001 steps:3 {train}"
        )
    };
    let single = &text("1000 * sum(x)", "");
    let text = &text("1e12 * sum(exp(x / 1000))", "dtype:f64");
    let args = ["run", "-", "--check"];
    // In single precision that may be what an optimizer makes of rounding.
    let unclear = meshwork(&args, single);
    assert_eq!(unclear.status, 0, "{}{}", unclear.out, unclear.err);
    assert!(unclear.err.starts_with("note: the largest difference"), "{}", unclear.err);
    assert!(unclear.err.contains("dtype:f64"), "{}", unclear.err);
    let people = meshwork(&args, text);
    assert_eq!(people.status, 1, "{}{}", people.out, people.err);
    let says = "error: the largest difference from one processor is ";
    assert!(people.err.starts_with(says) && people.err.contains("more than"), "{}", people.err);
    let json = meshwork(&[&args[..], &["--json"]].concat(), text);
    assert_eq!(json.status, 1);
    assert!(json.err.starts_with(says), "{}", json.err);
    assert!(matches!(events(&json.out).last(), Some(Event::Done { .. })), "{}", json.out);
    // The gradient of a key's bias is rounding, which adafactor makes as large as any.
    let magnified = "mesh st:2\nlayout batch:st\n\
                     model transformer batch:4 length:4 vocab:8 d_model:8 heads:2 d_ff:8 layers:1 \
                     bias:on\ntrain optimizer:adafactor steps:3 dtype:f64";
    let magnified = meshwork(&args, magnified);
    assert_eq!(magnified.status, 0, "{}{}", magnified.out, magnified.err);
    assert!(magnified.err.contains("no loss differs"), "{}", magnified.err);
    let without = meshwork(&args[..2], text);
    assert_eq!((without.status, without.err.as_str()), (0, ""));
    let help = meshwork(&["run", "--help"], "");
    assert!(help.out.contains("exit status is 1"), "{}", help.out);
}

#[test]
fn numbers_and_flags_that_make_no_sense_are_misuse() {
    for (args, says) in [
        (&["run", "-", "--memory", "0"][..], "--memory <GIB>"),
        (&["serve", "--memory", "0"], "--memory <GIB>"),
        (&["serve", "--patience", "1e18"], "1000000000 at most"),
        (&["draw", "-", "--timeline", "--trace", "-o", "-"], "cannot be used with"),
    ] {
        let run = meshwork(args, FIGURE_4);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{args:?}");
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
    }
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
    assert!(without.err.contains("there is no data set `points`"), "{}", without.err);

    std::fs::write(&path, "a,b,y\n1,2,3\n1,x,3\n").unwrap();
    let bad = meshwork(&["run", "-", "--data", csv], text);
    assert_eq!(bad.status, 2);
    assert!(bad.err.contains("points.csv:3:2: `b` is `x`, not a number"), "{}", bad.err);
}

#[test]
fn a_csv_counts_whatever_the_study_names() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("points.csv");
    let rows: Vec<String> = (0..40).map(|i| format!("{i},{},{}", i % 5, 2 * i + i % 5)).collect();
    std::fs::write(&path, format!("a,b,y\n{}\n", rows.join("\n"))).unwrap();
    let csv = path.to_str().unwrap();
    for train in ["train steps:3", "train steps:3 data:teacher", "train steps:3 data:iris"] {
        let text = format!("model mlp batch:8 in:2 out:1\n{train}\n");
        let run = meshwork(&["run", "-", "--data", csv], &text);
        assert_eq!(run.status, 0, "{train}: {}", run.err);
        assert!(run.out.contains("3 steps on `points`"), "{train}: {}", run.out);
        assert!(run.out.contains("held-out loss"), "{train}: {}", run.out);
        let wide = meshwork(&["run", "-", "--data", csv], &text.replace("in:2", "in:3"));
        assert_eq!(wide.status, 1, "{train}");
        assert!(wide.err.contains("`points` has 2 features"), "{}", wide.err);
        assert!(wide.err.contains("= Set `in` to 2."), "{}", wide.err);
    }
}

#[test]
fn what_is_printed_needs_memory() {
    // Some 1.2 GiB of activations, of which a plain run holds a few at once.
    let text = "model mlp batch:4096 in:8 hidden:8192 depth:8 out:1 activation:none\n";
    let args = ["run", "-", "--steps", "0", "--json", "--memory", "1"];
    let plain = meshwork(&args, text);
    assert_eq!(plain.status, 1, "w2 to w8 alone hold more: {}", plain.out);
    let text = "dims batch:4096 wide:8192\ninput x[batch]\nh1 = x + 0 * index(wide)\n\
                h2 = h1 + 1\nh3 = h2 * 2\nh4 = h3 + 3\nh5 = h4 * 2\nh6 = h5 + 1\nh7 = h6 * 3\n\
                y = sum(h7 -> batch)\n";
    let plain = meshwork(&args, text);
    assert_eq!(plain.status, 0, "{}{}", plain.out, plain.err);
    let mut kept = args.to_vec();
    for name in ["h1", "h2", "h3", "h4", "h5", "h6", "h7"] {
        kept.extend(["--print", name]);
    }
    let kept = meshwork(&kept, text);
    assert_eq!(kept.status, 1, "{}", kept.err);
    assert!(kept.out.contains("with what is kept to be printed"), "{}", kept.out);
}

#[test]
fn no_steps_leave_nothing_to_print() {
    let text = FIGURE_4.replace("steps:20", "steps:0");
    for args in [&["run", "-", "--print", "grad/w", "--print", "bias"][..], &["run", "-"]] {
        let run = meshwork(args, &text);
        assert_eq!(run.status, 0, "{}", run.err);
        assert!(run.out.starts_with("0 steps, 4 processors"), "{}", run.out);
        assert!(!run.out.contains("step        0"), "{}", run.out);
        let asked = args.len() > 2;
        assert_eq!(run.out.contains("bias[hidden:8] ="), asked, "{}", run.out);
        assert_eq!(run.err.contains("`grad/w` has no value, since no step"), asked, "{}", run.err);
    }
}

#[test]
fn numbers_that_are_none_are_said() {
    let text = "dims a:4\ninput x[a] init:values(1 0 -1 0)\ny = 1 / x\nz = y - y\n";
    let run = meshwork(&["run", "-", "--json", "--print", "y", "--print", "z"], text);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains(r#""values":[1.0,"Infinity",-1.0,"Infinity"]"#), "{}", run.out);
    assert!(run.out.contains(r#""values":[0.0,"NaN",0.0,"NaN"]"#), "{}", run.out);
    let events = events(&run.out);
    let Event::Value { values, .. } = &events[1] else { panic!("{events:?}") };
    assert!(values[1].is_nan() && values[2] == 0.0);
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
