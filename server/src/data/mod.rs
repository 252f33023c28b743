//! Data to train on: what ships with Meshwork, what is uploaded, and how a CSV becomes a table and a
//! file a text.

pub mod read;
pub mod text;
pub mod bpe;
pub mod hash;
pub mod numerals;
pub mod shipped;
pub mod name;
pub mod catalog;

pub use meshwork_engine::data::Data;
pub use meshwork_engine::data::table::{Table, Target};
