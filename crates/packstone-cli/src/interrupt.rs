//! Ctrl-C: the first one asks the work to stop, a later one ends the program at once.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use packstone::error::Place;
use packstone::{Error, Kind, Result};

use crate::output::note;

/// One press may arrive several times, for shells and wrappers pass it on; only a later one is a second press.
const ONE_PRESS: Duration = Duration::from_millis(500);

static ASKED: OnceLock<Instant> = OnceLock::new();

/// Starts to listen. Where the system refuses, Ctrl-C ends the program as it always does.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        let first = !asked();
        if ASKED.get_or_init(Instant::now).elapsed() > ONE_PRESS {
            std::process::exit(130);
        }
        if first && std::io::stderr().is_terminal() {
            note("stopping; once more to stop at once");
        }
    });
}

/// True from the first Ctrl-C on.
pub(crate) fn asked() -> bool {
    ASKED.get().is_some()
}

/// Stops the caller after a Ctrl-C.
///
/// # Errors
/// `cli/interrupted`.
pub(crate) fn check() -> Result<()> {
    if asked() {
        let message = "stopped before the end, as asked";
        return Err(Error::new(Kind::Cancelled, "cli/interrupted", Place::default(), message));
    }
    Ok(())
}
