//! `meshwork plan`: what a study means, as tables or as JSON.

use super::input::Input;
use super::plain::Plain;
use super::table::{Table, bytes, count, grouped, unit};
use super::{Failure, report};
use crate::convert;
use meshwork_engine::cost::tally::is_much;
use meshwork_engine::study::Study;
use meshwork_wire::plan::{Collective, Pipeline, Plan, Tensor};
use std::io::{self, Write};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Say where each processor's slice of each tensor begins (for up to a million numbers a tensor)
    #[arg(long)]
    slices: bool,
}

pub(super) fn plan(args: &Args) -> Result<(), Failure> {
    let text = args.input.read()?;
    let study = Study::new(&text);
    let plan = convert::plan(&study, args.slices);
    let out = &mut io::BufWriter::new(io::stdout().lock());
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&plan)?)?;
    } else {
        report::on_stderr(args.input.name(), &text, study.diagnostics())?;
        if !study.has_errors() {
            write(&mut Plain(&mut *out), &plan)?;
        }
    }
    out.flush()?;
    if study.has_errors() { Err(Failure::Study) } else { Ok(()) }
}

fn write(out: &mut impl Write, plan: &Plan) -> io::Result<()> {
    let mesh = pairs(&plan.mesh);
    let of = if mesh.is_empty() { String::new() } else { format!(": {mesh}") };
    let s = if plan.processors == 1 { "" } else { "s" };
    writeln!(out, "mesh of {} processor{s}{of}", grouped(plan.processors))?;
    writeln!(out)?;
    writeln!(out, "tensors")?;
    tensors(&plan.tensors).write(out)?;
    writeln!(out)?;
    if plan.collectives.is_empty() {
        writeln!(out, "no collectives: every processor works by itself")?;
    } else {
        writeln!(out, "collectives of one step")?;
        collectives(&plan.collectives).write(out)?;
    }
    writeln!(out)?;
    let totals = &plan.totals;
    writeln!(out, "one step, per processor")?;
    let flops = count(totals.flops_per_processor, "FLOP");
    if is_much(totals.duplication) {
        let times = totals.duplication;
        writeln!(out, "  computes     {flops}; all together {times:.2} times what is needed")?;
    } else {
        writeln!(out, "  computes     {flops}")?;
    }
    writeln!(out, "  sends        {}", bytes(totals.sent_bytes_per_processor))?;
    writeln!(out, "  holds        {} at most", bytes(totals.peak_bytes_per_processor as f64))?;
    if let Some(pipeline) = &plan.pipeline {
        writeln!(out)?;
        write_pipeline(out, pipeline)?;
    }
    if plan.tensors.iter().any(|t| t.slice_begin.is_some()) {
        writeln!(out)?;
        writeln!(out, "slices: where they begin, by processor")?;
        slices(&plan.tensors).write(out)?;
    }
    Ok(())
}

fn write_pipeline(out: &mut impl Write, p: &Pipeline) -> io::Result<()> {
    let remat = match &*p.remat {
        "on" => ", activations computed again",
        "except_last" => ", activations computed again but for the last micro-batch",
        _ => "",
    };
    let Pipeline { cells, micro_batches, schedule, .. } = p;
    writeln!(out, "pipeline of {cells} cells, {micro_batches} micro-batches: {schedule}{remat}")?;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let of_makespan = percent(p.bubble_of_makespan);
    let of_ideal = percent(p.bubble_of_ideal);
    writeln!(out, "  bubble       {of_makespan} of the time (idle/makespan)")?;
    writeln!(out, "               {of_ideal} of the time without idling (idle/ideal)")?;
    let unit = unit(&p.unit);
    let makespan = count(p.makespan, unit);
    let span = count(p.stage_span, unit);
    writeln!(out, "  takes        {makespan} from the first task to the last; a cell {span}")?;
    let mut table = Table::new(&["stage", "cell", "layers", "cost", "cell idle", "cell holds"]);
    for (i, stage) in p.stages.iter().enumerate() {
        let layers = match stage.layers.as_slice() {
            [only] => only.clone(),
            [first, .., last] => format!("{first} – {last} ({})", stage.layers.len()),
            [] => String::new(),
        };
        let cell = stage.cell as usize;
        let idle = p.idle.get(cell).copied().unwrap_or(0.0);
        let peak = p.peak_bytes.get(cell).copied().unwrap_or(0);
        table.row(vec![
            i.to_string(),
            stage.second_cell.map_or(cell.to_string(), |second| format!("{cell}, {second}")),
            layers,
            count(stage.cost, unit),
            count(idle, unit),
            bytes(peak as f64),
        ]);
    }
    table.write(out)
}

fn tensors(list: &[Tensor]) -> Table {
    let is_repeated = list.iter().any(|t| !t.repeated.is_empty());
    let columns =
        ["tensor", "role", "dims", "layout", "slice", "bytes", "partial", "computed alike"];
    let mut table = Table::new(&columns[..columns.len() - usize::from(!is_repeated)]);
    for t in list {
        let layout: Vec<String> =
            t.layout.iter().map(|(dim, mesh)| format!("{dim}:{}", mesh.join("+"))).collect();
        let partial = match t.partial.as_slice() {
            [] => String::new(),
            mesh => format!("sum over {}", mesh.join("+")),
        };
        let alike = match t.repeated.as_slice() {
            [] => String::new(),
            mesh => format!("along {}", mesh.join("+")),
        };
        let mut row = vec![
            t.name.clone(),
            t.role.clone(),
            pairs(&t.dims),
            if layout.is_empty() { "replicated".to_owned() } else { layout.join(" ") },
            sizes(&t.slice_shape),
            grouped(t.bytes_per_processor),
            partial,
        ];
        row.extend(is_repeated.then_some(alike));
        table.row(row);
    }
    table
}

fn collectives(list: &[Collective]) -> Table {
    let mut table = Table::new(&["collective", "over", "of", "phase", "times", "slice", "sent"]);
    for c in list {
        table.row(vec![
            c.kind.clone(),
            c.mesh_dims.join("+"),
            c.tensors.join(", "),
            c.phase.clone(),
            c.times.to_string(),
            bytes(c.slice_bytes as f64),
            bytes(c.sent_bytes_per_processor),
        ]);
        table.note(&c.why);
    }
    table
}

fn slices(list: &[Tensor]) -> Table {
    let mut table = Table::new(&["tensor", "processor", "begins at"]);
    for t in list {
        let begins = t.slice_begin.iter().flatten();
        for (pnum, begin) in begins.enumerate() {
            let begin = begin.as_ref().map_or("absent".to_owned(), |b| format!("[{}]", list_of(b)));
            table.row(vec![t.name.clone(), pnum.to_string(), begin]);
        }
    }
    table
}

fn list_of(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn sizes(shape: &[u64]) -> String {
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    if sizes.is_empty() { "one number".to_owned() } else { sizes.join(" × ") }
}

/// `rows:2 cols:2`.
pub(super) fn pairs(list: &[(String, u64)]) -> String {
    list.iter().map(|(name, size)| format!("{name}:{size}")).collect::<Vec<_>>().join(" ")
}
