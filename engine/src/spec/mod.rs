//! The study text and its parsed form.

pub mod ast;
pub mod lex;
pub mod synonyms;
pub mod parse;
pub mod spans;
pub mod print;
pub mod edit;
pub mod url;
