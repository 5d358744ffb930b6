//! Single samples by index, each shard on the way read once.

use std::sync::Arc;

use packstone_io::{BufferPool, Kind};

use super::missing_sample;
use crate::error::{Error, Place, Result};
use crate::exec;
use crate::format::{Collection, ReadContext};
use crate::model::{Batch, BatchSlots, Column, RowSlot};

/// Batches from this many bytes on are copied by several threads, and what one of them takes at a time.
const SHARED_FROM: u64 = 4 << 20;
const PART_BYTES: usize = 512 << 10;

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
        return copied(&batch, &context.pool);
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

/// The rows of a batch one after another in memory of their own.
fn copied(batch: &Batch, pool: &BufferPool) -> Result<Batch> {
    let rows = batch.rows();
    let schema = Arc::clone(batch.schema());
    let widths = batch.schema().fields.iter().zip(batch.columns()).map(|(field, column)| {
        let width = field.value_bytes().filter(|_| !field.varies());
        column.width().filter(|found| width == Some(*found as u64))
    });
    let plain = !batch.has_metadata_runs() && batch.value_bytes() >= SHARED_FROM;
    let Some(widths) = widths.collect::<Option<Vec<usize>>>().filter(|_| plain) else {
        let mut slots = BatchSlots::new(schema, rows, pool)?;
        let same: Vec<RowSlot> = (0..rows).map(|row| (row, row)).collect();
        slots.put(batch, &same)?;
        return slots.finish(None);
    };
    let mut columns = Vec::with_capacity(widths.len());
    for width in &widths {
        let mut column = pool.take(rows.saturating_mul(*width))?;
        column.set_len(rows.saturating_mul(*width))?;
        columns.push(column);
    }
    let mut parts = Vec::new();
    for ((width, from), to) in widths.iter().zip(batch.columns()).zip(&mut columns) {
        let some = (PART_BYTES / width.max(&1)).max(1);
        let to = to.chunks_mut(some.saturating_mul(*width).max(1));
        parts.extend((0..rows).step_by(some).zip(to).map(|(row, to)| (from, row, some, to)));
    }
    exec::share(parts, exec::default_threads(), |(from, row, some, to)| {
        from.fill(row..row.saturating_add(some).min(rows), to)
    })?;
    let columns = columns.into_iter().zip(widths);
    let columns = columns.filter_map(|(data, width)| Column::dense(data.freeze(), width, rows));
    Batch::new(schema, rows, columns.collect())
}
