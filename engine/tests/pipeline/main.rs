//! Pipelines: partitions, orders and timelines against the golden facts, and laws for all sizes.

#![expect(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "tests fail by panicking, and compare exact numbers"
)]

mod common;

mod golden;
mod laws;
mod limits;
mod paper;
mod partition;
mod tables;
mod violations;
