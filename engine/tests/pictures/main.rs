//! Tests of the pictures: golden files, the facts of the paper's figures, laws of all scenes.

mod say;
mod golden;
mod figures;
mod laws;
