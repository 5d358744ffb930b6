//! Samples one by one: both collections are walked in step.

use std::sync::Arc;

use packstone_container::json::Object;

use super::fields::{Common, Odd};
use super::log::Log;
use super::{DiffOptions, compare_fields, compare_lengths, explain, side};
use crate::error::Result;
use crate::format::Collection;
use crate::model::{Batch, ValueRef, canonical};
use crate::ops::count_error;
use crate::ops::digest::Level;
use crate::ops::meter::Meter;
use crate::ops::scan::{Decoded, Scan, Shards};

pub(super) fn compare(
    a: Arc<dyn Collection>,
    b: Arc<dyn Collection>,
    options: &DiffOptions,
    meter: &mut Meter<'_>,
    log: &mut Log,
) -> Result<()> {
    let usual = compare_fields(a.as_ref(), b.as_ref(), log);
    compare_lengths(a.as_ref(), b.as_ref(), log);
    let shared = a.len().min(b.len());
    let schemas = [Arc::clone(a.schema()), Arc::clone(b.schema())];
    let mut odd = Odd::default();
    let mut sides =
        [Side::new(a, "first", shared, options), Side::new(b, "second", shared, options)];
    let mut twins = Twins::default();
    let mut index = 0u64;
    loop {
        let [left, right] = &mut sides;
        let (Some(x), Some(y)) = (left.next_rows()?, right.next_rows()?) else {
            break;
        };
        let count = x.rows.len().min(y.rows.len());
        // Formats may let samples differ in their fields; what is usual was compared before.
        let same =
            |batch: &Batch, schema| Arc::ptr_eq(batch.schema(), schema) || batch.schema() == schema;
        let [here, there] = &schemas;
        let is_usual = same(&x.batch, here) && same(&y.batch, there);
        let fields = match is_usual {
            true => &usual,
            false => odd.fields(x.batch.schema(), y.batch.schema()),
        };
        for (row, other) in x.rows.by_ref().take(count).zip(y.rows.by_ref()) {
            if !is_usual {
                fields.log(Some(index), log);
            }
            compare_rows(&fields.common, (&x.batch, row), (&y.batch, other), index, log);
            if options.level == Level::Full {
                let (a, b) = (x.batch.metadata(row), y.batch.metadata(other));
                if !twins.same(a, b) {
                    log.add(Some(index), None, || explain::metadata(a, b));
                }
            }
            index = index.saturating_add(1);
        }
        let bytes =
            u128::from(x.batch.value_bytes()) * count as u128 / x.batch.rows().max(1) as u128;
        meter.step(count, u64::try_from(bytes).unwrap_or(u64::MAX))?;
    }
    log.report.samples = log.report.samples.saturating_add(index);
    if index != shared {
        let name = log.collection.clone();
        let [left, right] = &mut sides;
        let ended = if left.next_rows()?.is_none() { left } else { right };
        return Err(side(ended.name)(count_error(&name, shared, index)));
    }
    Ok(())
}

/// One of the two datasets while its shards are walked.
struct Side {
    name: &'static str,
    shards: Shards,
    current: Option<Decoded>,
}

impl Side {
    fn new(
        collection: Arc<dyn Collection>,
        name: &'static str,
        shared: u64,
        options: &DiffOptions,
    ) -> Self {
        let scan = Scan::new(collection).threads(options.threads).limits(options.limits);
        let scan = scan.runs(true);
        Self { name, shards: scan.range(0..shared).shards(), current: None }
    }

    /// The shard whose rows are next; `None` at the end.
    fn next_rows(&mut self) -> Result<Option<&mut Decoded>> {
        while self.current.as_ref().is_none_or(|current| current.rows.is_empty()) {
            let Some(next) = self.shards.next() else { return Ok(None) };
            let next = next.map_err(side(self.name))?;
            self.current = Some(next);
        }
        Ok(self.current.as_mut())
    }
}

fn compare_rows(
    common: &[Common],
    a: (&Batch, usize),
    b: (&Batch, usize),
    index: u64,
    log: &mut Log,
) {
    for field in common {
        let [here, there] = &field.sides;
        let (x, y) = (here.value(a), there.value(b));
        if x != y {
            let found = |(bytes, shape)| ValueRef { dtype: &here.dtype, shape, bytes };
            let what = || explain::values(x.map(found), y.map(found));
            log.add(Some(index), Some(field.key.to_string()), what);
        }
    }
}

/// The metadata that were last found equal; whole shards share theirs.
#[derive(Default)]
struct Twins(Option<[Arc<Object>; 2]>);

impl Twins {
    fn same(&mut self, a: Option<&Arc<Object>>, b: Option<&Arc<Object>>) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
        let known = self.0.as_ref().is_some_and(|[x, y]| Arc::ptr_eq(x, a) && Arc::ptr_eq(y, b));
        let same = known || Arc::ptr_eq(a, b) || canonical::object(a) == canonical::object(b);
        if same && !known {
            self.0 = Some([Arc::clone(a), Arc::clone(b)]);
        }
        same
    }
}
