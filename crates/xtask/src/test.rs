//! `cargo xtask test`: every test there is, on a machine that has only Rust and Python.
//!
//! The stages run in this order and the first that fails ends the run:
//!
//! ```text
//! rust tests       cargo test --workspace     (the requirements tables are one of them)
//! program          cargo build --release -p packstone-cli
//! python packages  .venv/ with the pinned originals
//! python package   this repository's wheel, built by maturin and installed in .venv/
//! pytest           tests/python, with PACKSTONE_BIN naming the program
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, python, stage};

pub(crate) fn run(root: &Path) -> Outcome {
    stage::run("rust tests", &mut stage::cargo(root, &["test", "--workspace"]))?;
    let program = stage::timed("program", || build_program(root))?;
    let python = stage::timed("python packages", || python::environment(root))?;
    stage::timed("python package", || python::package(root, &python))?;
    let mut pytest = Command::new(python);
    pytest.current_dir(root).args(["-m", "pytest", "-rs", "tests/python"]);
    pytest.env("PACKSTONE_BIN", program);
    stage::run("pytest", &mut pytest)
}

/// Builds the release program and returns its path.
pub(crate) fn build_program(root: &Path) -> Result<PathBuf, String> {
    stage::status(&mut stage::cargo(root, &["build", "--release", "-p", "packstone-cli"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let name = format!("packstone{}", std::env::consts::EXE_SUFFIX);
    let program = root.join(target).join("release").join(name);
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!("expected the program at {}, found nothing", program.display()))
    }
}
