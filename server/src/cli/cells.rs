//! What the cells of a pipeline did in the last step of a run, beside what was predicted.
//!
//! ```text
//! last step of 1f1b      measured  predicted      by measured costs
//!   makespan             52.1 ms   1.2 GFLOP      50.9 ms
//!   bubble of makespan   21.0 %    20.0 %         20.4 %
//!   bubble of ideal      26.6 %    25.0 %         25.6 %
//! ```
//!
//! Predicted is the schedule where each floating point operation takes equally long, or each layer
//! as long as the study says; by measured costs, where each task takes as long as such tasks of its
//! stage took on average: what is measured beyond that are waits for letters, and other work on the
//! machine.

use super::table::{Table, count, rate, unit};
use meshwork_engine::index::{IdVec, Idx as _, Stage};
use meshwork_engine::pipeline::measured::costs;
use meshwork_engine::pipeline::simulate::StageCosts;
use meshwork_engine::spmd::cells::Cells;
use meshwork_engine::staging::change::costs_of;
use meshwork_engine::study::Study;
use meshwork_engine::timeline::{Kind, Timeline};
use std::io::{self, Write};

/// Says all that is known of a measured timeline.
pub(super) fn write(
    out: &mut impl Write,
    study: &Study,
    measured: &Timeline,
    layers: &[f64],
) -> io::Result<()> {
    writeln!(out, "cells in the last step")?;
    comparison(study, measured).write(out)?;
    writeln!(out, "seconds of each cell")?;
    cells(measured).write(out)?;
    writeln!(out, "seconds of each stage, for a micro-batch")?;
    stages(study, measured, &costs(measured)).write(out)?;
    writeln!(
        out,
        "milliseconds of each layer, for a micro-batch, forward and backward, on average:"
    )?;
    writeln!(out, "  costs:{}", costs_of(layers))
}

fn comparison(study: &Study, measured: &Timeline) -> Table {
    let mut table = Table::new(&["", "measured", "predicted", "by measured costs"]);
    let outlook = study.outlook();
    let unit = outlook.as_ref().map_or("", |look| unit(look.unit()));
    let predicted = outlook.as_ref().map(|look| look.timeline.clone()).unwrap_or_default();
    let again = study.timeline_at(measured).unwrap_or_default();
    let mut row = |name: &str, cells: [String; 3]| {
        table.row(std::iter::once(name.to_owned()).chain(cells).collect());
    };
    let operations = count(predicted.makespan(), unit);
    row("makespan", [seconds(measured.makespan()), operations, seconds(again.makespan())]);
    let all = [measured, &predicted, &again];
    row("bubble of makespan", all.map(|t| percent(t.bubble_of_makespan())));
    row("bubble of ideal", all.map(|t| percent(t.bubble_of_ideal())));
    table
}

fn cells(measured: &Timeline) -> Table {
    let mut table = Table::new(&["cell", "works", "idles"]);
    for rank in measured.lanes().ids() {
        let times = [measured.busy(rank), measured.idle(rank)].map(seconds);
        table.row([rank.index().to_string()].into_iter().chain(times).collect());
    }
    table
}

/// The kinds of tasks that occur, stage by stage.
fn stages(study: &Study, measured: &Timeline, costs: &IdVec<Stage, StageCosts>) -> Table {
    let has = |kind: &Kind| {
        let mut tasks = measured.intervals().flat_map(|(_, interval)| interval.slot.tasks());
        tasks.any(|task| task.kind == *kind)
    };
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(has).collect();
    let names = kinds.iter().map(|kind| kind.name());
    let mut table = Table::new(&["stage", "cell"].into_iter().chain(names).collect::<Vec<_>>());
    for (stage, costs) in costs.entries() {
        let order = study.program().and_then(|program| program.cells.as_ref()).map(Cells::order);
        let cells = order.into_iter().flat_map(|order| order.ranks_of(stage));
        let cells: Vec<String> = cells.map(|cell| cell.index().to_string()).collect();
        let times = kinds.iter().map(|kind| seconds(costs.of(*kind)));
        let names = [stage.index().to_string(), cells.join(", ")];
        table.row(names.into_iter().chain(times).collect());
    }
    table
}

/// A time in the unit that suits it.
fn seconds(time: f64) -> String {
    match time {
        t if t >= 1.0 => format!("{} s", rate(t)),
        t if t >= 1e-3 => format!("{} ms", rate(t * 1e3)),
        t => format!("{} µs", rate(t * 1e6)),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(
            [2.0, 0.0521, 0.000_004_2, 0.0].map(seconds),
            ["2.00 s", "52.1 ms", "4.20 µs", "0 µs"]
        );
    }
}
