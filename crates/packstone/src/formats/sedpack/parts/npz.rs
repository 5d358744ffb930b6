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

use packstone_container::npy::{self, Header, Item, NpyError};
use packstone_container::zip::{Archive, Entry, EntryOptions, Method, Writer, ZipError};
use packstone_io::{AlignedBuf, Buf, Kind};

use super::super::codes;
use super::super::schema::{Compression, attribute_name};
use super::cast;
use super::fb::size_error;
use super::shard::{Found, ShardBytes};
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, Column, DType, Field, Finding, Schema, Severity};

/// What stands before an attribute's name in the name of its offsets array.
fn offsets_prefix(schema: &Schema) -> String {
    let longest = schema.fields.iter().map(|f| attribute_name(f).chars().count()).max();
    format!("len{}", "_".repeat(longest.unwrap_or(0)))
}

struct Members<'a> {
    shard: &'a ShardBytes<'a>,
    archive: Archive,
    prefix: String,
    context: &'a mut ReadContext,
    compressed: bool,
}

/// An array as read: its header, and its bytes in the archive or decompressed.
struct Array {
    header: Header,
    item: Item,
    file: Buf,
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

    fn column(&mut self, field: &Field) -> Result<Column> {
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

impl Array {
    /// The elements in C order, little-endian; a view where they lie so already.
    fn little_endian(&self, place: &Place) -> Result<Buf> {
        let broken = |e: NpyError| invalid(place.clone(), e.to_string());
        let data = self.header.data(&self.file, self.item.size).map_err(broken)?;
        if !self.header.fortran_order && !self.item.big_endian {
            return Ok(self.file.slice(self.header.data_offset..).unwrap_or_default());
        }
        let mut out = AlignedBuf::with_capacity(data.len())?;
        out.set_len(data.len())?;
        npy::to_little_endian_c_order(&self.header, &self.item, data, &mut out).map_err(broken)?;
        Ok(out.into())
    }
}

/// The length of the first axis, and the others.
fn rows_of(array: &Array, place: &Place) -> Result<(usize, Vec<u64>)> {
    let (first, inner) = array.header.shape.split_first().ok_or_else(|| {
        invalid(
            place.clone(),
            "expected an array with an axis for the examples, found a scalar".to_owned(),
        )
    })?;
    let rows = usize::try_from(*first).ok();
    // Elements without bytes could be any number; columns of them do not exist.
    let real = rows.filter(|rows| *rows <= array.file.len());
    let rows = real.ok_or_else(|| {
        invalid(place.clone(), format!("expected examples that are stored, found {first}"))
    })?;
    Ok((rows, inner.to_vec()))
}

/// Python integers of which some need more than 64 bits with their sign.
fn wide_integers(data: &[u8], place: &Place) -> Result<Column> {
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    for number in data.as_chunks::<8>().0 {
        let number = u64::from_le_bytes(*number);
        match i64::try_from(number) {
            Ok(narrow) => out.extend(narrow.to_le_bytes()),
            Err(_) => out.extend(i128::from(number).to_le_bytes()),
        }
        ends.push(out.len());
    }
    Column::ragged(Buf::from(out), ends)
        .ok_or_else(|| invalid(place.clone(), "expected whole rows".to_owned()))
}

/// A blob and its offsets.
fn blob(array: &Array, offsets: &Array, field: &Field, place: &Place) -> Result<Column> {
    let wrong = |message: String| {
        Error::new(Kind::Corrupt, codes::NPZ_OFFSETS_INVALID, place.clone(), message)
    };
    if (array.item.kind, array.item.size) != (b'u', 1) {
        let message = format!("expected a blob of uint8, found {}", array.header.descr);
        return Err(invalid(place.clone(), message));
    }
    let blob = array.little_endian(place)?;
    if (offsets.item.kind, offsets.item.size) != (b'i', 8) {
        return Err(wrong(format!("expected offsets of int64, found {}", offsets.header.descr)));
    }
    let bytes = offsets.little_endian(place)?;
    let (numbers, _) = bytes.as_chunks::<8>();
    let mut ends = Vec::with_capacity(numbers.len());
    let mut before = 0;
    for (at, number) in numbers.iter().enumerate() {
        let offset = i64::from_le_bytes(*number);
        let end = usize::try_from(offset).ok().filter(|end| *end >= before && *end <= blob.len());
        let end = end.filter(|end| at > 0 || *end == 0);
        before = end.ok_or_else(|| {
            wrong(format!(
                "expected offsets from 0 to {} that never decrease, found {offset} as number {at}",
                blob.len()
            ))
        })?;
        ends.push(before);
    }
    if ends.is_empty() || before != blob.len() {
        return Err(wrong(format!("expected offsets that end at {}, found {before}", blob.len())));
    }
    ends.remove(0);
    if field.varies() {
        return Column::ragged(blob, ends)
            .ok_or_else(|| wrong("expected offsets in order".to_owned()));
    }
    let width = field.value_bytes().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    let mut start = 0;
    for (row, end) in ends.iter().enumerate() {
        if end - start != width {
            return Err(size_error(
                width as u64,
                (end - start) as u64,
                "bytes",
                place.clone().record(row as u64),
            ));
        }
        start = *end;
    }
    Column::dense(blob, width, ends.len()).ok_or_else(|| wrong("expected whole rows".to_owned()))
}

/// Text from UTF-32, without its padding.
fn text(array: &Array, place: &Place) -> Result<Column> {
    if array.item.kind != b'U' {
        let message = format!("expected text (<U), found {}", array.header.descr);
        return Err(invalid(place.clone(), message));
    }
    let (rows, inner) = rows_of(array, place)?;
    if !inner.is_empty() {
        let message = format!("expected one text a row, found shape {inner:?}");
        return Err(Error::new(
            Kind::Corrupt,
            codes::ATTRIBUTE_SIZE_MISMATCH,
            place.clone(),
            message,
        ));
    }
    let data = array.little_endian(place)?;
    let (mut out, mut ends) = (String::new(), Vec::with_capacity(rows));
    let mut points = Vec::new();
    for row in 0..rows {
        points.clear();
        let cell = data.get(row.saturating_mul(array.item.size)..).unwrap_or_default();
        let (cell, _) = cell.get(..array.item.size).unwrap_or_default().as_chunks::<4>();
        points.extend(cell.iter().map(|c| u32::from_le_bytes(*c)));
        while points.last() == Some(&0) {
            points.pop();
        }
        for point in &points {
            out.push(char::from_u32(*point).ok_or_else(|| {
                let message =
                    format!("expected text that UTF-8 can hold, found code point {point:#x}");
                Error::new(
                    Kind::Corrupt,
                    codes::INVALID_UTF8,
                    place.clone().record(row as u64),
                    message,
                )
            })?);
        }
        ends.push(out.len());
    }
    Column::ragged(Buf::from(out.into_bytes()), ends)
        .ok_or_else(|| invalid(place.clone(), "expected text in order".to_owned()))
}

/// Bytes as early releases stored them: fixed cells, padded with NUL.
fn padded(array: &Array, field: &Field, place: &Place) -> Result<Column> {
    let (rows, _) = rows_of(array, place)?;
    let data = array.little_endian(place)?;
    let width = array.item.size;
    if !field.varies() {
        let wanted = field.value_bytes().and_then(|n| usize::try_from(n).ok());
        if wanted != Some(width) {
            return Err(size_error(
                field.value_bytes().unwrap_or(0),
                width as u64,
                "bytes",
                place.clone(),
            ));
        }
        return Column::dense(data, width, rows)
            .ok_or_else(|| invalid(place.clone(), "expected whole rows".to_owned()));
    }
    let spans = (0..rows).map(|row| {
        let start = row.saturating_mul(width);
        let cell = data.get(start..start.saturating_add(width)).unwrap_or_default();
        let kept = cell.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        start..start.saturating_add(kept)
    });
    Column::scattered_ragged(data.clone(), spans.collect())
        .ok_or_else(|| invalid(place.clone(), "expected whole rows".to_owned()))
}

/// Writes the rows of `parts` as an archive.
pub fn encode(
    parts: &[Batch],
    schema: &Schema,
    compression: Compression,
    out: &mut AlignedBuf,
) -> Result<()> {
    let method = if compression == Compression::Zip { Method::Deflate } else { Method::Stored };
    let options = EntryOptions::default().with_method(method);
    let rows: usize = parts.iter().map(Batch::rows).sum();
    let prefix = offsets_prefix(schema);
    let mut archive = Vec::new();
    let mut writer = Writer::new(&mut archive);
    for (at, field) in schema.fields.iter().enumerate() {
        let name = attribute_name(field);
        let place = Place::default().field(name);
        let values = || {
            parts.iter().flat_map(move |part| {
                (0..part.rows()).map(move |row| {
                    part.columns().get(at).and_then(|c| c.bytes(row)).unwrap_or_default()
                })
            })
        };
        let mut add = |key: &str, descr: &str, shape: &[u64], data: &[u8]| {
            let mut header = Vec::new();
            npy::write_header(descr, shape, false, &mut header)
                .map_err(|e| invalid(place.clone(), e.to_string()))?;
            writer.add(&format!("{key}.npy"), &[&header, data], options).map_err(|e| {
                Error::new(Kind::Invalid, codes::NOT_WRITABLE, place.clone(), e.to_string())
            })
        };
        match field.dtype {
            DType::Bytes => {
                let blob: Vec<u8> = values().flatten().copied().collect();
                let mut end = 0i64;
                let mut offsets = end.to_le_bytes().to_vec();
                for value in values() {
                    end = end.saturating_add(i64::try_from(value.len()).unwrap_or(i64::MAX));
                    offsets.extend(end.to_le_bytes());
                }
                add(&format!("{prefix}{name}"), "<i8", &[rows as u64 + 1], &offsets)?;
                add(name, "|u1", &[1, blob.len() as u64], &blob)?;
            }
            DType::Str => {
                let texts: Vec<Vec<char>> =
                    values().map(|v| String::from_utf8_lossy(v).chars().collect()).collect();
                // NumPy has no text type of no characters.
                let longest = texts.iter().map(Vec::len).max().unwrap_or(0).max(1);
                let mut data =
                    Vec::with_capacity(longest.saturating_mul(4).saturating_mul(texts.len()));
                for text in &texts {
                    let padding = std::iter::repeat_n(&'\0', longest - text.len());
                    data.extend(
                        text.iter().chain(padding).flat_map(|c| u32::from(*c).to_le_bytes()),
                    );
                }
                add(name, &format!("<U{longest}"), &[rows as u64], &data)?;
            }
            ref dtype => {
                let data: Vec<u8> = values().flatten().copied().collect();
                let mut shape = vec![rows as u64];
                shape.extend(&field.shape);
                add(name, &dtype.numpy_str(), &shape, &data)?;
            }
        }
    }
    writer.finish().map_err(|e| invalid(Place::default(), e.to_string()))?;
    out.clear();
    Ok(out.extend_from_slice(&archive)?)
}
