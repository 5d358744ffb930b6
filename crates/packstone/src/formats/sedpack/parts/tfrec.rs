//! `tfrec` shards: TFRecord frames, each a `tf.train.Example` with one feature per attribute.
//!
//! ```text
//! int8 uint8 int32 int64 int   int64_list      float32   float_list       float16   bytes_list of one TensorProto
//! str, bytes ()                bytes_list of one value                    float64   float_list (precision lost)
//! ```
//!
//! Known differences from the original: packstone needs no TensorFlow, gives the declared dtype and text as text, and
//! takes a cut compressed file for damage, not for fewer examples.

use packstone_container::tfrecord::example::{Example, ExampleBuilder, Feature};
use packstone_container::tfrecord::tensor_proto::{HalfTensor, TensorError, write_half};
use packstone_container::tfrecord::{FrameError, FrameErrorKind, Frames, write_frame};
use packstone_io::{AlignedBuf, Buf, Kind};

use super::super::codes;
use super::super::schema::attribute_name;
use super::fb::{size_error, utf8_error};
use super::shard::{Found, ShardBytes};
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, Column, DType, Field, Finding, Schema, Severity};

/// A column in the making.
struct Growing<'f> {
    field: &'f Field,
    name: &'f str,
    elements: u64,
    data: Vec<u8>,
    ends: Vec<usize>,
}

/// All examples of a shard, with the wanted attributes.
pub fn decode(shard: &ShardBytes<'_>, context: &mut ReadContext) -> Result<Found> {
    let fields = shard.wanted.iter().filter_map(|at| shard.schema.fields.get(*at));
    let mut columns: Vec<Growing> = fields
        .map(|field| {
            let elements = field.shape.iter().fold(1u64, |n, dim| n.saturating_mul(*dim));
            Growing {
                field,
                name: attribute_name(field),
                elements,
                data: Vec::new(),
                ends: Vec::new(),
            }
        })
        .collect();
    for column in &columns {
        if column.field.dtype == DType::Float64 {
            let message = "expected a dtype that tfrec shards keep, found float64: values were stored as float32";
            let place = shard.place().field(column.name);
            context.notes.push(Finding::new(
                Severity::Warning,
                codes::UNSUPPORTED_COMBINATION,
                place,
                message,
            ));
        }
    }
    let mut rows = 0usize;
    let mut budget = context.limits.decoded_bytes;
    for frame in Frames::new(&shard.bytes) {
        let place = shard.place().record(rows as u64);
        let frame = match frame {
            Ok(frame) => frame,
            Err(FrameError { offset, kind: FrameErrorKind::Stray { len } }) => {
                let message = format!("expected a record or the end, found {len} more bytes");
                let place = shard.place().at(offset);
                context.notes.push(Finding::new(
                    Severity::Warning,
                    codes::TRAILING_BYTES,
                    place,
                    message,
                ));
                break;
            }
            Err(error) => return Err(frame_error(&error, place)),
        };
        let example = Example::parse(frame.data).map_err(|e| wire(&place, e.to_string()))?;
        for column in &mut columns {
            let feature = example.get(column.name);
            column.push(feature, place.clone().field(column.name), &mut budget)?;
        }
        rows += 1;
    }
    let columns = columns.into_iter().map(|column| column.finish(rows));
    Ok(Found::all(rows, columns.collect::<Result<_>>()?))
}

fn frame_error(error: &FrameError, place: Place) -> Error {
    let code = match error.kind {
        FrameErrorKind::LengthCrc { .. } | FrameErrorKind::DataCrc { .. } => codes::TFRECORD_CRC,
        _ => codes::TFRECORD_TRUNCATED,
    };
    Error::new(Kind::Corrupt, code, place.at(error.offset), error.kind.to_string())
}

fn wire(place: &Place, message: String) -> Error {
    Error::new(Kind::Corrupt, codes::TFRECORD_INVALID, place.clone(), message)
}

