//! Tables to train on: those that ship with Meshwork, uploaded ones, and how CSV becomes one.

pub mod read;
pub mod shipped;
pub mod hash;
pub mod name;
pub mod catalog;

pub use meshwork_engine::data::{Table, Target};
