//! The file of an archive and its directory: locating, decoding and checking entries.

use std::collections::HashSet;

use packstone_container::Limits;
use packstone_container::zip::{Directory, Entry, ZipError};
use packstone_io::{AlignedBuf, Buf};

use super::super::store::Shelf;
use super::zip_error;
use crate::error::{Error, Result};

/// Compressed entries that become as long as this are not decoded into memory to be copied, nor to be read where more than
/// [`IN_MEMORY`] would be there.
pub(super) const STREAM_FROM: u64 = 1 << 20;
/// Bytes of decoded entries that stay in memory before longer ones go to temporary files.
const IN_MEMORY: u64 = 32 << 20;

/// What an archive and its folders have in common.
pub(super) struct Shared {
    pub(super) bytes: Buf,
    pub(super) directory: Directory,
    /// Entries whose name another one has, too.
    pub(super) doubled: HashSet<usize>,
    pub(super) shelf: Shelf,
    pub(super) limits: Limits,
}

impl Shared {
    fn name(&self, number: usize) -> String {
        let record = self.directory.records().get(number);
        record.map(|r| r.unflagged_name().unwrap_or(r.name()).to_owned()).unwrap_or_default()
    }

    pub(super) fn fault(&self, error: ZipError, number: usize) -> Error {
        zip_error(error, &self.name(number))
    }

    pub(super) fn entry(&self, number: usize) -> Result<Entry> {
        if self.doubled.contains(&number) {
            let error = ZipError::Duplicate { name: self.name(number) };
            return Err(self.fault(error, number));
        }
        self.directory.locate(&self.bytes, number).map_err(|e| self.fault(e, number))
    }

    /// True for `len` bytes that are too many for memory beside what is there.
    pub(super) fn spills(&self, len: u64) -> bool {
        let (_, kept) = self.shelf.kept();
        // What is too long for one reader is refused, see `decode`.
        (STREAM_FROM..=self.limits.decoded_bytes.min(self.limits.spilled_bytes)).contains(&len)
            && kept.saturating_add(len) > IN_MEMORY
    }

    /// Decodes an entry, its checksum compared.
    pub(super) fn decode(&self, entry: &Entry, number: usize) -> Result<Buf> {
        let mut out = AlignedBuf::default();
        entry.read(&self.bytes, &mut out, &self.limits).map_err(|e| self.fault(e, number))?;
        Ok(Buf::from(out))
    }

    pub(super) fn check(&self, number: usize) -> Result<()> {
        let entry =
            self.directory.locate(&self.bytes, number).map_err(|e| self.fault(e, number))?;
        self.stream(&entry, number, &mut |_| Ok(()))
    }

    /// Decodes an entry piece by piece, its checksum compared.
    pub(super) fn stream(
        &self,
        entry: &Entry,
        number: usize,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        enum Fault {
            Zip(ZipError),
            Sink(Error),
        }
        impl From<ZipError> for Fault {
            fn from(error: ZipError) -> Self {
                Self::Zip(error)
            }
        }
        let done = entry.stream(&self.bytes, &mut |piece| sink(piece).map_err(Fault::Sink));
        done.map_err(|fault| match fault {
            Fault::Zip(error) => self.fault(error, number),
            Fault::Sink(error) => error,
        })
    }
}
