//! `npz` shards: a ZIP archive with one `.npy` array per attribute.
//!
//! ```text
//! x.npy                [n, *shape]      numeric attributes, stacked
//! text.npy             [n] of <Uk       text, UTF-32 padded with NUL
//! len____blob.npy      [n + 1] int64    where each value of `blob` starts; `len` and one `_` a character of the
//! blob.npy             [1, total] uint8 longest attribute name
//! ```
//!
//! Known differences from the original: it stores and returns values in the dtype they were given in; packstone casts to
//! the declared dtype on writing, and on reading gives the declared one and says where that is not exact.

mod array;
mod encode;
mod members;
mod values;

use packstone_container::zip::{Archive, ZipError};
use packstone_io::Kind;

use super::super::codes;
use super::super::schema::{Compression, attribute_name};
use super::shard::{Found, ShardBytes};
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Column, Finding, Schema, Severity};
use members::Members;

pub use encode::encode;

/// What stands before an attribute's name in the name of its offsets array.
fn offsets_prefix(schema: &Schema) -> String {
    let longest = schema.fields.iter().map(|f| attribute_name(f).chars().count()).max();
    format!("len{}", "_".repeat(longest.unwrap_or(0)))
}

/// All examples of a shard, with the wanted attributes.
pub fn decode(
    shard: &ShardBytes<'_>,
    compression: Compression,
    context: &mut ReadContext,
) -> Result<Found> {
    let archive =
        Archive::parse(&shard.bytes, &context.limits).map_err(|e| zip_error(&e, shard.place()))?;
    let prefix = offsets_prefix(shard.schema);
    let mut members = Members { shard, archive, prefix, context, compressed: false };
    let mut columns: Vec<Column> = Vec::new();
    let mut names = Vec::new();
    for field in shard.wanted.iter().filter_map(|at| shard.schema.fields.get(*at)) {
        columns.push(members.column(field)?);
        names.push(attribute_name(field));
    }
    if members.compressed != (compression == Compression::Zip) {
        let message = format!(
            "expected {} members as the dataset says, found the others",
            if members.compressed { "stored" } else { "deflated" }
        );
        let code = codes::AMBIGUOUS_STREAM;
        // The original never looks; only an archive without members can differ without saying so.
        if !columns.is_empty() {
            members.context.notes.push(Finding::new(
                Severity::Warning,
                code,
                shard.place(),
                message,
            ));
        }
    }
    let rows = match (columns.first(), shard.schema.fields.first()) {
        (Some(column), _) => column.rows(),
        // Nothing was asked for, but the examples still count.
        (None, Some(field)) => members.column(field)?.rows(),
        (None, None) => 0,
    };
    for (column, name) in columns.iter().zip(&names) {
        if column.rows() != rows {
            let first = names.first().copied().unwrap_or_default();
            let message = format!("expected {rows} rows as in {first:?}, found {}", column.rows());
            let place = shard.place().field(*name);
            return Err(Error::new(Kind::Corrupt, codes::NPZ_COLUMN_MISMATCH, place, message));
        }
    }
    Ok(Found::all(rows, columns))
}

fn invalid(place: Place, message: String) -> Error {
    Error::new(Kind::Corrupt, codes::NPZ_INVALID, place, message)
}

fn zip_error(error: &ZipError, place: Place) -> Error {
    let kind = match error {
        ZipError::Limit { .. } | ZipError::Memory(_) => Kind::Limit,
        _ => Kind::Corrupt,
    };
    Error::new(kind, codes::NPZ_INVALID, place, error.to_string())
}
