//! The command line, as scripts use it: the built binary, its output and its exit status.

use crate::app::{FIGURE_4, read};
use meshwork_wire::plan::Plan;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const BAD: &str = "mesh all:3\nlayout batch:all\nmodel two_layer batch:8 io:4 hidden:8\n";

/// What a call of the binary gave.
pub(crate) struct Called {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn called(output: Output) -> Called {
    Called {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn meshwork(args: &[&str], stdin: &str) -> Called {
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
fn plan_says_how_a_pipeline_spends_its_time() {
    let gpipe = meshwork_engine::examples::find("gpipe").unwrap().text;
    let people = meshwork(&["plan", "-"], gpipe);
    for part in [
        "pipeline of 4 cells, 8 micro-batches: gpipe, activations computed again\n",
        "(idle/makespan)",
        "(idle/ideal)",
        "  stage  cell  layers",
    ] {
        assert!(people.out.contains(part), "{part} in {}", people.out);
    }
    let json: Value = serde_json::from_str(&meshwork(&["plan", "-", "--json"], gpipe).out).unwrap();
    let said = &json["pipeline"];
    let numbers = ["cells", "micro_batches", "chunks"].map(|key| said[key].as_u64().unwrap());
    assert_eq!(numbers, [4, 8, 1]);
    assert_eq!((&said["schedule"], &said["remat"]), (&"gpipe".into(), &"on".into()));
    let number = |key: &str| said[key].as_f64().unwrap();
    let idle: f64 = said["idle"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).sum();
    let share = idle / (4.0 * number("makespan"));
    assert!((number("bubble_of_makespan") - share).abs() < 1e-12);
    assert!((number("bubble_of_ideal") - share / (1.0 - share)).abs() < 1e-12);
    assert!(number("stage_span") <= number("makespan"));
    assert_eq!(said["peak_bytes"].as_array().unwrap().len(), 4);
    let layers =
        said["stages"].as_array().unwrap().iter().map(|s| s["layers"].as_array().unwrap().len());
    assert!(layers.sum::<usize>() >= 12);
    let last = said["order"][3].as_str().unwrap();
    assert!(last.starts_with("3F0 3F1 3F2 ") && last.ends_with(" 3R0 3B0"), "{last}");
    let without = meshwork(&["plan", "-", "--json"], FIGURE_4);
    assert!(!without.out.contains("pipeline"));
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
    let cases: [(&[&str], &str, &str); 12] = [
        (&[], "", "Usage"),
        (&["plan"], "", "FILE"),
        (&["plan", "/no/such/file"], "", "/no/such/file cannot be read"),
        (&["plan", "-", "--yaml"], "", "--yaml"),
        (&["run", "-", "--threads", "0"], FIGURE_4, "--threads"),
        (&["run", "-", "--threads", "65535"], FIGURE_4, "1..=512"),
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
fn plans_say_what_runs_would() {
    for text in [
        "dims batch:4 in:2\ninput x[batch in]\nparam w[in]\n\
         loss = mean(square(einsum(x, w -> batch)))\ntrain data:teacher\n",
        "dims a:4 b:4\ninput x[a], t[b]\nparam w[a]\nloss = sum(x * w) + sum(t)\n\
         train data:teacher\n",
    ] {
        let plan = meshwork(&["plan", "-"], text);
        assert_eq!(plan.status, 1, "{}", plan.out);
        assert!(plan.err.contains("error[data]: "), "{}", plan.err);
        assert!(plan.err.contains("Leave `data` out"), "{}", plan.err);
        assert_eq!(meshwork(&["run", "-"], text).err, plan.err);
    }
}

#[test]
fn names_do_not_reach_the_terminal_raw() {
    let text = "dims `a\x1b[31m`:2\ninput `x\x1b]0;owned\x07`[`a\x1b[31m`]\n\
                `y\u{9b}` = sum(`x\x1b]0;owned\x07`)\n";
    let raw = |c: char| c.is_control() && c != '\n';
    for (args, text) in [
        (&["plan", "-", "--slices"][..], text.to_owned()),
        (&["run", "-", "--print", "y\u{9b}", "--print", "x\x1b]0;owned\x07"], text.to_owned()),
        (&["plan", "-"], text.replace("= sum", "= sun")),
        (&["run", "-", "--print", "no\x1b"], text.to_owned()),
        (&["fmt", "/no\x1b/file"], String::new()),
    ] {
        let call = meshwork(args, &text);
        assert!(!call.out.contains(raw) && !call.err.contains(raw), "{:?}", (call.out, call.err));
    }
}

#[test]
fn formatting_loses_no_text() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.study");
    let file = path.to_str().unwrap();
    for line in [
        "model mlp hidden:((((((4",
        "mesh a:2 b:(",
        "param w[b] init:normal(0",
        "input x[b] init:values(1 2 # hi",
        "train rate:0.1 rate:0.2",
        "layout a:b, c",
        "block b times:(",
        "y = relu(x",
        "dims a:2 a:3",
        "hardware a:",
    ] {
        let text = format!("mesh  rows:2\n   {line}\n# kept\n");
        std::fs::write(&path, &text).unwrap();
        let kept = format!("mesh rows:2\n{line}\n# kept\n");
        let kept =
            if line.starts_with("block") { kept.replace("# kept", "  # kept") } else { kept };
        let printed = meshwork(&["fmt", file], "");
        assert_eq!((printed.status, printed.out.as_str()), (1, kept.as_str()), "{}", printed.err);
        assert!(printed.err.contains("error["), "{line}");
        assert_eq!(meshwork(&["fmt", "--write", file], "").status, 1);
        assert_eq!(read(&path), kept, "{line}");
    }
    let long = format!("mesh  rows:2\n{}", "# long\n".repeat(700_000));
    std::fs::write(&path, &long).unwrap();
    assert_eq!(meshwork(&["fmt", "--write", file], "").status, 1);
    assert_eq!(read(&path), long, "what is not read is left alone");
}

#[test]
fn links_that_nothing_opens_are_not_made() {
    // What does not compress: each line is another number.
    let lines = |n: u64| -> String {
        let line = |i: u64| format!("# {:x}\n", (i + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..n).map(line).collect::<Vec<_>>().concat()
    };
    let short = meshwork(&["link", "-"], FIGURE_4);
    assert_eq!((short.status, short.err.as_str()), (0, ""));
    let long = meshwork(&["link", "-"], &lines(800));
    assert_eq!(long.status, 0);
    assert!(long.out.len() > 8000 && long.out.len() < 64 << 10);
    assert!(long.err.contains("chat programs cut"), "{}", long.err);
    assert!(long.err.contains("/api/v1/studies"), "{}", long.err);
    for text in [lines(20_000), "#\n".repeat(600_000)] {
        let link = meshwork(&["link", "-"], &text);
        assert_eq!((link.status, link.out.as_str()), (2, ""));
        assert!(link.err.contains("nothing would open the link"), "{}", link.err);
    }
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
