//! The `packstone` command: the program itself, inside the extension.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these arguments, its name first, and gives the exit code. It writes to the standard output and
/// error of the process, and from then on Ctrl-C is its own.
#[pyfunction]
#[pyo3(name = "_run")]
pub(crate) fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| packstone_cli::run(arguments))
}
