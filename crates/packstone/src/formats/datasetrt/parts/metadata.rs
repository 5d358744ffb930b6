//! What the table says about samples on their way into batches: columns of just these rows, which become objects when
//! somebody looks at them; where it says it as JSON text, objects at once.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::arrow_table::{ArrowFile, Cell, Column};
use packstone_container::json::{self, Object, ReadOptions, Value};
use packstone_io::Kind;

use super::super::codes;
use super::super::layout::METADATA;
use super::super::schema::arrow_error;
use super::cache::Cache;
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, RowTable, sample_table};

impl Cache {
    /// The columns of the table for these samples, where anybody looks at them: to compare copies, or for metadata. `None`
    /// also where a value is wrong, which is told when that of its sample is read.
    pub(super) fn taken(&self, table: &ArrowFile, samples: &[u64]) -> Option<Vec<Column>> {
        if !self.options.compare && self.metadata.0.is_empty() {
            return None;
        }
        (0..self.columns().len()).map(|column| table.select(column, samples).ok()).collect()
    }

    /// The batch of these samples with what is said about each.
    ///
    /// # Errors
    /// Those of [`MetadataReader::read`].
    pub(super) fn with_metadata(
        &self,
        batch: Batch,
        samples: &[u64],
        table: &ArrowFile,
        taken: Option<Vec<Column>>,
        context: &ReadContext,
    ) -> Result<Batch> {
        let mut reader = MetadataReader::new(self, &context.limits);
        if !reader.any() {
            return Ok(batch);
        }
        if let Some(columns) = taken.filter(|_| reader.text.is_none()) {
            let (places, names) = &self.metadata;
            let mut places = places.iter().peekable();
            let columns = columns.into_iter().enumerate();
            let columns = columns.filter(|(at, _)| places.next_if_eq(&at).is_some());
            let columns = columns.map(|(_, column)| column).collect();
            let table = RowTable::new(Arc::clone(names), columns, samples.len())?;
            return batch.with_metadata_table(table);
        }
        let read = |(row, sample): (usize, &u64)| Ok((row + 1, reader.read(table, *sample)?));
        let runs = samples.iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
        batch.with_metadata_runs(runs)
    }
}

/// Reads what is said about samples of one cache.
pub(super) struct MetadataReader<'c> {
    cache: &'c Cache,
    /// The column of JSON text where that holds them.
    text: Option<usize>,
    /// The text that was read last, which the next sample often has too.
    last: Option<(String, Arc<Object>)>,
    limits: &'c Limits,
}

impl<'c> MetadataReader<'c> {
    pub(super) fn new(cache: &'c Cache, limits: &'c Limits) -> Self {
        let text = cache.descriptor.metadata_column.as_deref();
        let text = text.and_then(|name| cache.columns().iter().position(|c| c.name == name));
        Self { cache, text, last: None, limits }
    }

    /// True where anything is said about samples.
    pub(super) fn any(&self) -> bool {
        self.text.is_some() || !self.cache.metadata.0.is_empty()
    }

    /// What `table`, which is that of the cache, says about a sample.
    ///
    /// # Errors
    /// `arrow_invalid` where a text is no UTF-8; `payload_invalid` where JSON text is none.
    pub(super) fn read(&mut self, table: &ArrowFile, sample: u64) -> Result<Arc<Object>> {
        let place = || self.cache.site.place(METADATA).record(sample);
        let cell = |column| table.cell(column, sample).map_err(|e| arrow_error(&e, place()));
        if let Some(Cell::Utf8(text)) = self.text.map(cell).transpose()? {
            if let Some((_, object)) = self.last.as_ref().filter(|(known, _)| known == text) {
                return Ok(Arc::clone(object));
            }
            let object = Arc::new(parse_metadata(text, &place(), self.limits)?);
            self.last = Some((text.to_owned(), Arc::clone(&object)));
            return Ok(object);
        }
        let (places, names) = &self.cache.metadata;
        let mut named = Vec::with_capacity(names.len());
        for (at, name) in places.iter().zip(names.iter()) {
            named.push((name.clone(), sample_table::value(cell(*at)?)));
        }
        Ok(Arc::new(named.into_iter().collect()))
    }
}

/// Reads metadata that stand in a column as JSON text.
fn parse_metadata(text: &str, place: &Place, limits: &Limits) -> Result<Object> {
    let options = ReadOptions::default().with_limits(*limits).with_nan(true);
    let message = match json::read(text.as_bytes(), &options).map(|document| document.value) {
        Ok(Value::Object(object)) => return Ok(object),
        Ok(other) => format!("expected metadata in an object, found {}", other.kind()),
        Err(error) => format!("metadata of the sample: {error}"),
    };
    Err(Error::new(Kind::Corrupt, codes::PAYLOAD_INVALID, place.clone(), message))
}
