//! A sequence of samples: what is known of it without reading, and the ways of reading.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::codec::Codec;
use packstone_container::json::Object;

use super::{Access, ReadContext, ShardRef};
use crate::error::Result;
use crate::model::{Batch, SampleTable, Schema, Unreadable};
use crate::order::Order;

/// A sequence of samples, stored in shards.
pub trait Collection: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Number of samples, as the dataset says.
    fn len(&self) -> u64;

    /// True for a collection without samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of shards, as the dataset says.
    fn shard_count(&self) -> u64;

    /// The fields of its samples.
    fn schema(&self) -> &Arc<Schema>;

    /// The same samples under a schema that fixes the shapes of fields where all samples have the same one, for formats
    /// that state shapes sample by sample. Reads what is said about all samples, and no values. `None` where the schema
    /// says already what can be said.
    ///
    /// # Errors
    /// Those of reading documents; also where samples differ in their fields.
    fn settled(&self) -> Result<Option<Arc<dyn Collection>>> {
        Ok(None)
    }

    /// True where any sample has metadata.
    ///
    /// # Errors
    /// Those of [`Collection::shards`].
    fn has_metadata(&self) -> Result<bool> {
        for shard in self.shards(0) {
            if !shard?.metadata.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the format knows of all samples without reading them, where it keeps that apart.
    ///
    /// # Errors
    /// Damage and I/O faults.
    fn table(&self) -> Result<Option<SampleTable>> {
        Ok(None)
    }

    /// The order in which the format's own library draws samples, where it has one: from rows that are equally likely, or
    /// by `weights`, one a sample.
    ///
    /// # Errors
    /// `Invalid` where weights cannot be drawn by.
    fn draws(&self, _seed: u64, _weights: Option<&[f64]>) -> Result<Option<Arc<dyn Order>>> {
        Ok(None)
    }

    /// A text that is another one for other samples, from what the dataset's first documents record about them, where
    /// they do. Costs no more than opening did.
    fn recorded(&self) -> Option<String> {
        None
    }

    /// The document that the format keeps about this collection alone, where each has one of its own.
    fn document(&self) -> Option<&Object> {
        None
    }

    /// What the format's original library could not read in a copy of the samples under these options of
    /// [`Format::create`](super::Format::create), where that is known without reading samples.
    ///
    /// # Errors
    /// Those of [`Collection::table`]; `Invalid` for the options.
    fn unreadable(&self, _options: &Object) -> Result<Vec<Unreadable>> {
        Ok(Vec::new())
    }

    /// The codec that values are stored with, where all have the same one and that is known without reading samples.
    fn codec(&self) -> Option<Codec> {
        None
    }

    /// The bytes that the samples of a shard take where they are stored, if that is less than its whole file.
    fn stored_bytes(&self, _shard: &ShardRef) -> Option<u64> {
        None
    }

    /// The bytes of a sample's values, about, where the documents of the dataset tell: what is planned before one was read.
    fn likely_bytes(&self) -> Option<u64> {
        None
    }

    /// The shards in order, from the one that holds the sample `from` on. Reads only the documents on the way.
    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send>;

    /// Any run of samples as a shard of its own, for formats whose shards are made while reading: what is read together
    /// then follows from what is needed. It may end early, where what is read together does. `None` where shards lie on the
    /// disk as they are, or samples are missing.
    fn window(&self, _rows: Range<u64>) -> Option<ShardRef> {
        None
    }

    /// The samples of a shard, with the fields at `fields` only where given.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Limit`, with the file and the record.
    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch>;

    /// The samples of a shard at the given rows, in the given order. Formats that can leave the others alone do.
    ///
    /// # Errors
    /// As for [`Collection::read`].
    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.read(shard, fields, context)?.select(rows)
    }

    /// What it costs to read some rows of a shard.
    fn access(&self) -> Access {
        Access::Whole
    }

    /// The samples at `indices`, in that order, where the format has rows at hand and need not go through shards.
    ///
    /// # Errors
    /// As for [`Collection::read`].
    fn read_at(
        &self,
        _indices: &[u64],
        _fields: Option<&[usize]>,
        _context: &mut ReadContext,
    ) -> Result<Option<Batch>> {
        Ok(None)
    }

    /// The samples of a shard as runs of neighbours with the same fields, each with the part of the shard that it is: for
    /// formats whose samples may differ in that. Elsewhere, and where all samples have the fields of the collection, one
    /// run. `fields` stands for the names of these fields, as far as a run has them.
    ///
    /// # Errors
    /// As for [`Collection::read`], but not for samples with other fields.
    fn read_runs(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Vec<(ShardRef, Batch)>> {
        Ok(vec![(shard.clone(), self.read(shard, fields, context)?)])
    }
}
