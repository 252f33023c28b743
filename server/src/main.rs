//! The binary `meshwork`: see [`meshwork_server::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    meshwork_server::cli::main()
}
