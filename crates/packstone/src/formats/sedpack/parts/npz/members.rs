//! The members of an archive as columns of their attributes.

use packstone_container::npy::{Header, NpyError};
use packstone_container::zip::{Archive, Entry, Method};
use packstone_io::{Buf, Kind};

use super::super::super::codes;
use super::super::super::schema::attribute_name;
use super::super::cast;
use super::super::shard::ShardBytes;
use super::array::{Array, rows_of};
use super::values::{blob, padded, text, wide_integers};
use super::{invalid, zip_error};
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Column, DType, Field, Finding, Severity};

/// The archive of a shard, and what its members are called.
pub(super) struct Members<'a> {
    pub(super) shard: &'a ShardBytes<'a>,
    pub(super) archive: Archive,
    pub(super) prefix: String,
    pub(super) context: &'a mut ReadContext,
    /// Whether any member that was read is compressed.
    pub(super) compressed: bool,
}

impl Members<'_> {
    fn entry(&self, key: &str) -> Option<Entry> {
        self.archive.find(&format!("{key}.npy")).cloned()
    }

    fn array(&mut self, key: &str, field: &Field) -> Result<Option<Array>> {
        let place = self.shard.place().field(attribute_name(field));
        let Some(entry) = self.entry(key) else { return Ok(None) };
        let broken = |message: String| invalid(place.clone(), message);
        let file = match entry.method() {
            Method::Stored => {
                entry.check_crc(&self.shard.bytes).map_err(|e| broken(e.to_string()))?;
                let range = entry.range();
                let (start, end) = (usize::try_from(range.start), usize::try_from(range.end));
                let found =
                    start.ok().zip(end.ok()).and_then(|(s, e)| self.shard.bytes.slice(s..e));
                found.ok_or_else(|| broken("expected a member inside the archive".to_owned()))?
            }
            _ => {
                self.compressed = true;
                let mut out = self.context.pool.take(0)?;
                let read = entry.read(&self.shard.bytes, &mut out, &self.context.limits);
                read.map_err(|e| zip_error(&e, place.clone()))?;
                out.freeze()
            }
        };
        let refuse = |error: NpyError| {
            let code = match error {
                NpyError::Object => codes::NPZ_OBJECT_ARRAY,
                _ => codes::NPZ_INVALID,
            };
            Error::new(Kind::Corrupt, code, place.clone(), error.to_string())
        };
        let header = Header::parse(&file).map_err(refuse)?;
        let item = header.item().map_err(refuse)?;
        header.data(&file, item.size).map_err(refuse)?;
        Ok(Some(Array { header, item, file }))
    }

    pub(super) fn column(&mut self, field: &Field) -> Result<Column> {
        let name = attribute_name(field);
        let place = self.shard.place().field(name);
        let array = self.array(name, field)?.ok_or_else(|| {
            let message = format!("expected a member {:?}, found none", format!("{name}.npy"));
            Error::new(Kind::Corrupt, codes::NPZ_MISSING_KEY, place.clone(), message)
        })?;
        if field.dtype == DType::Bytes {
            let key = format!("{}{name}", self.prefix);
            if let Some(offsets) = self.array(&key, field)? {
                return blob(&array, &offsets, field, &place);
            }
        }
        match field.dtype {
            DType::Str => text(&array, &place),
            DType::Bytes if array.item.kind == b'S' => padded(&array, field, &place),
            _ => self.stacked(&array, field, &place),
        }
    }

    /// An array whose first axis counts the examples.
    fn stacked(&mut self, array: &Array, field: &Field, place: &Place) -> Result<Column> {
        let stored = DType::from_numpy(&array.header.descr).ok_or_else(|| {
            invalid(
                place.clone(),
                format!("expected {}, found {}", field.dtype, array.header.descr),
            )
        })?;
        let (rows, inner) = rows_of(array, place)?;
        let wanted = if field.varies() { inner.as_slice() } else { field.shape.as_slice() };
        if inner != wanted {
            let message = format!("expected rows of shape {wanted:?}, found {inner:?}");
            return Err(Error::new(
                Kind::Corrupt,
                codes::ATTRIBUTE_SIZE_MISMATCH,
                place.clone(),
                message,
            ));
        }
        let data = array.little_endian(place)?;
        let target = match field.dtype {
            DType::Bytes => DType::UInt8,
            DType::Int => DType::Int64,
            ref other => other.clone(),
        };
        let data = if stored == target {
            data
        } else if field.dtype == DType::Int
            && stored == DType::UInt64
            && data
                .as_chunks::<8>()
                .0
                .iter()
                .any(|n| u64::from_le_bytes(*n) > i64::MAX.unsigned_abs())
        {
            return wide_integers(&data, place);
        } else {
            let mut out = Vec::new();
            let exact = cast::convert(&stored, &target, &data, &mut out).ok_or_else(|| {
                invalid(
                    place.clone(),
                    format!("expected values of {}, found {stored}", field.dtype),
                )
            })?;
            if !exact {
                let message = format!(
                    "expected values of {}, found {stored} values that it cannot hold",
                    field.dtype
                );
                let found =
                    Finding::new(Severity::Warning, codes::INEXACT_VALUE, place.clone(), message);
                self.context.notes.push(found);
            }
            Buf::from(out)
        };
        let width = data.len().checked_div(rows).unwrap_or(0);
        let column = if field.varies() {
            Column::ragged(data, (1..=rows).map(|row| row.saturating_mul(width)).collect())
        } else {
            Column::dense(data, width, rows)
        };
        column.ok_or_else(|| invalid(place.clone(), "expected whole rows".to_owned()))
    }
}
