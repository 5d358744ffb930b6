//! Reading a shard, and what can be read of one in which a record is at fault.

use std::ops::Range;

use crate::error::Error;
use crate::format::{Collection, ReadContext, ShardRef};
use crate::model::Batch;

/// A shard, whole or as runs of samples with the same fields; where a record is at fault, the rows of `wanted` before that,
/// and its error unless it is none of them.
pub(super) fn read_parts(
    collection: &dyn Collection,
    shard: &ShardRef,
    runs: bool,
    wanted: Range<usize>,
    fields: Option<&[usize]>,
    context: &mut ReadContext,
) -> (Vec<(ShardRef, Batch)>, Option<Error>) {
    let read = match runs {
        false => collection.read(shard, fields, context).map(|batch| vec![(shard.clone(), batch)]),
        true => collection.read_runs(shard, fields, context),
    };
    match read {
        Ok(parts) => (parts, None),
        Err(error) if error.place().record.is_some() => {
            let (good, fault) = before_fault(collection, shard, wanted, fields, context);
            // Samples that only differ in their fields are no fault where they come as runs.
            let fault = if runs { fault.map(|_| error) } else { fault };
            (good.into_iter().collect(), fault)
        }
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// The rows of `wanted` before the first that cannot be read, as a part of the shard, and why that one cannot; no error
/// where all can, since the record at fault is another.
///
/// Halves the rows until the one at fault is found: about as many reads as its number has binary digits.
fn before_fault(
    collection: &dyn Collection,
    shard: &ShardRef,
    wanted: Range<usize>,
    fields: Option<&[usize]>,
    context: &mut ReadContext,
) -> (Option<(ShardRef, Batch)>, Option<Error>) {
    let (mut good, mut error) = (None, None);
    // So many rows can be read, so many cannot.
    let (mut least, mut most) = (0, wanted.len().saturating_add(1));
    let mut count = wanted.len();
    while least < count && count < most {
        let rows: Vec<usize> = wanted.clone().take(count).collect();
        match collection.read_rows(shard, &rows, fields, context) {
            Ok(batch) => (least, good) = (count, Some(batch)),
            Err(fault) => (most, error) = (count, Some(fault)),
        }
        count = least.midpoint(most);
    }
    let first = shard.first.saturating_add(wanted.start as u64);
    let part = |batch| (ShardRef { first, rows: least as u64, ..shard.clone() }, batch);
    (good.map(part), error)
}
