//! The `packstone` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    packstone_cli::run(std::env::args_os()).into()
}
