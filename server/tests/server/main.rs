//! The server and the command line, from outside: requests without a socket, the built binary.

mod app;
mod studies;
mod runs;
mod events;
mod data;
mod pictures;
mod guard;
mod api;
mod cli;
mod serve;
