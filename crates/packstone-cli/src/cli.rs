//! Arguments, and from them to a command and an exit code.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use packstone::error::Place;
use packstone::exec::default_threads;
use packstone::json::Object;
use packstone::{Error, Kind};

use crate::address;
use crate::commands::{
    annotate, bench, completions, convert, demo, diff, digest, dump, formats, head, inspect, man,
    merge, migrate, pack, plan, refresh, repair, select, state, unpack, verify, view,
};
use crate::failure::{Exit, Failure, Outcome};
use crate::hints;
use crate::output::{Out, Paint, colours, note, note_data};

/// Read, check, repair, convert and compare dataset formats of machine learning.
///
/// Data goes to standard output, everything else to standard error. The exit code is 0 where all is well, 1 where a
/// check found something or two datasets differ, 2 where the request could not be met, 130 after Ctrl-C.
#[derive(Debug, Parser)]
#[command(name = "packstone", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print JSON Lines, as `docs/json-output.md` describes them.
    #[arg(long, global = true)]
    json: bool,
    /// Follow absolute references, as views have them, to what lies below DIR; may be given again.
    #[arg(long, global = true, value_name = "DIR")]
    follow: Vec<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the formats and their options for writing.
    Formats,
    Inspect(inspect::Args),
    Head(head::Args),
    Dump(dump::Args),
    Select(select::Args),
    Verify(verify::Args),
    Convert(convert::Args),
    Merge(merge::Args),
    Migrate(migrate::Args),
    Repair(repair::Args),
    Pack(pack::Args),
    Unpack(unpack::Args),
    Refresh(refresh::Args),
    View(view::Args),
    Annotate(annotate::Args),
    Digest(digest::Args),
    Diff(diff::Args),
    Bench(bench::Args),
    Plan(plan::Args),
    State(state::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// How many threads a command may use.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Threads {
    /// Threads to work on, by default as many as the machine runs at once; 0 for the calling one alone.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(..=1024))]
    threads: Option<u16>,
}

impl Threads {
    /// The number of threads.
    pub(crate) fn count(self) -> usize {
        self.threads.map_or_else(default_threads, usize::from)
    }
}

/// Reads the arguments and does what they say.
pub(crate) fn run(arguments: Vec<OsString>) -> Exit {
    let json = arguments.iter().any(|argument| argument == "--json");
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, json),
    };
    address::follow(&cli.follow);
    let mut out = Out::new(cli.json);
    let done = command(&cli.command, &mut out);
    finish(done, &mut out)
}

fn command(command: &Command, out: &mut Out) -> Outcome {
    match command {
        Command::Formats => formats::run(out),
        Command::Inspect(args) => inspect::run(args, out),
        Command::Head(args) => head::run(args, out),
        Command::Dump(args) => dump::run(args, out),
        Command::Select(args) => select::run(args, out),
        Command::Verify(args) => verify::run(args, out),
        Command::Convert(args) => convert::run(args, out),
        Command::Merge(args) => merge::run(args, out),
        Command::Migrate(args) => migrate::run(args, out),
        Command::Repair(args) => repair::run(args, out),
        Command::Pack(args) => pack::run(args, out),
        Command::Unpack(args) => unpack::run(args, out),
        Command::Refresh(args) => refresh::run(args, out),
        Command::View(args) => view::run(args, out),
        Command::Annotate(args) => annotate::run(args, out),
        Command::Digest(args) => digest::run(args, out),
        Command::Diff(args) => diff::run(args, out),
        Command::Bench(args) => bench::run(args, out),
        Command::Plan(args) => plan::run(args, out),
        Command::State(args) => state::run(args, out),
        Command::Demo(args) => demo::run(args, out),
        Command::Completions(args) => completions::run(args, out),
        Command::Man(args) => man::run(args, out),
    }
}

/// Hands over what was written, then reports a failure.
fn finish(done: Outcome, out: &mut Out) -> Exit {
    let failure = match done {
        Ok(exit) => match out.flush() {
            Ok(()) => return exit,
            Err(failure) => failure,
        },
        Err(failure) => failure,
    };
    let exit = failure.exit();
    match failure {
        Failure::Error(error) if out.is_json() => {
            let told = out.json(&error_json(&error).into()).and_then(|()| out.flush());
            // A reader that is gone wants no error either.
            return told.map_or_else(|failure| failure.exit(), |()| exit);
        }
        Failure::Error(error) => {
            // What was printed before the fault is still of use.
            if let Err(failure) = out.flush() {
                return failure.exit();
            }
            tell(&error.to_string(), hints::hint(&error));
        }
        Failure::Output(error) if exit == Exit::Failed => {
            tell(&format!("standard output: {error} [cli/output]"), None);
        }
        Failure::Output(_) => {}
    }
    exit
}

fn error_json(error: &Error) -> Object {
    let mut object = Object::new();
    object.insert("type", "error");
    object.insert("schema_version", 1);
    object.insert("code", error.code());
    object.insert("kind", error.kind().name());
    if let packstone::json::Value::Object(place) = error.place().to_json() {
        for (name, value) in place {
            object.insert(name, value);
        }
    }
    object.insert("message", error.message());
    if let Some(hint) = hints::hint(error) {
        object.insert("hint", hint);
    }
    object
}

fn tell(text: &str, hint: Option<&str>) {
    let colour = colours(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    note(format!("{} {}", Paint::Red.on(colour, "error:"), note_data(text)));
    if let Some(hint) = hint {
        note(format!("{} {hint}", Paint::Cyan.on(colour, "hint:")));
    }
}

/// Arguments that make no sense, or a page of help.
fn usage(error: &clap::Error, json: bool) -> Exit {
    let help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if !help && json {
        let text = error.to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let error = Error::new(Kind::Invalid, "cli/usage", Place::default(), message);
        return finish(Err(error.into()), &mut Out::new(true));
    }
    // A reader that is gone wants no help either.
    let _ = error.print();
    if help { Exit::Clean } else { Exit::Failed }
}