impl Growing<'_> {
    /// Takes the value of one record; `budget` is how many bytes values may still take that the file can cut short.
    fn push(&mut self, feature: Option<Feature<'_>>, place: Place, budget: &mut u64) -> Result<()> {
        let Some(feature) = feature.filter(|f| !matches!(f, Feature::Unset)) else {
            let message = format!("expected a feature {:?}, found none", self.name);
            return Err(Error::new(Kind::Corrupt, codes::FEATURE_MISSING, place, message));
        };
        match (&self.field.dtype, feature) {
            (DType::Str | DType::Bytes | DType::Float16, Feature::Bytes(list)) => {
                let mut values = list.iter();
                let value = values.next().transpose().map_err(|e| wire(&place, e.to_string()))?;
                let more = values.count();
                let (Some(value), 0) = (value, more) else {
                    let found = if value.is_some() { more as u64 + 1 } else { 0 };
                    return Err(size_error(1, found, "values", place));
                };
                self.push_bytes(value, place, budget)
            }
            (DType::Float32 | DType::Float64, Feature::Floats(list)) => {
                let mut count = 0u64;
                for value in list.iter() {
                    let value = value.map_err(|e| wire(&place, e.to_string()))?;
                    match self.field.dtype {
                        DType::Float32 => self.data.extend(value.to_le_bytes()),
                        _ => self.data.extend(f64::from(value).to_le_bytes()),
                    }
                    count += 1;
                }
                self.end(count, place)
            }
            (dtype, Feature::Int64s(list)) if dtype.size().is_some() => {
                let mut count = 0u64;
                for value in list.iter() {
                    let value = value.map_err(|e| wire(&place, e.to_string()))?;
                    let stored = store_integer(dtype, value, &mut self.data);
                    stored.ok_or_else(|| out_of_range(dtype, value, place.clone()))?;
                    count += 1;
                }
                self.end(count, place)
            }
            (dtype, _) => {
                let message = format!("expected the list that holds {dtype}, found another");
                Err(wire(&place, message))
            }
        }
    }

    fn push_bytes(&mut self, value: &[u8], place: Place, budget: &mut u64) -> Result<()> {
        match self.field.dtype {
            DType::Float16 => {
                let tensor =
                    HalfTensor::parse(value).map_err(|e| tensor_error(&e, place.clone()))?;
                let start = self.data.len();
                let bytes = self.elements.checked_mul(2).and_then(|n| usize::try_from(n).ok());
                let stored: u64 = tensor.shape().iter().fold(1, |n: u64, d| n.saturating_mul(*d));
                let bytes = bytes.filter(|_| stored == self.elements);
                let bytes = bytes
                    .ok_or_else(|| size_error(self.elements, stored, "values", place.clone()))?;
                // A run of equal values may be cut short in the file, so its length is no bound.
                *budget = budget.checked_sub(bytes as u64).ok_or_else(|| {
                    let message = format!("expected at most {budget} more bytes, found {bytes}");
                    Error::new(Kind::Limit, codes::TFRECORD_INVALID, place.clone(), message)
                })?;
                let end = start.saturating_add(bytes);
                self.data
                    .try_reserve(bytes)
                    .map_err(|_| size_error(0, self.elements, "values", place.clone()))?;
                self.data.resize(end, 0);
                let out = self.data.get_mut(start..).unwrap_or_default();
                tensor.copy_to(out).map_err(|e| tensor_error(&e, place))
            }
            DType::Bytes if !self.field.shape.is_empty() => {
                let expected = self.field.value_bytes().unwrap_or(0);
                if expected != value.len() as u64 {
                    return Err(size_error(expected, value.len() as u64, "bytes", place));
                }
                self.data.extend_from_slice(value);
                Ok(())
            }
            _ => {
                if self.field.dtype == DType::Str
                    && let Err(error) = std::str::from_utf8(value)
                {
                    return Err(utf8_error(error, place));
                }
                self.data.extend_from_slice(value);
                self.ends.push(self.data.len());
                Ok(())
            }
        }
    }

    fn end(&mut self, count: u64, place: Place) -> Result<()> {
        if count == self.elements {
            Ok(())
        } else {
            Err(size_error(self.elements, count, "values", place))
        }
    }

    fn finish(self, rows: usize) -> Result<Column> {
        let data = Buf::from(self.data);
        let column = if self.field.varies() {
            Column::ragged(data, self.ends)
        } else {
            let width = data.len().checked_div(rows).unwrap_or(0);
            Column::dense(data, width, rows)
        };
        column.ok_or_else(|| {
            wire(&Place::default().field(self.name), "expected whole rows".to_owned())
        })
    }
}

