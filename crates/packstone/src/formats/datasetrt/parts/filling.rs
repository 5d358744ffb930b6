//! Files that are written piece by piece, by what makes tables or counts rows.

use packstone_container::arrow_table::ArrowError;
use packstone_io::{IoError, RelPath, RootMut};

use super::super::schema::arrow_error;
use crate::error::{Place, Result};

/// Bytes that are gathered before they are written.
const PIECE: usize = 1 << 20;

/// Why a file could not be filled.
pub(super) enum Fault {
    Io(IoError),
    Arrow(ArrowError),
}

impl From<IoError> for Fault {
    fn from(error: IoError) -> Self {
        Self::Io(error)
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// Makes a file of what `fill` hands out, which `seen` is shown.
///
/// # Errors
/// Those of `fill`; I/O faults. Then nothing of the file stays.
pub(super) fn file(
    root: &dyn RootMut,
    path: &RelPath,
    mut seen: impl FnMut(&[u8]),
    fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Fault>) -> Result<(), Fault>,
) -> Result<()> {
    let mut draft = root.draft(path)?;
    let mut piece: Vec<u8> = Vec::with_capacity(PIECE);
    let mut out = |bytes: &[u8]| -> Result<(), Fault> {
        seen(bytes);
        piece.extend_from_slice(bytes);
        if piece.len() >= PIECE {
            draft.write(&piece)?;
            piece.clear();
        }
        Ok(())
    };
    fill(&mut out).map_err(|fault| match fault {
        Fault::Io(error) => error.into(),
        Fault::Arrow(error) => arrow_error(&error, Place::file(path)),
    })?;
    draft.write(&piece)?;
    Ok(draft.publish()?)
}
