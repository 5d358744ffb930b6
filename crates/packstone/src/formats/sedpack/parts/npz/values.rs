//! Columns from arrays that are no plain numbers: blobs with offsets, text, padded cells, wide integers.

use packstone_io::{Buf, Kind};

use super::super::super::codes;
use super::super::fb::size_error;
use super::array::{Array, rows_of};
use super::invalid;
use crate::error::{Error, Place, Result};
use crate::model::{Column, Field};

/// Python integers of which some need more than 64 bits with their sign.
pub(super) fn wide_integers(data: &[u8], place: &Place) -> Result<Column> {
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
pub(super) fn blob(array: &Array, offsets: &Array, field: &Field, place: &Place) -> Result<Column> {
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
pub(super) fn text(array: &Array, place: &Place) -> Result<Column> {
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
pub(super) fn padded(array: &Array, field: &Field, place: &Place) -> Result<Column> {
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
