//! Pipelines as pure functions: where a model is cut, who does what in which order, and what that
//! costs in time and memory. No graph and no Program here: [`crate::spmd`] lowers what this room
//! plans.
//!
//! ```text
//! costs of layers ──partition──▶ blocks
//! Schedule × Extent ──schedule──▶ Order ──recompute──▶ Order ──simulate──▶ Timeline
//!                                   └──▶ validate, peak, clock
//! measured Timeline ──measured──▶ costs of stages
//! ```

pub mod partition;
pub mod order;
pub mod schedule;
pub mod recompute;
pub mod needs;
pub mod simulate;
pub mod measured;
pub mod queues;
pub mod validate;
pub mod clock;
pub mod peak;
pub mod moment;
