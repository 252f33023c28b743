//! The server and the command line, from outside: requests without a socket, the built binary.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod app;
mod studies;
mod runs;
mod events;
mod data;
mod texts;
mod sample;
mod pictures;
mod guard;
mod busy;
mod api;
mod cli;
mod cli_run;
mod cells;
mod serve;
