//! Single samples by index, each shard on the way read once.

use std::sync::Arc;

use packstone_io::Kind;

use crate::error::{Error, Place, Result};
use crate::format::{Collection, ReadContext};
use crate::model::{Batch, BatchBuilder};

/// The samples at `indices`, in that order; each shard is read once.
///
/// # Errors
/// `ops/index_out_of_range`; those of [`Collection::read`].
pub fn gather(
    collection: &dyn Collection,
    indices: &[u64],
    fields: Option<&[usize]>,
    context: &mut ReadContext,
) -> Result<Batch> {
    let len = collection.len();
    if let Some(index) = indices.iter().find(|i| **i >= len) {
        let message = format!("expected an index below {len}, found {index}");
        return Err(Error::new(
            Kind::NotFound,
            "ops/index_out_of_range",
            Place::default(),
            message,
        ));
    }
    let schema = match fields {
        Some(fields) => Arc::new(collection.schema().project(fields)),
        None => Arc::clone(collection.schema()),
    };
    let mut builder = BatchBuilder::new(schema, indices.len(), context.pool.clone())?;
    if let Some(batch) = collection.read_at(indices, fields, context)? {
        builder.push(&batch, 0..batch.rows())?;
        return builder.finish();
    }
    let mut order: Vec<usize> = (0..indices.len()).collect();
    order.sort_by_key(|slot| indices.get(*slot));
    let mut sorted = order.iter().filter_map(|slot| indices.get(*slot).copied()).peekable();
    while let Some(index) = sorted.next() {
        let shard = collection.shards(index).next().transpose()?.ok_or_else(|| {
            let message =
                format!("expected {len} samples, found the lists end before sample {index}");
            Error::new(Kind::Corrupt, "ops/missing_sample", Place::default(), message)
        })?;
        let end = shard.first.saturating_add(shard.rows);
        let row =
            |index: u64| usize::try_from(index.saturating_sub(shard.first)).unwrap_or(usize::MAX);
        let mut rows = vec![row(index)];
        while let Some(index) = sorted.next_if(|index| *index < end) {
            rows.push(row(index));
        }
        let batch = collection.read_rows(&shard, &rows, fields, context)?;
        builder.push(&batch, 0..batch.rows())?;
    }
    let sorted = builder.finish()?;
    if order.is_sorted() {
        return Ok(sorted);
    }
    // The rows were gathered in the order of their shards; one more copy brings them into the order asked for.
    let mut slots: Vec<(usize, usize)> =
        order.into_iter().enumerate().map(|(row, slot)| (slot, row)).collect();
    slots.sort_unstable();
    for (_, row) in slots {
        builder.push(&sorted, row..row + 1)?;
    }
    builder.finish()
}
