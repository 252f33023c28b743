//! Every row of `schedules.json`: orders as PyTorch, torchgpipe, Sea AI Lab and `DeepSeek` have them,
//! with makespan, idle time, spans and stored micro-batches.

use crate::common::{close, count, counts, idle, numbers, unit};
use meshwork_engine::index::Rank;
use meshwork_engine::pipeline::order::{Extent, Order};
use meshwork_engine::pipeline::peak::{Freed, peaks};
use meshwork_engine::pipeline::schedule::{Schedule, one_f_one_b};
use meshwork_engine::pipeline::validate::validate;
use serde_json::Value;

const SCHEDULES: &str = include_str!("../data/schedules.json");

fn order(row: &Value) -> Order {
    let name = row["schedule"].as_str().unwrap();
    let extent = Extent::new(count(&row["ranks"]), count(&row["microbatches"]))
        .chunks(count(&row["stages_per_rank"]));
    let name = name.strip_suffix("_torch").unwrap_or(name);
    let schedule = Schedule::named(name).unwrap();
    match schedule {
        // one row is beyond the limit M ≥ K
        Schedule::OneFOneB => one_f_one_b::order(extent),
        _ => schedule.order(extent).unwrap(),
    }
}

#[test]
fn every_row_of_the_schedules() {
    let golden: Value = serde_json::from_str(SCHEDULES).unwrap();
    let rows = golden["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 85);
    for row in rows {
        let case = format!("{} {}×{}", row["schedule"], row["ranks"], row["microbatches"]);
        let order = order(row);
        let lines: Vec<&str> =
            row["order"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        assert_eq!(order.text(), lines, "{case}");
        assert_eq!(validate(&order), Ok(()), "{case}");

        let timeline = unit(&order);
        let number = |key: &str| row[key].as_f64().unwrap();
        assert!(close(timeline.makespan(), number("makespan")), "{case}: {}", timeline.makespan());
        assert!(close(timeline.stage_span(), number("max_stage_span")), "{case}");
        assert!(close(timeline.bubble_of_makespan(), number("bubble_fraction")), "{case}");
        for (rank, expected) in idle(&timeline).iter().zip(numbers(&row["idle_per_rank"])) {
            assert!(close(*rank, expected), "{case}: idle {rank}, {expected}");
        }
        assert!(close(timeline.busy(Rank(0)), number("busy")), "{case}");

        let of = |freed| peaks(&order, freed).iter().copied().collect::<Vec<u32>>();
        assert_eq!(of(Freed::AtWeightGradient), counts(&row["peak_live_until_B_or_W"]), "{case}");
        assert_eq!(of(Freed::AtInputGradient), counts(&row["peak_live_until_B_or_I"]), "{case}");
    }
}
