//! Reading golden files, and the shortest ways to orders and timelines.

use meshwork_engine::index::Rank;
use meshwork_engine::pipeline::order::{Extent, Order};
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::pipeline::simulate::{Costs, StageCosts, simulate};
use meshwork_engine::timeline::Timeline;
use serde_json::Value;

const FACTS: &str = include_str!("../data/pipeline.json");

/// A section of the facts about pipelines.
pub(crate) fn facts(section: &str) -> Value {
    serde_json::from_str::<Value>(FACTS).unwrap()[section].take()
}

/// The rows of a section.
pub(crate) fn rows(section: &str) -> Vec<Value> {
    facts(section)["rows"].as_array().unwrap().clone()
}

pub(crate) fn count(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

pub(crate) fn counts(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(count).collect()
}

/// The order of a schedule by its name, in as many chunks as it has by default.
pub(crate) fn order(name: &str, ranks: u32, micro_batches: u32) -> Order {
    let schedule = Schedule::named(name).unwrap();
    let extent = Extent::new(ranks, micro_batches).chunks(schedule.default_chunks());
    schedule.order(extent).unwrap()
}

/// Its timeline where a rank takes F=1, B=2, I=W=1.
pub(crate) fn unit(order: &Order) -> Timeline {
    simulate(order, &Costs::uniform(StageCosts::UNIT, order)).unwrap()
}

/// Idle time of every rank.
pub(crate) fn idle(timeline: &Timeline) -> Vec<f64> {
    let ranks = timeline.lanes().len();
    (0..ranks as u32).map(|rank| timeline.idle(Rank(rank))).collect()
}

/// Equality up to rounding.
pub(crate) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-5 * b.abs().max(1.0)
}
