//! Records become samples: payloads as they lie in the shard or decoded, metadata from the table.

use std::sync::Arc;

use packstone_container::arrow_table::{ArrowFile, Cell};
use packstone_container::codec::{CodecError, decode_lz4_block};
use packstone_container::json::Object;
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::document::Algo;
use super::super::layout::LZ4_PREFIX;
use super::super::schema::arrow_error;
use super::cache::Cache;
use super::index::Row;
use super::maps::Stay;
use super::record;
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, Column, Schema};

/// No LZ4 block gains more than 255 bytes with one.
const MAX_RATIO: u64 = 255;

/// What is read of each sample.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The payload.
    pub payload: bool,
    /// Whether more of the shard will be asked for at other places.
    pub stay: Stay,
}

impl Cache {
    /// Reads samples of one shard, in the order given.
    ///
    /// # Errors
    /// Those of [`Cache::row`], [`Cache::shard`], [`Cache::table`] and [`record::locate`]; `lz4_damaged`, `lz4_length`;
    /// where copies are compared, those of [`record::parse`] and [`record::compare`]; `checksum_mismatch` where the context
    /// asks for it.
    pub fn read(
        &self,
        samples: &[u64],
        schema: &Arc<Schema>,
        wanted: Wanted,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let rows = samples.iter().map(|sample| self.row(*sample)).collect::<Result<Vec<Row>>>()?;
        let Some(number) = rows.first().map(|row| row.shard) else {
            return Batch::new(Arc::clone(schema), 0, empty(schema));
        };
        let entry = self.shard_entry(number);
        self.look_again(entry)?;
        let (entry, shard) = self.shard(number, wanted.stay)?;
        let table = self.table()?;
        if context.verify {
            self.compare_checksums(number, &shard)?;
        }
        let mut payloads = Vec::with_capacity(samples.len());
        let mut expected = String::new();
        for (sample, row) in samples.iter().zip(&rows) {
            let place = || self.sample_place(*sample, *row);
            if row.shard != number {
                let message = format!("expected a record of shard {number}, found {}", row.shard);
                let code = codes::INDEX_SHARD_OUT_OF_RANGE;
                return Err(Error::new(Kind::Invalid, code, place(), message));
            }
            let record = record::locate(&shard, *row, &place())?;
            if self.options.compare {
                let copy = shard.get(record.metadata).unwrap_or_default();
                self.compare_copy(copy, &table, *sample, place, &mut expected, context)?;
            }
            payloads.push(record.payload);
        }
        let columns = match (wanted.payload, entry.algo) {
            (false, _) => Vec::new(),
            (true, Algo::None) => vec![Column::scattered_ragged(shard, payloads)],
            (true, Algo::Lz4) => {
                let places = |at: usize| {
                    let known = samples.get(at).zip(rows.get(at));
                    known.map_or_else(Place::default, |(s, row)| self.sample_place(*s, *row))
                };
                vec![decode(&shard, &payloads, places, context)?]
            }
        };
        let columns = columns.into_iter().flatten().collect();
        let batch = Batch::new(Arc::clone(schema), samples.len(), columns)?;
        let batch = self.with_metadata(batch, samples, &table)?;
        if !context.identities {
            return Ok(batch);
        }
        batch.with_identities(samples.iter().map(|sample| self.identity(*sample)).collect())
    }

    /// What the container calls a sample.
    pub fn identity(&self, sample: u64) -> Object {
        let mut identity = Object::new();
        identity.insert("cache_id", self.cache_id);
        identity.insert("sample_id", sample);
        identity
    }

