//! Samples from a collection to a writer.

use std::ops::Range;
use std::sync::Arc;

use packstone_io::BufferPool;

use super::ConvertOptions;
use crate::error::Result;
use crate::format::{Collection, Writer};
use crate::model::{Batch, BatchBuilder};
use crate::ops::carry::Encoder;
use crate::ops::count_error;
use crate::ops::digest::{CollectionDigest, Tally, hash_shard};
use crate::ops::meter::Meter;
use crate::ops::scan::Scan;

/// Where samples go.
pub(super) struct Sink<'a> {
    pub(super) writer: &'a mut dyn Writer,
    pub(super) encoder: Option<&'a Encoder>,
}

impl Sink<'_> {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        match self.encoder {
            None => self.writer.write(collection, batch),
            Some(encoder) => self.writer.write(encoder.name(collection), &encoder.encode(batch)?),
        }
    }
}

/// Hands all samples of a collection to the writer; returns their digest where a proof is asked for.
pub(super) fn copy(
    collection: Arc<dyn Collection>,
    mut sink: Sink<'_>,
    options: &ConvertOptions,
    meter: &mut Meter<'_>,
) -> Result<Option<CollectionDigest>> {
    let (name, len, proof) = (collection.name().to_owned(), collection.len(), options.proof);
    let mut tally = Tally::new(collection.as_ref());
    let mut samples = 0u64;
    // Within a format, samples are written as they are, also with fields and names of their own.
    let within = sink.encoder.is_none();
    let scan = Scan::new(collection).runs(within).identities(within);
    let scan = scan.threads(options.threads).limits(options.limits);
    let shards = scan.map_shards(move |shard| {
        let digests = if proof { Some(hash_shard(&shard)?) } else { None };
        Ok((shard, digests))
    });
    for shard in shards {
        let (shard, digests) = shard?;
        let batch = slice(shard.batch, shard.rows)?;
        sink.write(&name, &batch)?;
        tally.add(&digests.unwrap_or_default());
        samples = samples.saturating_add(batch.rows() as u64);
        meter.step(batch.rows(), batch.value_bytes())?;
    }
    if samples != len {
        return Err(count_error(&name, len, samples));
    }
    if proof { tally.finish().map(Some) } else { Ok(None) }
}

/// The rows of a batch, which is copied only where it holds others too.
fn slice(batch: Batch, rows: Range<usize>) -> Result<Batch> {
    if rows == (0..batch.rows()) {
        return Ok(batch);
    }
    let pool = BufferPool::new(0);
    let mut builder = BatchBuilder::new(Arc::clone(batch.schema()), rows.len(), pool)?;
    builder.push(&batch, rows)?;
    builder.finish()
}
