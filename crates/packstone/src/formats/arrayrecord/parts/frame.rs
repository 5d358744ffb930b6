//! Samples of any fields as records.
//!
//! ```text
//! one field       the bytes of its value
//! several fields  their values one after another; in front of each whose length can vary, its bytes as u64, little-endian
//! ```

use std::ops::Range;
use std::sync::Arc;

use packstone_io::{Buf, Kind};

use super::super::codes;
use crate::error::{Error, Place, Result};
use crate::model::{Batch, Column, DType, Field, Schema};

/// How the fields of a sample lie in its record.
#[derive(Clone, Debug)]
pub struct Frame {
    schema: Arc<Schema>,
    /// Bytes of each value; `None` where they vary.
    widths: Vec<Option<usize>>,
}

/// Where the values of one field are, row by row.
type Spans = Vec<Range<usize>>;

impl Frame {
    /// The frame of these fields; `None` where no record can have them.
    pub fn new(schema: Arc<Schema>) -> Option<Self> {
        let width = |field: &Field| match (field.varies(), field.varying, field.value_bytes()) {
            (_, true, _) => None,
            (true, false, _) => Some(None),
            (false, false, bytes) => Some(Some(usize::try_from(bytes?).ok()?)),
        };
        let widths = schema.fields.iter().map(width).collect::<Option<Vec<_>>>()?;
        (!widths.is_empty()).then_some(Self { schema, widths })
    }

    /// The fields.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The record of a row; `None` where the row does not fit the fields.
    pub fn join(&self, batch: &Batch, row: usize) -> Option<Buf> {
        let columns = batch.columns();
        if let ([width], [column]) = (&self.widths[..], columns) {
            let value = column.buf(row)?;
            return width.is_none_or(|width| width == value.len()).then_some(value);
        }
        let mut record = Vec::new();
        for (place, width) in self.widths.iter().enumerate() {
            let value = columns.get(place)?.bytes(row)?;
            match width {
                Some(width) if *width != value.len() => return None,
                Some(_) => {}
                None => record.extend_from_slice(&(value.len() as u64).to_le_bytes()),
            }
            record.extend_from_slice(value);
        }
        (columns.len() == self.widths.len()).then(|| Buf::from(record))
    }

    /// Where the values of a record are in it, handed to `take` with the number of their field; `None` where it does not
    /// have these fields.
    fn split(&self, record: &[u8], mut take: impl FnMut(usize, Range<usize>)) -> Option<()> {
        let alone = self.widths.len() == 1;
        let mut at = 0usize;
        for (place, width) in self.widths.iter().enumerate() {
            let len = match width {
                Some(width) => *width,
                None if alone => record.len(),
                None => {
                    let len = record.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)?;
                    at = at.checked_add(size_of::<u64>())?;
                    usize::try_from(len).ok()?
                }
            };
            let end = at.checked_add(len)?;
            let text = matches!(self.schema.fields.get(place)?.dtype, DType::Str | DType::Json);
            let value = record.get(at..end)?;
            if text && str::from_utf8(value).is_err() {
                return None;
            }
            take(place, at..end);
            at = end;
        }
        (at == record.len()).then_some(())
    }

    /// The records at `spans` of `data` as rows of the fields at `wanted`, or of all.
    ///
    /// # Errors
    /// `record_frame` for the first record that does not have these fields; `place` says where a row is from.
    pub fn batch(
        &self,
        data: &Buf,
        spans: Spans,
        wanted: Option<&[usize]>,
        place: impl Fn(usize) -> Place,
    ) -> Result<Batch> {
        let rows = spans.len();
        let schema = match wanted {
            Some(wanted) => Arc::new(self.schema.project(wanted)),
            None => Arc::clone(&self.schema),
        };
        let fields = self.widths.len();
        let mut values: Vec<Spans> = vec![Vec::with_capacity(rows); fields];
        for (row, span) in spans.iter().enumerate() {
            let record = data.get(span.clone()).unwrap_or_default();
            let split = self.split(record, |field, value| {
                if let Some(values) = values.get_mut(field) {
                    values.push(span.start + value.start..span.start + value.end);
                }
            });
            split.ok_or_else(|| self.misfit(record.len(), place(row)))?;
        }
        let all: Vec<usize> = (0..fields).collect();
        let columns = wanted.unwrap_or(&all).iter().filter_map(|field| {
            let spans = values.get(*field)?.clone();
            match self.widths.get(*field)? {
                Some(width) if rows > 0 => {
                    let starts: Vec<usize> = spans.iter().map(|span| span.start).collect();
                    dense(data, &starts, *width)
                        .or_else(|| Column::scattered(data.clone(), starts, *width))
                }
                _ => Column::scattered_ragged(data.clone(), spans),
            }
        });
        Batch::new(schema, rows, columns.collect())
    }

    /// Checks that a record has these fields.
    ///
    /// # Errors
    /// `record_frame`.
    pub fn check(&self, record: &[u8], place: Place) -> Result<()> {
        self.split(record, |_, _| {}).ok_or_else(|| self.misfit(record.len(), place))
    }

    fn misfit(&self, len: usize, place: Place) -> Error {
        let names = self.schema.names().join(", ");
        let message = format!("expected a record of the fields {names}, found {len} other bytes");
        Error::new(Kind::Corrupt, codes::RECORD_FRAME, place, message)
    }
}

