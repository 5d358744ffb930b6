//! `cargo xtask bench`: the originals and packstone, side by side, by `bench/run.py`; the Python package as well.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::{Outcome, python, stage};

pub(crate) fn run(root: &Path, arguments: &[OsString]) -> Outcome {
    let build = ["build", "--release", "--package", "packstone-bench"];
    stage::run("build", &mut stage::cargo(root, &build))?;
    let python = stage::timed("python packages", || python::environment(root))?;
    stage::timed("python package", || python::package(root, &python))?;
    let mut bench = Command::new(python);
    bench.current_dir(root).args(["-m", "bench.run"]).args(arguments);
    bench.env("PACKSTONE_BENCH", root.join("target/release/packstone-bench"));
    stage::run("bench", &mut bench)
}
