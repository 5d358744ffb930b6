//! Single samples by index, each shard on the way read once.

use std::sync::Arc;

use packstone_io::Kind;

use super::missing_sample;
use crate::error::{Error, Place, Result};
use crate::format::{Collection, ReadContext};
use crate::model::{Batch, BatchSlots, RowSlot};

/// The samples at `indices`, in that order; each shard is read once, each row copied once.
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
    if let Some(batch) = collection.read_at(indices, fields, context)? {
        if batch.is_own() {
            return Ok(batch);
        }
        let mut slots = BatchSlots::new(schema, batch.rows(), &context.pool)?;
        let rows: Vec<RowSlot> = (0..batch.rows()).map(|row| (row, row)).collect();
        slots.put(&batch, &rows)?;
        return slots.finish(None);
    }
    let mut slots = BatchSlots::new(schema, indices.len(), &context.pool)?;
    let mut order: Vec<usize> = (0..indices.len()).collect();
    order.sort_by_key(|slot| indices.get(*slot));
    let mut sorted = order.iter().copied().peekable();
    let at = |slot: usize| indices.get(slot).copied().unwrap_or(u64::MAX);
    while let Some(slot) = sorted.next() {
        let index = at(slot);
        let shard = collection.shards(index).next().transpose()?;
        let shard = shard.ok_or_else(|| missing_sample(len, index))?;
        let end = shard.first.saturating_add(shard.rows);
        let row =
            |index: u64| usize::try_from(index.saturating_sub(shard.first)).unwrap_or(usize::MAX);
        let (mut rows, mut places) = (vec![row(index)], vec![(0, slot)]);
        while let Some(slot) = sorted.next_if(|slot| at(*slot) < end) {
            places.push((rows.len(), slot));
            rows.push(row(at(slot)));
        }
        let batch = collection.read_rows(&shard, &rows, fields, context)?;
        slots.put(&batch, &places)?;
    }
    slots.finish(None)
}
