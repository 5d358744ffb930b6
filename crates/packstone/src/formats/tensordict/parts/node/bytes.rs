//! Bytes of a tree: in files of a store that are opened when they are asked for, or at hand.

use std::fmt;
use std::sync::Arc;

use packstone_io::{Buf, Kind};

use super::super::super::codes;
use super::fault::Fault;
use crate::error::{Error, Place, Result};

/// A file of a store, opened when its bytes are asked for.
pub trait Source: fmt::Debug + Send + Sync {
    /// Its path in the store, `/`-separated.
    fn path(&self) -> String;

    /// Its length in bytes; that of the decoded bytes in an archive.
    fn len(&self) -> u64;

    /// True for a file of no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True where it holds one tensor and nothing behind it, as entries of archives do.
    fn is_exact(&self) -> bool {
        false
    }

    /// Finds the bytes without reading them, where a store can say beforehand that it will not find them.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, with the file.
    fn locate(&self) -> Result<()> {
        Ok(())
    }

    /// True where the bytes should be let go soon: there are more files like it than can be held at once.
    fn is_fleeting(&self) -> bool {
        false
    }

    /// True where its bytes stand in the store as an element of their alignment needs them.
    fn is_aligned(&self) -> bool {
        true
    }

    /// All of its bytes.
    ///
    /// # Errors
    /// `Corrupt`, `Limit`, `Io`, with the file.
    fn open(&self) -> Result<Buf>;

    /// The CRC-32 of its bytes, where they are many and would have to be decoded: [`Source::stream`] spares the memory
    /// that [`Source::open`] takes for them.
    fn packed(&self) -> Option<u32> {
        None
    }

    /// Hands over all of its bytes piece by piece, checked at the end where they are decoded.
    ///
    /// # Errors
    /// Those of [`Source::open`], but no limit of memory; those of `sink`.
    fn stream(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        sink(&self.open()?)
    }

    /// Compares the bytes with the checksum that the store has of them, where it has one and reading does not look.
    ///
    /// # Errors
    /// `crc_mismatch`; those of [`Source::open`].
    fn verify(&self) -> Result<()> {
        Ok(())
    }
}

/// Bytes: in a store until asked for, or at hand.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// The first `len` bytes of a file that holds at least as many.
    Stored {
        /// The file.
        file: Arc<dyn Source>,
        /// How many of its bytes count.
        len: u64,
    },
    /// At hand.
    Given(Buf),
    /// Not to be had.
    Faulty(Fault),
}

impl Bytes {
    /// How many; `None` where they are not to be had.
    pub fn len(&self) -> Option<u64> {
        match self {
            Self::Stored { len, .. } => Some(*len),
            Self::Given(bytes) => Some(bytes.as_ref().len() as u64),
            Self::Faulty(_) => None,
        }
    }

    /// True where there are none, or none to be had.
    pub fn is_empty(&self) -> bool {
        self.len().unwrap_or(0) == 0
    }

    /// True where the bytes should be let go soon, see [`Source::is_fleeting`].
    pub fn is_fleeting(&self) -> bool {
        matches!(self, Self::Stored { file, .. } if file.is_fleeting())
    }

    /// Hands over the bytes piece by piece.
    ///
    /// # Errors
    /// Those of [`Source::stream`]; the fault.
    pub fn stream(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Stored { file, len } if file.len() == *len => file.stream(sink),
            _ => sink(&self.open()?),
        }
    }

    /// The bytes themselves.
    ///
    /// # Errors
    /// Those of [`Source::open`]; the fault.
    pub fn open(&self) -> Result<Buf> {
        match self {
            Self::Given(bytes) => Ok(bytes.clone()),
            Self::Faulty(fault) => Err(fault.error()),
            Self::Stored { file, len } => {
                let all = file.open()?;
                let wanted = usize::try_from(*len).ok().and_then(|len| all.slice(..len));
                wanted.ok_or_else(|| {
                    let message = format!("expected {len} bytes, found {}", all.as_ref().len());
                    let place = Place::file(file.path());
                    Error::new(Kind::Corrupt, codes::TRUNCATED_LEAF, place, message)
                })
            }
        }
    }
}
