//! Ctrl-C: the first one asks the work to stop, the second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

use packstone::error::Place;
use packstone::{Error, Kind, Result};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Starts to listen. Where the system refuses, Ctrl-C ends the program as it always does.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// True from the first Ctrl-C on.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Stops the caller after a Ctrl-C.
///
/// # Errors
/// `cli/interrupted`.
pub(crate) fn check() -> Result<()> {
    if asked() {
        return Err(Error::new(
            Kind::Cancelled,
            "cli/interrupted",
            Place::default(),
            "interrupted",
        ));
    }
    Ok(())
}
