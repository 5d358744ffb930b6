//! The chores of this workspace: `cargo xtask test | lint | requirements | bench`.
//!
//! Standard library only, so that it builds in a second on a fresh machine.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that talks to a terminal"
)]

mod bench;
mod lint;
mod python;
mod requirements;
mod stage;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  test               every test: Rust, then pytest against the original libraries
  lint               rustfmt, clippy and the requirements tables
  requirements       check that each requirement names a test that exists
  bench [FORMAT…]    measure the originals and packstone side by side (bench/run.py --help)
";

/// What a chore ends with: the message is printed and the exit code is 1.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<_> = arguments.collect();
    let root = repository();
    let outcome = match (command.to_str(), rest.as_slice()) {
        (Some("test"), []) => test::run(&root),
        (Some("lint"), []) => lint::run(&root),
        (Some("requirements"), []) => requirements::run(&root),
        (Some("bench"), arguments) => bench::run(&root, arguments),
        (Some("help" | "-h" | "--help"), []) => {
            print!("{USAGE}");
            Ok(())
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository: two folders above this crate.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_path_buf()
}
