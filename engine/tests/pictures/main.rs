//! Tests of the pictures: golden files, the facts of the paper's figures, laws of all scenes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod say;
mod golden;
mod figures;
mod laws;
mod timelines;
