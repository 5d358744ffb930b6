//! The Python environment of the tests: `.venv/`, made once and made anew when its pins change.
//!
//! A stamp file in the environment holds the text of the requirements and the interpreter's
//! version. It is removed before and written after an installation, so that a broken one is
//! never taken for a good one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::stage;

/// Where the pins are, from the root of the repository.
const REQUIREMENTS: &str = "tests/python/requirements.txt";

/// The interpreters tried, in this order, after the one that `PACKSTONE_PYTHON` names.
const CANDIDATES: [&str; 2] = ["python3.11", "python3"];

/// Succeeds and prints the version if the interpreter is the one the pins are made for.
const PROBE: &str = "\
import sys, venv, ensurepip
if sys.version_info[:2] != (3, 11) or sys.implementation.name != 'cpython':
    sys.exit(1)
print(sys.version)";

/// Brings `.venv/` up to date and returns the path of its interpreter.
pub(crate) fn environment(root: &Path) -> Result<PathBuf, String> {
    let requirements = root.join(REQUIREMENTS);
    let pins = fs::read_to_string(&requirements)
        .map_err(|error| format!("cannot read {REQUIREMENTS}: {error}"))?;
    let folder = root.join(".venv");
    let stamp = folder.join("packstone-requirements.stamp");
    let python = interpreter_in(&folder);

    if let (Ok(found), Some(version)) = (fs::read_to_string(&stamp), version(&python))
        && found == stamp_text(&version, &pins)
    {
        println!("the packages in .venv are up to date");
        return Ok(python);
    }

    let base = find()?;
    println!("making .venv with {}", base.display());
    if stamp.exists() {
        fs::remove_file(&stamp).map_err(|error| format!("cannot remove the stamp: {error}"))?;
    }
    stage::status(Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet"]);
    install.arg("--requirement").arg(&requirements);
    stage::status(&mut install)?;
    let version = version(&python).ok_or("the new interpreter in .venv does not run")?;
    fs::write(&stamp, stamp_text(&version, &pins))
        .map_err(|error| format!("cannot write the stamp: {error}"))?;
    Ok(python)
}

/// Builds the wheel of this repository's package as a user would, and installs it.
///
/// The release profile shares what was compiled for the program; only the extension itself is built anew.
pub(crate) fn package(root: &Path, python: &Path) -> Result<(), String> {
    let wheels = root.join("target").join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)
            .map_err(|error| format!("cannot remove {}: {error}", wheels.display()))?;
    }
    let mut build = Command::new(python);
    build.current_dir(root).args(["-m", "maturin", "build", "--release", "--out"]).arg(&wheels);
    stage::status(&mut build)?;
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-deps"]);
    install.args(["--no-index", "--force-reinstall", "--find-links"]).arg(&wheels).arg("packstone");
    stage::status(&mut install)
}

fn stamp_text(version: &str, pins: &str) -> String {
    format!("{version}\n{pins}")
}

fn interpreter_in(folder: &Path) -> PathBuf {
    if cfg!(windows) { folder.join("Scripts/python.exe") } else { folder.join("bin/python") }
}

/// The first suitable interpreter of this machine.
fn find() -> Result<PathBuf, String> {
    let named = std::env::var_os("PACKSTONE_PYTHON").map(PathBuf::from);
    let tried: Vec<PathBuf> = match named {
        Some(path) => vec![path],
        None => CANDIDATES.iter().map(PathBuf::from).collect(),
    };
    tried.iter().find(|path| version(path).is_some()).cloned().ok_or_else(|| {
        format!(
            "the tests compare with the original libraries and need CPython 3.11 with its venv and \
             ensurepip modules; tried {tried:?}; name one with PACKSTONE_PYTHON=/path/to/python3.11"
        )
    })
}

/// The full version text of `python`, if it runs and is suitable.
fn version(python: &Path) -> Option<String> {
    let mut probe = Command::new(python);
    probe.args(["-c", PROBE]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = probe.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
