//! The handlers of the API, one file per kind of thing.

pub mod extract;
pub mod plan;
pub mod studies;
pub mod runs;
pub mod events;
pub mod data;
pub mod pictures;
pub mod examples;
pub mod status;
pub mod openapi;
