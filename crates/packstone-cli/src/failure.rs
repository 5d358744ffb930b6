//! Why a command stops, and the exit codes.

use std::io;

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

    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Found => 1,
            Self::Failed => 2,
            Self::Interrupted => 130,
        }
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
