//! The rows of a node as a collection of samples.
//!
//! Rows are read from the maps of leaves without a copy. Shards are ranges of rows, made here: the format has none.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::{Kind, RelPath};

use super::super::codes;
use super::super::layout::META;
use super::super::parts::field::{FieldReader, Rows};
use super::super::parts::node::Node;
use super::super::parts::readers::{Readers, readers};
use crate::error::{Error, Place, Result};
use crate::format::{Collection, ReadContext, ShardRef};
use crate::model::{Batch, Field, Schema};

/// Bytes of the rows of a shard, about.
const SHARD_BYTES: u64 = 4 << 20;
/// Rows of a shard at most.
const SHARD_ROWS: u64 = 1 << 20;
/// Rows that there can be where nothing is stored for each of them: as many as are gone through in seconds.
const BARE_ROWS: u64 = 1 << 24;

/// The rows of a node as samples.
pub(super) struct Rowwise {
    pub(super) name: String,
    /// The file that shows it: the root document, or the archive.
    file: RelPath,
    pub(super) len: u64,
    per_shard: u64,
    schema: Arc<Schema>,
    fields: Vec<FieldReader>,
}

impl Rowwise {
    pub(super) fn new(
        name: &str,
        file: &RelPath,
        node: &Node,
        declared: Option<&[Field]>,
        limits: Limits,
    ) -> Result<Self> {
        let found = readers(node, &limits);
        let (schema, fields) = match declared {
            Some(declared) => as_declared(found, declared),
            None => found,
        };
        let row = fields.iter().fold(0u64, |n, reader| n.saturating_add(reader.row_bytes()));
        let len = node.batch_size().first().copied().unwrap_or(1);
        // Nothing on the disk stands behind rows without bytes: a number alone must not keep anybody busy.
        let stored = fields.iter().any(|reader| reader.stored_row_bytes() > 0);
        let most = limits.entries.min(BARE_ROWS);
        if !stored && len > most {
            let message =
                format!("expected at most {most} rows without bytes of their own, found {len}");
            return Err(Error::new(
                Kind::Limit,
                codes::TOO_LARGE,
                Place::file(META).json("$.shape"),
                message,
            ));
        }
        let per_shard = (SHARD_BYTES / row.max(1)).clamp(1, SHARD_ROWS);
        let (name, file) = (name.to_owned(), file.clone());
        let schema = Arc::new(Schema::new(schema));
        Ok(Self { name, file, len, per_shard, schema, fields })
    }

    /// A run of no rows yet.
    fn run(&self) -> ShardRef {
        let (metadata, detail) = (Arc::new(Object::new()), Arc::new(()));
        ShardRef { number: 0, first: 0, rows: 0, path: self.file.clone(), metadata, detail }
    }

    fn columns(
        &self,
        rows: Rows<'_>,
        fields: Option<&[usize]>,
        context: &ReadContext,
    ) -> Result<Batch> {
        let all: Range<usize> = 0..self.fields.len();
        let positions: Vec<usize> = fields.map_or_else(|| all.collect(), <[usize]>::to_vec);
        let schema = match fields {
            Some(fields) => Arc::new(self.schema.project(fields)),
            None => Arc::clone(&self.schema),
        };
        let column = |position: &usize| {
            let (field, reader) =
                self.schema.fields.get(*position).zip(self.fields.get(*position))?;
            Some(reader.read(field, rows, &context.limits, context.verify))
        };
        let columns = positions.iter().filter_map(column);
        Batch::new(schema, rows.len(), columns.collect::<Result<_>>()?)
    }
}

/// The fields as packstone's writer declared them, where the tree still is what it wrote; else as they are.
fn as_declared((fields, readers): Readers, declared: &[Field]) -> Readers {
    let mut found: Vec<(Field, FieldReader)> = fields.into_iter().zip(readers).collect();
    let is_of = |field: &Field, (own, reader): &(Field, FieldReader)| reader.fits(own, field);
    let fits = |field: &Field| found.iter().any(|found| is_of(field, found));
    if found.len() != declared.len() || !declared.iter().all(fits) {
        return found.into_iter().unzip();
    }
    found.sort_by_key(|found| declared.iter().position(|field| is_of(field, found)));
    let mut readers: Vec<FieldReader> = found.into_iter().map(|(_, reader)| reader).collect();
    readers.iter_mut().zip(declared).for_each(|(reader, field)| reader.declare(field));
    (declared.to_vec(), readers)
}

impl Collection for Rowwise {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn shard_count(&self) -> u64 {
        self.len.div_ceil(self.per_shard)
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn has_metadata(&self) -> Result<bool> {
        Ok(false)
    }

    fn stored_bytes(&self, shard: &ShardRef) -> Option<u64> {
        let rows = shard.first..shard.first.saturating_add(shard.rows);
        let each = self.fields.iter().map(|reader| reader.stored_bytes(rows.clone()));
        Some(each.fold(0, u64::saturating_add))
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let (len, per_shard) = (self.len, self.per_shard);
        let run = self.run();
        Box::new((from / per_shard..self.shard_count()).map(move |number| {
            let first = number.saturating_mul(per_shard);
            let rows = per_shard.min(len.saturating_sub(first));
            Ok(ShardRef { number, first, rows, ..run.clone() })
        }))
    }

    fn window(&self, rows: Range<u64>) -> Option<ShardRef> {
        let inside = rows.start < rows.end && rows.end <= self.len;
        let number = rows.start / self.per_shard;
        inside.then(|| ShardRef {
            number,
            first: rows.start,
            rows: rows.end - rows.start,
            ..self.run()
        })
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let count = usize::try_from(shard.rows).unwrap_or(usize::MAX);
        self.columns(Rows::Run(shard.first, count), fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        if let Some(row) = rows.iter().find(|row| **row as u64 >= shard.rows) {
            let message = format!("expected rows below {}, found {row}", shard.rows);
            return Err(Error::new(
                Kind::NotFound,
                codes::BATCH_MISMATCH,
                Place::file(META),
                message,
            ));
        }
        self.columns(Rows::Listed(shard.first, rows), fields, context)
    }

    fn read_at(
        &self,
        indices: &[u64],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Option<Batch>> {
        let rows: Option<Vec<usize>> =
            indices.iter().map(|index| usize::try_from(*index).ok()).collect();
        match rows.filter(|_| indices.iter().all(|index| *index < self.len)) {
            Some(rows) => self.columns(Rows::Listed(0, &rows), fields, context).map(Some),
            None => Ok(None),
        }
    }
}
