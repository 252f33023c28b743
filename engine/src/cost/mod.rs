//! What a step costs, read off the Program.

pub mod held;
pub mod repeats;
pub mod tally;
pub mod symbolic;
