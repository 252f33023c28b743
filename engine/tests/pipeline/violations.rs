//! Orders that break a rule: each is found, with the rank and the task.

use meshwork_engine::index::{MicroBatch, Rank};
use meshwork_engine::pipeline::needs::Made;
use meshwork_engine::pipeline::order::{Extent, Order, Route};
use meshwork_engine::pipeline::simulate::{Costs, NoTimeline, StageCosts, simulate};
use meshwork_engine::pipeline::validate::{Violation, validate};
use meshwork_engine::timeline::{Kind, Slot, Task};

fn task(text: &str) -> Task {
    let at = text.find(char::is_alphabetic).unwrap();
    let letter = text[at..].chars().next().unwrap();
    let kind = Kind::ALL.into_iter().find(|kind| kind.letter() == letter).unwrap();
    Task::new(text[..at].parse().unwrap(), kind, text[at + 1..].parse().unwrap())
}

/// Two ranks of one stage, as many micro-batches as said.
fn order(micro_batches: u32, lines: [&str; 2]) -> Order {
    let slot = |text: &str| match text.trim_matches(['(', ')']).split_once(';') {
        Some((first, second)) => Slot::Pair(task(first), task(second)),
        None => Slot::One(task(text)),
    };
    let line = |line: &str| line.split_whitespace().map(slot).collect();
    Order::new(Extent::new(2, micro_batches), Route::Loop, lines.map(line).into_iter().collect())
}

fn violation(micro_batches: u32, lines: [&str; 2]) -> Violation {
    validate(&order(micro_batches, lines)).unwrap_err()
}

#[test]
fn once_and_on_its_rank() {
    let found = violation(1, ["0F0 0B0 0F1", "1F0 1B0"]);
    assert_eq!(found, Violation::Unknown { rank: Rank(0), task: task("0F1") });
    let found = violation(1, ["0F0 1B0 0B0", "1F0"]);
    let belongs = Rank(1);
    assert_eq!(found, Violation::Misplaced { rank: Rank(0), task: task("1B0"), belongs });
    let found = violation(1, ["0F0 0B0 0W0", "1F0 1B0"]);
    assert_eq!(found, Violation::Twice { rank: Rank(0), task: task("0W0") });
    assert_eq!(violation(1, ["0F0 0I0", "1F0 1B0"]), Violation::Missing { task: task("0W0") });
    assert_eq!(violation(1, ["0F0 0B0", "1F0"]), Violation::Missing { task: task("1B0") });
    assert_eq!(violation(1, ["0B0", "1F0 1B0"]), Violation::Missing { task: task("0F0") });
}

#[test]
fn in_sequence_on_a_rank() {
    let early = |text: &str, first| Violation::TooEarly { rank: Rank(0), task: task(text), first };
    assert_eq!(violation(1, ["0B0 0F0", "1F0 1B0"]), early("0B0", Kind::Forward));
    let found = violation(1, ["0F0 0W0 0I0", "1F0 1B0"]);
    assert_eq!(found, early("0W0", Kind::InputGradient));
    assert_eq!(violation(1, ["0F0 0B0 0R0", "1F0 1B0"]), early("0B0", Kind::Recompute));
    assert_eq!(violation(1, ["(0F0;0B0)", "1F0 1B0"]), early("0B0", Kind::Forward));
    let found = violation(2, ["0F1 0F0 0B0 0B1", "1F0 1F1 1B0 1B1"]);
    let (task, after) = (task("0F0"), MicroBatch(1));
    assert_eq!(found, Violation::Descending { rank: Rank(0), task, after });
}

#[test]
fn a_circle_is_a_deadlock() {
    // rank 0 wants the gradient of 0 before it sends the activation of 1, rank 1 wants both first
    let lines = ["0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"];
    let Violation::Stuck(stuck) = violation(2, lines) else { panic!("no deadlock") };
    assert_eq!((stuck.rank, stuck.task), (Rank(0), task("0B0")));
    assert_eq!((stuck.need.made, stuck.need.stage.0), (Made::Gradient, 1));
    let text = "cell 0 waits forever with 0B0 for the gradient of stage 1, micro-batch 0";
    assert_eq!(stuck.to_string(), text);
    let order = order(2, lines);
    let costs = Costs::uniform(StageCosts::UNIT, &order);
    assert_eq!(simulate(&order, &costs), Err(NoTimeline::Stuck(stuck)));
}

#[test]
fn what_is_sent_is_needed_in_that_order() {
    let found = violation(2, ["0F0 0F1 0B0 0B1", "1F0 1F1 1B1 1B0"]);
    let Violation::OutOfTurn(found) = found else { panic!("{found:?}") };
    assert_eq!((found.rank, found.task), (Rank(0), task("0B0")));
    assert_eq!(found.head.map(|need| need.micro_batch), Some(MicroBatch(1)));
}

#[test]
fn costs_are_of_every_stage() {
    let order = order(1, ["0F0 0B0", "1F0 1B0"]);
    let costs = Costs::weighted(StageCosts::UNIT, [1.0]);
    let expected = NoTimeline::Stages { given: 1, needed: 2 };
    assert_eq!(simulate(&order, &costs), Err(expected));
}

#[test]
fn an_order_of_strangers_has_no_timeline_and_does_no_harm() {
    let order = order(1, ["7F9 0F0", "1B0 9W9"]);
    let costs = Costs::uniform(StageCosts::UNIT, &order);
    assert!(simulate(&order, &costs).is_err() && validate(&order).is_err());
}
