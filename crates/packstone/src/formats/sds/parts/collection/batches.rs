//! From records to batches: of one schema throughout, or a run for each that comes.

use std::sync::Arc;

use super::super::batch::{Placed, build, identity, metadata_runs, mixed, own_schema, places};
use super::super::record::Record;
use crate::error::{Place, Result};
use crate::format::{Collection, ReadContext, ShardRef};
use crate::model::{Batch, Schema};

/// A batch of records that all have the fields of their collection.
pub(super) fn strict(
    collection: &dyn Collection,
    shard: &ShardRef,
    records: Vec<Record>,
    rows: Option<&[usize]>,
    fields: Option<&[usize]>,
    context: &mut ReadContext,
) -> Result<Batch> {
    let schema = collection.schema();
    let mut placed = Vec::with_capacity(records.len());
    for (at, record) in records.into_iter().enumerate() {
        let places = places(schema, &record).map_err(|field| {
            let row = rows.map_or(Some(at), |rows| rows.get(at).copied()).unwrap_or(at);
            let ordinal = shard.first.saturating_add(row as u64);
            let error = mixed(collection.name(), ordinal, &field, schema);
            error.with_place(Place::file(&shard.path).record(ordinal).field(field))
        })?;
        placed.push((record, places));
    }
    batch(schema, fields, placed, context)
}

/// The batch of records whose fields are where `placed` says.
fn batch(
    schema: &Arc<Schema>,
    fields: Option<&[usize]>,
    mut placed: Vec<Placed>,
    context: &mut ReadContext,
) -> Result<Batch> {
    let runs = metadata_runs(&mut placed);
    let batch = build(schema, fields, &placed, &context.pool)?.with_metadata_runs(runs)?;
    if !context.identities {
        return Ok(batch);
    }
    let name = |(record, _): &(Record, _)| identity(&record.id, record.scene_id.as_deref());
    batch.with_identities(placed.iter().map(name).collect())
}

/// Batches of neighbouring records with the same fields.
pub(super) fn runs(
    shard: &ShardRef,
    records: Vec<Record>,
    usual: &Arc<Schema>,
    fields: Option<&[usize]>,
    context: &mut ReadContext,
) -> Result<Vec<(ShardRef, Batch)>> {
    let mut out: Vec<(ShardRef, Batch)> = Vec::new();
    let mut open: Option<(Arc<Schema>, Vec<Placed>)> = None;
    let mut first = shard.first;
    let mut close = |open: Option<(Arc<Schema>, Vec<Placed>)>, first: &mut u64| -> Result<()> {
        let Some((schema, placed)) = open else { return Ok(()) };
        let rows = placed.len() as u64;
        let part = ShardRef { first: *first, rows, ..shard.clone() };
        // Fields that are asked for are those of these names, as far as the run has them.
        let wanted = fields.map(|fields| {
            let names = fields.iter().filter_map(|at| usual.fields.get(*at));
            names.filter_map(|field| schema.position(&field.key.to_string())).collect::<Vec<_>>()
        });
        out.push((part, batch(&schema, wanted.as_deref(), placed, context)?));
        *first = first.saturating_add(rows);
        Ok(())
    };
    for record in records {
        if let Some((schema, placed)) = &mut open
            && let Ok(places) = places(schema, &record)
        {
            placed.push((record, places));
            continue;
        }
        close(open.take(), &mut first)?;
        let (schema, places) = match places(usual, &record) {
            Ok(places) => (Arc::clone(usual), places),
            Err(_) => {
                let own = Arc::new(own_schema(&record));
                let all = (0..record.fields.len()).collect();
                (own, all)
            }
        };
        open = Some((schema, vec![(record, places)]));
    }
    close(open, &mut first)?;
    Ok(out)
}