    /// The values of a sample's metadata columns.
    ///
    /// # Errors
    /// `arrow_invalid` where a text is no UTF-8.
    pub fn cells<'t>(&self, table: &'t ArrowFile, sample: u64) -> Result<Vec<Cell<'t>>> {
        let cells = (0..self.columns().len()).map(|column| table.cell(column, sample));
        cells.collect::<Result<_, _>>().map_err(|error| {
            let place = self.site.place(super::super::layout::METADATA).record(sample);
            arrow_error(&error, place)
        })
    }

    /// Compares the copy of a sample's metadata with the table; `expected` is memory to be used again.
    fn compare_copy(
        &self,
        copy: &[u8],
        table: &ArrowFile,
        sample: u64,
        place: impl Fn() -> Place,
        expected: &mut String,
        context: &ReadContext,
    ) -> Result<()> {
        let cells = self.cells(table, sample)?;
        expected.clear();
        self.spelling.spell(cells.iter().copied(), expected);
        if expected.as_bytes() == copy {
            return Ok(());
        }
        let (place, columns) = (place(), self.columns());
        let object = record::parse(copy, columns, &place, &context.limits)?;
        record::compare(&object, columns, cells.into_iter(), &place)
    }

    fn with_metadata(&self, batch: Batch, samples: &[u64], table: &ArrowFile) -> Result<Batch> {
        if self.columns().is_empty() {
            return Ok(batch);
        }
        let mut runs = Vec::with_capacity(samples.len());
        for (row, sample) in samples.iter().enumerate() {
            let cells = self.cells(table, *sample)?.into_iter().map(record::value);
            let names = self.columns().iter().map(|column| column.name.as_str());
            runs.push((row + 1, Arc::new(names.zip(cells).collect::<Object>())));
        }
        batch.with_metadata_runs(runs)
    }
}

fn empty(schema: &Schema) -> Vec<Column> {
    let fields = schema.fields.iter();
    fields.filter_map(|_| Column::ragged(Buf::default(), Vec::new())).collect()
}

/// Decodes payloads, one after another, into one buffer.
fn decode(
    shard: &[u8],
    payloads: &[std::ops::Range<usize>],
    place: impl Fn(usize) -> Place,
    context: &ReadContext,
) -> Result<Option<Column>> {
    let mut out = context.pool.take(0)?;
    let mut ends = Vec::with_capacity(payloads.len());
    for (at, span) in payloads.iter().enumerate() {
        let stored = shard.get(span.clone()).unwrap_or_default();
        let left = context.limits.decoded_bytes.saturating_sub(out.len() as u64);
        let limits = context.limits.with_decoded_bytes(left);
        decode_payload(stored, &mut out, &limits).map_err(|error| error.at(place(at)))?;
        ends.push(out.len());
    }
    Ok(Column::ragged(out.freeze(), ends))
}

/// Why a compressed payload is none.
#[derive(Debug)]
pub enum PayloadError {
    /// It ends inside of the length in front of it; its bytes.
    NoLength(usize),
    /// The length in front of it is more than the block behind can become.
    Implausible {
        /// The length.
        stated: u64,
        /// What the block can become at most.
        most: u64,
    },
    /// The block is damaged, or not as long as stated.
    Block(CodecError),
}

impl PayloadError {
    /// The error at a place.
    pub fn at(self, place: Place) -> Error {
        let error = match self {
            Self::NoLength(found) => {
                let message = format!("expected a length of 4 bytes, found {found} bytes");
                return Error::new(Kind::Corrupt, codes::LZ4_DAMAGED, place, message);
            }
            Self::Implausible { stated, most } => {
                let message =
                    format!("expected at most {most} bytes of payload, found {stated} stated");
                return Error::new(Kind::Corrupt, codes::LZ4_LENGTH, place, message);
            }
            Self::Block(CodecError::Mismatch { expected, found, .. }) => {
                let message = format!("expected {expected} bytes of payload, found {found}");
                return Error::new(Kind::Corrupt, codes::LZ4_LENGTH, place, message);
            }
            Self::Block(error) => error,
        };
        Error::new(error.kind(), codes::LZ4_DAMAGED, place, error.to_string())
    }
}

/// Appends the content of one compressed payload to `out`.
///
/// # Errors
/// It is damaged, or longer or shorter than it says. The length is never believed beyond what the block can hold.
pub fn decode_payload(
    stored: &[u8],
    out: &mut packstone_io::AlignedBuf,
    limits: &packstone_container::Limits,
) -> Result<(), PayloadError> {
    let Some((len, block)) = stored.split_first_chunk::<LZ4_PREFIX>() else {
        return Err(PayloadError::NoLength(stored.len()));
    };
    let stated = u64::from(u32::from_le_bytes(*len));
    let most = (block.len() as u64).saturating_mul(MAX_RATIO);
    if stated > most {
        return Err(PayloadError::Implausible { stated, most });
    }
    decode_lz4_block(block, stated, out, limits).map_err(PayloadError::Block)
}
