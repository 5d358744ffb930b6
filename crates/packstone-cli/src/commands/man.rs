//! `packstone man`: the manual page of the program or of one command.

use clap::CommandFactory;
use packstone::error::Place;
use packstone::{Error, Kind};

use crate::cli::Cli;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Out;

/// Print a manual page (view it with `packstone man | man -l -`).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command that the page is about; without it, the page of the program.
    command: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let mut program = Cli::command();
    // Gives each command its whole name and the arguments that all of them take.
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            let known: Vec<_> = program.get_subcommands().map(clap::Command::get_name).collect();
            let message = format!("expected one of {}, found {name:?}", known.join(", "));
            Error::new(Kind::NotFound, "cli/usage", Place::default(), message)
        })?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(Failure::Output)?;
    out.raw(&page)?;
    Ok(Exit::Clean)
}
