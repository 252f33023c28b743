//! `cargo xtask`: every task of the project under one command.

mod hash;
mod say;
mod sh;
mod studio;
mod wasm;

fn main() -> anyhow::Result<()> {
    studio::build()
}
