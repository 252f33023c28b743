//! The server of Meshwork and its command line: the engine behind a REST API, runs on a mesh of
//! threads, SQLite for what must last, the studio inside the binary.
//!
//! The app is a function of its state ([`app`]), so that tests call it without a socket. Contact
//! with the engine is in few files: [`convert`], [`picture`], [`jobs::prepare`], [`jobs::train`].

pub mod convert;
pub mod picture;
pub mod data;
pub mod store;
pub mod jobs;
pub mod problem;
pub mod work;
pub mod state;
pub mod api;
pub mod origin;
pub mod studio;
pub mod routes;
pub mod cli;

pub use routes::app;
