//! `cargo xtask bench`: the original and packstone, side by side, by `bench/run.py`.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::{Outcome, python, stage};

pub(crate) fn run(root: &Path, arguments: &[OsString]) -> Outcome {
    let python = stage::timed("python packages", || python::environment(root))?;
    let mut bench = Command::new(python);
    bench.current_dir(root).arg("bench/run.py").args(arguments);
    stage::run("bench", &mut bench)
}
