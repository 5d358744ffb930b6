//! `fb` shards: FlatBuffers, attributes by position, no types of their own.
//!
//! Values of the same size under another dtype cannot be told apart: nothing in the file says what they are.

use packstone_container::flatshard::{self, FlatError, Index};
use packstone_io::{AlignedBuf, Kind};

use super::super::codes;
use super::super::schema::align;
use super::shard::{Found, ShardBytes};
use crate::error::{Error, Place, Result};
use crate::model::{Batch, Column, DType, Field, Schema};

/// The wanted examples and attributes of a shard; they share its bytes.
pub fn decode(shard: &ShardBytes<'_>) -> Result<Found> {
    let attributes = shard.schema.fields.len();
    let (index, stored) = match shard.rows {
        Some(rows) => flatshard::read_rows(&shard.bytes, attributes, rows),
        None => flatshard::read(&shard.bytes, attributes).map(|index| {
            let stored = index.examples;
            (index, stored)
        }),
    }
    .map_err(|e| flat_error(&e, shard))?;
    let fields = shard.wanted.iter().filter_map(|at| Some((*at, shard.schema.fields.get(*at)?)));
    let columns = fields.map(|(at, field)| column(shard, &index, at, field));
    Ok(Found { stored, rows: index.examples, columns: columns.collect::<Result<_>>()? })
}

fn flat_error(error: &FlatError, shard: &ShardBytes<'_>) -> Error {
    let code = match error {
        FlatError::AttributeCount { .. } => codes::ATTRIBUTE_COUNT_MISMATCH,
        FlatError::NoExample { .. } => codes::COUNT_MISMATCH,
        _ => codes::FLATBUFFER_INVALID,
    };
    let mut place = shard.place();
    place.offset = error.offset();
    place.record = error.example().map(|n| n as u64);
    Error::new(Kind::Corrupt, code, place, error.to_string())
}

fn column(shard: &ShardBytes<'_>, index: &Index, at: usize, field: &Field) -> Result<Column> {
    let name = field.key.to_string();
    let number = |row: usize| shard.rows.and_then(|rows| rows.get(row)).copied().unwrap_or(row);
    let place = |row: usize| shard.place().record(number(row) as u64).field(name.clone());
    let data = shard.bytes.clone();
    let broken = || {
        let message = "expected values inside the shard, found one outside";
        Error::new(Kind::Corrupt, codes::FLATBUFFER_INVALID, shard.place(), message)
    };
    if field.varies() {
        if field.dtype == DType::Str {
            for (row, (start, len)) in index.column(at).enumerate() {
                let bytes = data.get(start..start.saturating_add(len)).unwrap_or_default();
                if let Err(error) = std::str::from_utf8(bytes) {
                    return Err(utf8_error(error, place(row)));
                }
            }
        }
        let spans = index.column(at).map(|(start, len)| start..start.saturating_add(len));
        return Column::scattered_ragged(data, spans.collect()).ok_or_else(broken);
    }
    let width = field.value_bytes().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    let mut starts = Vec::with_capacity(index.examples);
    for (row, (start, len)) in index.column(at).enumerate() {
        if len != width {
            return Err(size_error(width as u64, len as u64, "bytes", place(row)));
        }
        starts.push(start);
    }
    if starts.is_empty() {
        return Column::ragged(packstone_io::Buf::default(), Vec::new()).ok_or_else(broken);
    }
    Column::scattered(data, starts, width).ok_or_else(broken)
}

/// The error for text that is not UTF-8.
pub fn utf8_error(error: std::str::Utf8Error, place: Place) -> Error {
    let message =
        format!("expected UTF-8, found another byte at {} of the text", error.valid_up_to());
    Error::new(Kind::Corrupt, codes::INVALID_UTF8, place, message)
}

/// The error for a value of another size than its dtype and shape ask for.
pub fn size_error(expected: u64, found: u64, unit: &str, place: Place) -> Error {
    let message = format!("expected {expected} {unit}, found {found}");
    Error::new(Kind::Corrupt, codes::ATTRIBUTE_SIZE_MISMATCH, place, message)
}

/// Writes the rows of `parts` as the bytes of a shard.
pub fn encode(parts: &[Batch], schema: &Schema, out: &mut AlignedBuf) -> Result<()> {
    let rows: Vec<(&Batch, usize)> =
        parts.iter().flat_map(|part| (0..part.rows()).map(move |row| (part, row))).collect();
    let aligns: Vec<usize> = schema.fields.iter().map(align).collect();
    let value = |example: usize, attribute: usize| {
        let bytes =
            rows.get(example).and_then(|(part, row)| part.columns().get(attribute)?.bytes(*row));
        bytes.unwrap_or_default()
    };
    Ok(flatshard::write(rows.len(), &aligns, value, out)?)
}
