//! The `packstone` program: the library's verbs from a shell.
//!
//! ```text
//! arguments ─► Cli ─► commands/<verb>.rs ─► Out (stdout: data)      exit code 0, 1, 2 or 130
//!                                      └──► stderr: progress, warnings, errors
//! ```
//!
//! Nothing is decoded here: commands ask the library and print what it reports.

mod address;
mod cli;
mod commands;
mod expected;
mod failure;
mod hints;
mod interrupt;
mod mix;
mod order;
mod output;
mod progress;
mod sample;
mod sanitize;
mod show;
mod table;
mod units;

use std::process::ExitCode;

fn main() -> ExitCode {
    interrupt::listen();
    cli::run().into()
}
