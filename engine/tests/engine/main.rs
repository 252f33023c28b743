//! The engine from text to numbers: golden runs, the paper's example, random programs.

#![expect(
    clippy::unwrap_used,
    clippy::let_underscore_must_use,
    clippy::float_cmp,
    reason = "tests fail by panicking, write text into strings, and compare exact numbers"
)]

mod common;
mod random;
mod driver;

mod attention;
mod cells;
mod data;
mod text;
mod bleu;
mod equality;
mod experts;
mod fewer;
mod golden;
mod gradients;
mod laws;
mod limits;
mod megatron;
mod meshtf;
mod micro;
mod models;
mod optimizers;
mod outlook;
mod pipelines;
mod random_pipelines;
mod schedules;
mod states;
mod transformer;
mod two_layer;