fn tensor_error(error: &TensorError, place: Place) -> Error {
    match error {
        TensorError::Length { expected, found } => size_error(*expected, *found, "bytes", place),
        other => wire(&place, other.to_string()),
    }
}

fn out_of_range(dtype: &DType, value: i64, place: Place) -> Error {
    let message = format!("expected a value that {dtype} can hold, found {value}");
    Error::new(Kind::Corrupt, codes::VALUE_INVALID, place, message)
}

fn store_integer(dtype: &DType, value: i64, out: &mut Vec<u8>) -> Option<()> {
    match dtype {
        DType::Bool => out.push(u8::try_from(value).ok().filter(|n| *n <= 1)?),
        DType::Int8 => out.extend(i8::try_from(value).ok()?.to_le_bytes()),
        DType::UInt8 => out.push(u8::try_from(value).ok()?),
        DType::Int16 => out.extend(i16::try_from(value).ok()?.to_le_bytes()),
        DType::UInt16 => out.extend(u16::try_from(value).ok()?.to_le_bytes()),
        DType::Int32 => out.extend(i32::try_from(value).ok()?.to_le_bytes()),
        DType::UInt32 => out.extend(u32::try_from(value).ok()?.to_le_bytes()),
        DType::Int64 | DType::Int => out.extend(value.to_le_bytes()),
        // TensorFlow has no unsigned list; a value past the middle would have come out negative.
        DType::UInt64 => out.extend(u64::try_from(value).ok()?.to_le_bytes()),
        _ => return None,
    }
    Some(())
}

/// Writes the rows of `parts` as records.
pub fn encode(parts: &[Batch], schema: &Schema, out: &mut AlignedBuf) -> Result<()> {
    out.clear();
    let (mut builder, mut message, mut record) =
        (ExampleBuilder::default(), Vec::new(), Vec::new());
    for part in parts {
        for row in 0..part.rows() {
            for (field, column) in schema.fields.iter().zip(part.columns()) {
                let name = attribute_name(field);
                let bytes = column.bytes(row).unwrap_or_default();
                add_feature(&mut builder, field, name, bytes)?;
            }
            message.clear();
            builder.finish(&mut message);
            record.clear();
            write_frame(&message, &mut record);
            out.extend_from_slice(&record)?;
        }
    }
    Ok(())
}

fn add_feature(
    builder: &mut ExampleBuilder,
    field: &Field,
    name: &str,
    bytes: &[u8],
) -> Result<()> {
    fn each<const N: usize, T>(bytes: &[u8], make: fn([u8; N]) -> T) -> impl Iterator<Item = T> {
        bytes.as_chunks::<N>().0.iter().map(move |chunk| make(*chunk))
    }
    match field.dtype {
        DType::Str | DType::Bytes => builder.bytes(name, [bytes]),
        DType::Float32 => builder.floats(name, each(bytes, f32::from_le_bytes)),
        DType::Float16 => {
            let mut proto = Vec::new();
            write_half(&field.shape, bytes, &mut proto).map_err(|e| {
                Error::new(
                    Kind::Invalid,
                    codes::VALUE_INVALID,
                    Place::default().field(name),
                    e.to_string(),
                )
            })?;
            builder.bytes(name, [proto.as_slice()]);
        }
        DType::UInt8 => builder.int64s(name, bytes.iter().map(|b| i64::from(*b))),
        DType::Int8 => builder.int64s(name, each(bytes, |b| i64::from(i8::from_le_bytes(b)))),
        DType::Int32 => builder.int64s(name, each(bytes, |b| i64::from(i32::from_le_bytes(b)))),
        _ => builder.int64s(name, each(bytes, i64::from_le_bytes)),
    }
    Ok(())
}
