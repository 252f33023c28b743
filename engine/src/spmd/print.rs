//! The Program as a readable listing: one line per step, layouts beside values, and at every
//! collective the reason why it is there.
//!
//! ```text
//! y{batch:rows Σcols}[8 4] = einsum h{batch:rows hidden:cols} v{hidden:cols}
//! y{batch:rows}[8 4] = Allreduce over cols    # y sums over `hidden`, …
//! ```

use super::explain;
use super::program::{Body, BodyKind, Program, Search, Step, Work};
use super::tape::{Instr, Tape};
use crate::graph::Graph;
use crate::graph::op::Noise;
use crate::index::{Idx as _, TensorAxis, ValueId};
use crate::layout::rules::LayoutRules;
use crate::layout::tensor::Combine;

/// The listing of a Program.
pub fn listing(program: &Program, graph: &Graph, rules: &LayoutRules) -> String {
    let mut lines = Vec::new();
    let mut part = None;
    for step in &program.steps {
        if matches!(step.work, Work::Free) {
            continue;
        }
        if part != Some((step.body, step.phase)) {
            part = Some((step.body, step.phase));
            lines.push(format!("# {}{}", step.phase.name(), times(program, step)));
        }
        lines.push(line(program, graph, rules, step));
    }
    lines.join("\n") + "\n"
}

/// For which stage and which micro-batches a step is run.
fn times(program: &Program, step: &Step) -> String {
    if !program.repeats(step.body) {
        return String::new();
    }
    let Body { kind, stage, is_last } = program.bodies[step.body];
    let part = match kind {
        BodyKind::Recompute => ", computed again",
        BodyKind::WeightGradient => ", weights",
        BodyKind::Begin | BodyKind::Forward | BodyKind::Backward | BodyKind::End => "",
    };
    let of = program.cells.as_ref().map(|cells| format!(" at {}", cells.name(stage)));
    let of = of.unwrap_or_default();
    let alike = program.alike(stage);
    let count = alike.end - alike.start;
    match (is_last, alike.end < program.micro_batches_of(stage).end) {
        (true, _) => format!("{part}{of}, the last micro-batch"),
        (false, true) => format!("{part}{of}, each of the first {count} micro-batches"),
        (false, false) => format!("{part}{of}, each of {count} micro-batches"),
    }
}

fn line(program: &Program, graph: &Graph, rules: &LayoutRules, step: &Step) -> String {
    let inputs: Vec<String> = step.inputs.iter().map(|&v| value(program, v)).collect();
    let along = |axis: TensorAxis| {
        let dims = program.values[step.inputs[0]].shape.dims();
        dims.get(axis.index()).map_or("", |d| &d.name)
    };
    let work = match &step.work {
        Work::Einsum => format!("einsum {}", inputs.join(" ")),
        Work::Reduce(r) => format!("reduce {} {}", r.combine().name(), inputs.join(" ")),
        Work::Tape(tape) => code(tape, &inputs),
        Work::Rename => format!("rename {}", inputs.join(" ")),
        Work::Reshape => format!("reshape {}", inputs.join(" ")),
        Work::Window(frame) => format!("window {} {}", along(frame.axis), inputs.join(" ")),
        Work::Unwindow(frame) => format!("unwindow {} {}", along(frame.axis), inputs.join(" ")),
        Work::Gather(axis) => format!("gather {} {}", along(*axis), inputs.join(" ")),
        Work::Scatter(_) => format!("scatter {}", inputs.join(" ")),
        Work::TopK(axis, search) => {
            let name = match search {
                Search::All => "top_k",
                Search::Own => "top_k_of_slice",
                Search::Candidates => "top_k_of_candidates",
            };
            format!("{name} {} {}", along(*axis), inputs.join(" "))
        }
        Work::Cumsum(axis, _) => format!("cumsum {} {}", along(*axis), inputs.join(" ")),
        Work::Collective(c) => {
            format!("{} over {}", c.kind.title(), program.mesh.names(&c.axes))
        }
        Work::Accumulate => format!("accumulate {}", inputs.join(" ")),
        Work::Send => format!("send {}", inputs.join(" ")),
        Work::Assign => return format!("{} ← {}", inputs[0], inputs[1]),
        Work::Free => return format!("free {}", inputs[0]),
    };
    let made = |&output: &ValueId| {
        let sizes: Vec<String> = program.slice_sizes(output).iter().map(u64::to_string).collect();
        format!("{}[{}]", value(program, output), sizes.join(" "))
    };
    let outputs: Vec<String> = step.outputs.iter().map(made).collect();
    let why = explain::why(program, graph, rules, step);
    let why = why.map_or(String::new(), |w| format!("    # {}", w.text));
    format!("{} = {work}{why}", outputs.join(", "))
}

/// `y{batch:rows Σcols}`: a value's name, splits, and pending combinations.
pub fn value(program: &Program, id: ValueId) -> String {
    let v = &program.values[id];
    let mut parts = Vec::new();
    for (d, axes) in v.shape.dims().iter().zip(v.layout.splits()) {
        if !axes.is_empty() {
            parts.push(format!("{}:{}", d.name, program.mesh.names(axes)));
        }
    }
    for &(axis, combine) in v.layout.partial() {
        let sign = match combine {
            Combine::Sum => "Σ",
            Combine::Max => "max ",
            Combine::Min => "min ",
        };
        parts.push(format!("{sign}{}", program.mesh.names(&[axis])));
    }
    format!("{}{{{}}}", v.name, parts.join(" "))
}

fn code(tape: &Tape, inputs: &[String]) -> String {
    let mut terms: Vec<String> = Vec::new();
    for instr in tape.code() {
        let r = |i: u16| terms[usize::from(i)].clone();
        let name = |e: crate::graph::op::Element| format!("{e:?}").to_lowercase();
        terms.push(match *instr {
            Instr::Load(k) => inputs[usize::from(k)].clone(),
            Instr::Constant(c) => format!("{c}"),
            Instr::StepNumber => "step".to_owned(),
            Instr::Training => "training".to_owned(),
            Instr::Share => "share".to_owned(),
            Instr::Index(axis) => format!("index {axis}"),
            Instr::Noise(_, Noise::Uniform) => "random".to_owned(),
            Instr::Noise(_, Noise::Dropout(rate)) => format!("dropout {rate}"),
            Instr::One(e, a) => format!("{}({})", name(e), r(a)),
            Instr::Two(e, a, b) => format!("{}({}, {})", name(e), r(a), r(b)),
            Instr::Three(e, a, b, c) => format!("{}({}, {}, {})", name(e), r(a), r(b), r(c)),
        });
    }
    terms.pop().unwrap_or_default()
}
