//! The `packstone` program as a library: the verbs from a shell, for the binary and for the command of the Python package.
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

use std::ffi::OsString;

/// Does what `arguments` say, the name of the program first, and gives the exit code.
///
/// Data go to standard output, everything else to standard error; both are those of the process. From the call on, Ctrl-C
/// asks the command to stop, and ends the process when it comes again.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    interrupt::listen();
    cli::run(arguments.into_iter().collect()).code()
}