/// Rows of one width without gaps as what they are.
fn dense(data: &Buf, starts: &[usize], width: usize) -> Option<Column> {
    let first = *starts.first()?;
    let next = starts.iter().zip(starts.iter().skip(1));
    let joined = next.into_iter().all(|(a, b)| a.checked_add(width) == Some(*b));
    let end = first.checked_add(width.checked_mul(starts.len())?)?;
    joined.then(|| Column::dense(data.slice(first..end)?, width, starts.len()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(fields: Vec<Field>) -> Frame {
        Frame::new(Arc::new(Schema::new(fields))).unwrap()
    }

    fn read(frame: &Frame, records: &[&[u8]]) -> Result<Vec<Vec<Vec<u8>>>> {
        let data = Buf::from(records.concat());
        let mut end = 0;
        let spans = records.iter().map(|record| {
            end += record.len();
            end - record.len()..end
        });
        let batch = frame.batch(&data, spans.collect(), None, Place::file)?;
        let row = |row| batch.columns().iter().map(|c| c.bytes(row).unwrap().to_vec()).collect();
        Ok((0..batch.rows()).map(row).collect())
    }

    #[test]
    fn one_field_is_its_record() {
        let bytes = frame(vec![Field::new("record", DType::Bytes, [])]);
        assert_eq!(read(&bytes, &[b"ab", b""]).unwrap(), [[b"ab".to_vec()], [vec![]]]);
        let fixed = frame(vec![Field::new("x", DType::UInt16, [1])]);
        assert_eq!(read(&fixed, &[b"ab", b"cd"]).unwrap(), [[b"ab".to_vec()], [b"cd".to_vec()]]);
        let error = read(&fixed, &[b"ab", b"c"]).unwrap_err();
        assert_eq!((error.code(), error.place().file.as_deref()), (codes::RECORD_FRAME, Some("1")));
        let text = frame(vec![Field::new("t", DType::Str, [])]);
        assert!(read(&text, &["é".as_bytes()]).is_ok());
        assert_eq!(read(&text, &[b"\xff"]).unwrap_err().code(), codes::RECORD_FRAME);
    }

    #[test]
    fn several_fields_stand_one_after_another() {
        let frame = frame(vec![
            Field::new("n", DType::UInt8, []),
            Field::new("t", DType::Str, []),
            Field::new("z", DType::Float32, [0]),
            Field::new("b", DType::Bytes, []),
        ]);
        let record = b"\x07\x02\0\0\0\0\0\0\0hi\x03\0\0\0\0\0\0\0abc";
        let rows = read(&frame, &[record]).unwrap();
        assert_eq!(rows, [[b"\x07".to_vec(), b"hi".to_vec(), vec![], b"abc".to_vec()]]);
        let batch = frame.batch(&Buf::from(record.to_vec()), vec![0..22], None, Place::file);
        assert_eq!(&frame.join(&batch.unwrap(), 0).unwrap()[..], record);
        let some = frame.batch(&Buf::from(record.to_vec()), vec![0..22], Some(&[3]), Place::file);
        let some = some.unwrap();
        assert_eq!((some.columns().len(), some.columns()[0].bytes(0)), (1, Some(&b"abc"[..])));
        for cut in 0..record.len() {
            assert_eq!(read(&frame, &[&record[..cut]]).unwrap_err().code(), codes::RECORD_FRAME);
        }
        let more = [&record[..], b"\0"].concat();
        assert!(read(&frame, &[&more]).is_err());
        let mut huge = record.to_vec();
        huge[1..9].fill(0xff);
        assert!(read(&frame, &[&huge]).is_err());
    }

    #[test]
    fn what_no_record_can_have_has_no_frame() {
        let frame = |field| Frame::new(Arc::new(Schema::new(vec![field])));
        assert!(Frame::new(Arc::default()).is_none());
        assert!(frame(Field::new("x", DType::Float64, [u64::MAX])).is_none());
        let key = crate::model::Key::new("x");
        assert!(frame(Field::varying(key, DType::Float64, 1)).is_none());
    }
}
