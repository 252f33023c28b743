//! The engine of Meshwork: study text → graph → layouts → Program → numbers, costs, pictures.
//!
//! It is pure: it reads no clock, no file, no environment and no random device, and it runs
//! natively and in the browser. Modules stand in reading order: a file imports only from above.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod diag;
pub mod index;
pub mod layout;
pub mod spec;
pub mod graph;
pub mod resolve;
pub mod timeline;
pub mod pipeline;
pub mod spmd;
pub mod data;
pub mod exec;
pub mod cost;
pub mod picture;
pub mod export;
pub mod staging;
pub mod hardware;
pub mod study;
pub mod session;
pub mod likeness;
pub mod decode;
pub mod examples;
pub mod gauge;
