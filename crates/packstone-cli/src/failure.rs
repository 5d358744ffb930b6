//! Why a command stops, and the exit codes.

use std::io;
use std::process::ExitCode;

use packstone::{Error, Kind};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and nothing to complain about.
    Clean,
    /// Done, with findings or differences.
    Found,
    /// Not done.
    Failed,
    /// Stopped by the user.
    Interrupted,
}

impl Exit {
    /// Done, with something found or not.
    pub(crate) fn found(any: bool) -> Self {
        if any { Self::Found } else { Self::Clean }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Found => 1,
            Exit::Failed => 2,
            Exit::Interrupted => 130,
        })
    }
}

/// Why a command stopped early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library, or the request itself.
    Error(Error),
    /// Standard output took no more; a closed pipe is no failure.
    Output(io::Error),
}

impl Failure {
    /// The exit code that it leads to.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Error(error) if error.kind() == Kind::Cancelled => Exit::Interrupted,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Clean,
            _ => Exit::Failed,
        }
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// What a command returns.
pub(crate) type Outcome<T = Exit> = Result<T, Failure>;
