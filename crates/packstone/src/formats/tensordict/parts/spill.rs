//! Bytes that are too many for memory: written once to a file without a name in the system's folder for temporary files,
//! and mapped from then on.
//!
//! ```text
//! entry ──decoded──▶ (scratch) ──mapped──▶ Buf ── dropped: the file goes with it
//! ```
//!
//! The pages of such a file are the page cache's, which the system takes back when it needs them, and finds again on the
//! disk. Nobody else can open the file, cut it or find it after a crash.

use packstone_io::{Buf, IoError, LocalRoot, RootMut};

use super::super::codes;
use crate::error::{Error, Place, Result};

/// Keeps what `make` hands over, piece by piece, for the file that people call `name`.
///
/// # Errors
/// `no_spill_room` where the temporary file cannot be had or filled; those of `make`.
pub fn spill(
    name: &str,
    make: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
) -> Result<Buf> {
    let folder = std::env::temp_dir();
    let fault = |error: IoError| {
        let message = format!(
            "expected room for the decoded bytes in a temporary file in {}, found: {}",
            folder.display(),
            error.reason()
        );
        Error::new(error.kind(), codes::NO_SPILL_ROOM, Place::file(name), message).because(error)
    };
    let mut scratch = LocalRoot::open(&folder).and_then(|root| root.scratch()).map_err(&fault)?;
    make(&mut |piece| scratch.write(piece).map_err(&fault))?;
    scratch.read_back().and_then(|file| file.read_all()).map_err(fault)
}

#[cfg(test)]
mod tests {
    use packstone_io::Kind;

    use super::*;

    #[test]
    fn pieces_come_back_as_one_and_a_fault_leaves_nothing() {
        let piece = vec![7; 1 << 20];
        let bytes = spill("x", |out| (0..3).try_for_each(|_| out(&piece))).unwrap();
        assert!(bytes.len() == 3 << 20 && bytes.iter().all(|byte| *byte == 7));
        let fault = || Error::new(Kind::Corrupt, codes::CRC_MISMATCH, Place::file("x"), "x");
        let error = spill("x", |out| out(&piece).and_then(|()| Err(fault()))).unwrap_err();
        assert_eq!(error.code(), codes::CRC_MISMATCH);
    }
}
