//! `cargo xtask`: every task of the project under one command.

fn main() {}
