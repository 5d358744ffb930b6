//! Files that stay open: their checksums are compared once, and now and then it is looked whether they were cut.

use std::sync::{PoisonError, TryLockError};
use std::time::{Duration, Instant};

use packstone_io::{Kind, RelPath};

use super::super::super::codes;
use super::super::super::layout::{INDEX, METADATA};
use super::Cache;
use super::files::check_sum;
use crate::error::{Error, Place, Result};

/// How often files that stay mapped are looked at: one that was cut must give an error, not a fault.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Shorter files are copies in memory.
const MAPPED_FROM: u64 = 256 << 10;

/// What is known of files that stay open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Their checksums were compared.
    compared: bool,
    /// When they were last found to be as long as they should be.
    whole: Option<Instant>,
}

impl Cache {
    /// Compares the recorded checksums of index, table and one shard with those of their bytes, once. What another thread
    /// compares meanwhile is waited for last.
    ///
    /// # Errors
    /// `checksum_mismatch`.
    pub fn compare_checksums(&self, number: u64, shard: &[u8]) -> Result<()> {
        let contents = self.manifest.contents();
        let documents = || {
            let table = self.table()?;
            check_sum(&contents.metadata_sha256, table.bytes(), self.site.place(METADATA))?;
            check_sum(&contents.index_sha256, self.index.bytes(), self.site.place(INDEX))
        };
        let bytes = || match self.shard_entry(number) {
            Some(entry) => check_sum(&entry.sha256, shard, self.site.shard_place(&entry.name)),
            None => Ok(()),
        };
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let files = [self.seen.get(contents.shards.len()), self.seen.get(number)];
        let compare = |seen: &mut Seen, at: usize| {
            if !seen.compared {
                if at == 0 {
                    documents()?
                } else {
                    bytes()?
                }
                seen.compared = true;
            }
            Ok(())
        };
        let mut taken = Vec::new();
        for (at, seen) in files.into_iter().enumerate() {
            let Some(seen) = seen else { continue };
            match seen.try_lock() {
                Ok(mut seen) => compare(&mut seen, at)?,
                Err(TryLockError::Poisoned(seen)) => compare(&mut seen.into_inner(), at)?,
                Err(TryLockError::WouldBlock) => taken.push((at, seen)),
            }
        }
        taken.into_iter().try_for_each(|(at, seen)| {
            compare(&mut seen.lock().unwrap_or_else(PoisonError::into_inner), at)
        })
    }

    /// Checks that index and table, which are kept as maps, were not cut meanwhile; looks now and then. Files that were
    /// removed or replaced stay what they were.
    ///
    /// # Errors
    /// `file_changed`.
    pub fn look_at_index(&self) -> Result<()> {
        self.now_and_then(self.manifest.contents().shards.len(), || {
            let index = self.index.bytes().len() as u64;
            self.whole(&self.site.path(INDEX)?, index, || self.site.place(INDEX))?;
            let table = self.table.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let table = table.map_or(0, |table| table.bytes().len() as u64);
            self.whole(&self.site.path(METADATA)?, table, || self.site.place(METADATA))
        })
    }

    /// The same for a shard.
    ///
    /// # Errors
    /// `file_changed`.
    pub fn look_at_shard(&self, number: u64) -> Result<()> {
        let Some(entry) = self.shard_entry(number) else { return Ok(()) };
        self.now_and_then(usize::try_from(number).unwrap_or(usize::MAX), || {
            let path = self.site.shard(&entry.name)?;
            self.whole(&path, entry.bytes, || self.site.shard_place(&entry.name))
        })
    }

    fn now_and_then(&self, at: usize, look: impl FnOnce() -> Result<()>) -> Result<()> {
        let Some(seen) = self.seen.get(at) else { return Ok(()) };
        let whole = || seen.lock().unwrap_or_else(PoisonError::into_inner);
        if whole().whole.is_some_and(|then| then.elapsed() < LOOK_AGAIN) {
            return Ok(());
        }
        look()?;
        whole().whole = Some(Instant::now());
        Ok(())
    }

    fn whole(&self, path: &RelPath, len: u64, place: impl Fn() -> Place) -> Result<()> {
        if len < MAPPED_FROM {
            return Ok(());
        }
        match self.site.root.len(path) {
            Ok(found) if found < len => {
                let message = format!("expected {len} bytes as when it was opened, found {found}");
                Err(Error::new(Kind::Corrupt, codes::FILE_CHANGED, place(), message))
            }
            _ => Ok(()),
        }
    }
}
