//! One program for all processors: the list that everything else reads.

pub mod tape;
pub mod field;
pub mod collective;
pub mod relayout;
pub mod reshape;
pub mod cells;
pub mod program;
pub mod flow;
pub mod kind;
pub mod bodies;
pub mod lazy;
pub mod copy;
pub mod lower;
pub mod combine;
pub mod fuse;
pub mod free;
pub mod run;
pub mod check;
pub mod explain;
pub mod print;
