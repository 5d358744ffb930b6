//! `packstone completions`: a completion script for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::{Exit, Outcome};
use crate::output::Out;

/// Print a completion script.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "packstone", &mut script);
    out.raw(&script)?;
    Ok(Exit::Clean)
}
