//! The panes of the studio, one file or folder each. A pane reads the state and changes the text or the
//! view; panes do not know each other.

pub mod collectives;
pub mod costs;
pub mod data;
pub mod editor;
pub mod examples;
pub mod help;
pub mod layout;
pub mod mesh;
pub mod messages;
pub mod pipeline;
pub mod processor;
pub mod run;
pub mod sample;
pub mod server_run;
pub mod tensors;
