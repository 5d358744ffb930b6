//! The end of a cache in the making: it is completed and shown, or, where it never finishes, taken back.

use packstone_io::Kind;

use super::super::codes;
use super::super::options::invalid;
use super::super::parts::stage::Cache;
use super::CacheWriter;
use crate::error::{Error, Place, Result};
use crate::format::Written;

impl CacheWriter {
    /// Writes the rest; the cache is complete then, and not seen yet.
    ///
    /// # Errors
    /// `no_samples`; I/O faults.
    fn seal(&mut self) -> Result<Written> {
        if self.failed {
            let message = "expected a writer without a failure, found one that failed before";
            return Err(invalid(message.to_owned()));
        }
        let place = || Place::file(&self.stage.folder);
        let Some(columns) = self.rows.columns().map(|columns| columns.specs.clone()) else {
            let message = "expected at least one sample, found none";
            return Err(Error::new(Kind::Invalid, codes::NO_SAMPLES, place(), message));
        };
        while !self.encoders.is_empty() {
            self.collect()?;
        }
        self.shards.finish()?;
        let descriptor = self.rows.descriptor(self.carried.take());
        self.stage.seal(Cache {
            columns: &columns,
            values: self.rows.take_values(),
            shards: &self.shards.closed,
            descriptor: &descriptor,
            version: self.options.version,
        })?;
        if let Some((path, journal)) = self.journal.take() {
            drop(journal);
            self.stage.root.remove(&path)?;
        }
        let closed = self.shards.closed.iter();
        Ok(Written {
            samples: closed.clone().map(|closed| closed.lengths.len() as u64).sum(),
            shards: closed.len() as u64,
            bytes: closed.map(|closed| closed.entry.bytes).sum(),
        })
    }

    /// Writes the rest and shows the cache.
    ///
    /// # Errors
    /// `no_samples`, `cache_exists`; I/O faults. Then nothing is seen.
    pub fn finish(self) -> Result<Written> {
        finish_all(vec![self])
    }
}

/// Completes several caches, then shows them one after another; where one cannot be shown, those before it are taken
/// back.
///
/// # Errors
/// As for [`CacheWriter::finish`].
pub(super) fn finish_all(mut writers: Vec<CacheWriter>) -> Result<Written> {
    let mut all = Written::default();
    for writer in &mut writers {
        let written = writer.seal()?;
        all.samples += written.samples;
        all.shards += written.shards;
        all.bytes += written.bytes;
    }
    for at in 0..writers.len() {
        let Some(writer) = writers.get_mut(at) else { break };
        match writer.stage.publish() {
            Ok(()) => writer.done = true,
            Err(error) => {
                for shown in writers.iter_mut().take(at) {
                    shown.stage.unpublish();
                    shown.done = false;
                }
                return Err(error);
            }
        }
    }
    Ok(all)
}

impl Drop for CacheWriter {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if self.options.keep_partial {
            // What is full already still gets to the disk and into the journal.
            while !self.encoders.is_empty() && self.collect().is_ok() {}
            self.shards.abandon();
            return;
        }
        while self.encoders.next_result().is_some() {}
        self.shards.abandon();
        self.journal = None;
        self.stage.discard();
    }
}
