//! What Meshwork knows, in the formats of other programs.

pub mod trace;
