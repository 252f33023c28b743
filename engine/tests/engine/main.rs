//! The engine from text to numbers: golden runs, the paper's example, random programs.

mod common;
mod random;

mod equality;
mod golden;
mod gradients;
mod laws;
mod two_layer;
