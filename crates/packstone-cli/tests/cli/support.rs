//! Running the program, and reading what it printed.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use packstone_container::json::{self, ReadOptions, Value};
use packstone_testkit::golden_folder;

/// How a run ended and what it printed.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program, not started yet.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_packstone"));
    command.stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    let output = program().args(arguments).output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the program, which must succeed.
pub(crate) fn clean<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    let run = run(arguments);
    assert_eq!(run.code, 0, "stdout: {}\nstderr: {}", run.stdout, run.stderr);
    run
}

impl Run {
    /// Standard output as JSON Lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let parse = |line: &str| match json::read(line.as_bytes(), &ReadOptions::default()) {
            Ok(document) => document.value,
            Err(error) => panic!("{error}: {line}"),
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The one line of standard output as JSON.
    pub(crate) fn line(&self) -> Value {
        let mut lines = self.lines();
        assert_eq!(lines.len(), 1, "{}", self.stdout);
        lines.remove(0)
    }
}

/// Shorthands for expectations.
pub(crate) trait Look {
    fn text(&self, name: &str) -> &str;
    fn number(&self, name: &str) -> u64;
    fn at(&self, name: &str) -> &Value;
    fn flag(&self, name: &str) -> bool;
}

impl Look for Value {
    fn text(&self, name: &str) -> &str {
        self.at(name).as_str().unwrap_or_else(|| panic!("no text {name} in {self}"))
    }

    fn number(&self, name: &str) -> u64 {
        self.at(name).as_u64().unwrap_or_else(|| panic!("no number {name} in {self}"))
    }

    fn at(&self, name: &str) -> &Value {
        self.get(name).unwrap_or_else(|| panic!("no {name} in {self}"))
    }

    fn flag(&self, name: &str) -> bool {
        self.at(name).as_bool().unwrap_or_else(|| panic!("no flag {name} in {self}"))
    }
}

/// The dataset of a golden case.
pub(crate) fn golden(case: &str) -> String {
    golden_folder("sedpack").join(case).join("data").display().to_string()
}

/// The path of a file or folder in the golden data of a format.
pub(crate) fn golden_of(format: &str, path: &str) -> String {
    golden_folder(format).join(path).display().to_string()
}

/// What must be read from a golden case.
pub(crate) fn expected(case: &str) -> Value {
    expected_of("sedpack", case)
}

/// What must be read from a golden case of a format.
pub(crate) fn expected_of(format: &str, case: &str) -> Value {
    let path: PathBuf = golden_folder(format).join(case).join("expected.json");
    let options = ReadOptions::default().with_nan(true);
    json::read(&std::fs::read(path).unwrap(), &options).unwrap().value
}
