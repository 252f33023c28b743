//! What a step costs, read off the Program.

pub mod tally;
pub mod symbolic;
