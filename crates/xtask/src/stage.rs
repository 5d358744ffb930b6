//! One step of a chore: a named command, its output passed through, its time printed.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Runs `command` as the stage `name`; anything but exit code 0 is an error.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<(), String> {
    timed(name, || status(command))
}

/// Runs `work` as the stage `name`, with a line before and a line with the time after it.
pub(crate) fn timed<T>(name: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    println!("==> {name}");
    let start = Instant::now();
    let outcome = work();
    let seconds = start.elapsed().as_secs_f64();
    match outcome {
        Ok(value) => {
            println!("==> {name}: ok, {seconds:.1} s");
            Ok(value)
        }
        Err(message) => Err(format!("{name} failed after {seconds:.1} s: {message}")),
    }
}

/// Runs `command` to its end; anything but exit code 0 is an error that shows the command.
pub(crate) fn status(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}

/// The cargo that runs this program, started in `root`.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    command
}
