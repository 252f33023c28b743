//! The study text and its parsed form.

pub mod ast;
