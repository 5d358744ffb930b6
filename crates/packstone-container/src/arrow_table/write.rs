//! Writing a table as an Arrow IPC file, byte for byte as arrow-rs 54 does.
//!
//! Metadata version 5, everything aligned to 64 bytes, no compression, no dictionaries, no metadata of the schema. Every
//! column has validity, all bits set and the unused ones too where it has no nulls; other writers leave it out, and later
//! releases of that library do, which readers do not mind.

use super::bitmap::Bitmap;
use super::build::{Builder, Place};
use super::column::{Column, ColumnKind, Values};
use super::table::Table;
use super::{ArrowError, MAGIC};

const ALIGNMENT: usize = 64;
const ZEROS: [u8; ALIGNMENT] = [0; ALIGNMENT];
/// Numbers are turned into bytes so many at a time.
const STEP: usize = 4096;
const V5: i16 = 4;

/// What takes the bytes of a file, piece by piece.
type Sink<'s, E> = &'s mut dyn FnMut(&[u8]) -> Result<(), E>;

/// Writes `table` with at most `batch_rows` rows a record batch, and one batch in any case. Columns with validity become
/// nullable.
///
/// # Errors
/// Those of `out`; [`ArrowError::TooMuchText`] before anything of the batch is written.
pub fn write_file<E: From<ArrowError>>(
    table: &Table,
    batch_rows: usize,
    out: Sink<'_, E>,
) -> Result<(), E> {
    let mut out = Counted { out, at: 0 };
    out.put(&MAGIC)?;
    out.pad()?;
    out.message(&message(1, 0, |builder| schema(builder, table)))?;
    let mut blocks = Vec::new();
    let step = batch_rows.max(1);
    for start in (0..table.rows().max(1)).step_by(step) {
        let rows = start..table.rows().min(start.saturating_add(step));
        let parts: Vec<Part<'_>> = table
            .columns()
            .map(|(name, column)| Part::new(name, column, rows.clone()))
            .collect::<Result<_, ArrowError>>()?;
        let body: usize = parts.iter().flat_map(|part| part.lengths()).map(padded).sum();
        let header = message(3, body, |builder| batch(builder, rows.len(), &parts));
        let at = out.at;
        out.message(&header)?;
        blocks.push(block(at, out.at - at, body));
        parts.iter().try_for_each(|part| part.write(&mut out))?;
    }
    out.put(&u32::MAX.to_le_bytes())?;
    out.put(&[0; 4])?;
    let footer = footer(table, &blocks);
    out.put(&footer)?;
    out.put(&i32::try_from(footer.len()).unwrap_or(i32::MAX).to_le_bytes())?;
    out.put(&MAGIC)
}

fn padded(len: usize) -> usize {
    len.next_multiple_of(ALIGNMENT)
}

/// The sink, and how much went into it.
struct Counted<'s, E> {
    out: Sink<'s, E>,
    at: usize,
}

impl<E> Counted<'_, E> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), E> {
        self.at += bytes.len();
        (self.out)(bytes)
    }

    fn pad(&mut self) -> Result<(), E> {
        let zeros = padded(self.at) - self.at;
        self.put(ZEROS.get(..zeros).unwrap_or_default())
    }

    /// A message with its mark and length, which counts the padding.
    fn message(&mut self, flat: &[u8]) -> Result<(), E> {
        let len = padded(flat.len() + 8) - 8;
        self.put(&u32::MAX.to_le_bytes())?;
        self.put(&i32::try_from(len).unwrap_or(i32::MAX).to_le_bytes())?;
        self.put(flat)?;
        self.pad()
    }
}

fn block(at: usize, message: usize, body: usize) -> [u8; 24] {
    let mut out = [0; 24];
    let (place, rest) = out.split_at_mut(8);
    place.copy_from_slice(&(at as u64).to_le_bytes());
    let (lengths, size) = rest.split_at_mut(8);
    lengths.copy_from_slice(&(message as u64).to_le_bytes());
    size.copy_from_slice(&(body as u64).to_le_bytes());
    out
}

fn pair(one: u64, other: u64) -> [u8; 16] {
    (u128::from(one) | u128::from(other) << 64).to_le_bytes()
}

fn message(kind: u8, body: usize, header: impl FnOnce(&mut Builder) -> Place) -> Vec<u8> {
    let mut builder = Builder::default();
    let header = header(&mut builder);
    let body = i64::try_from(body).unwrap_or(i64::MAX);
    let root = builder.table().i16(0, V5).u8(1, kind).i64(3, body).to(2, header).finish();
    builder.finish(root)
}

fn schema(builder: &mut Builder, table: &Table) -> Place {
    let fields: Vec<Place> =
        table.columns().map(|(name, column)| field(builder, name, column)).collect();
    let fields = builder.references(&fields);
    builder.table().to(1, fields).finish()
}

fn field(builder: &mut Builder, name: &str, column: &Column) -> Place {
    let name = builder.text(name);
    // The library makes the empty list of children before the type, or after it.
    let (union, detail, children) = match column.kind() {
        ColumnKind::Bool | ColumnKind::Utf8 => {
            let detail = builder.table().finish();
            let union = if column.kind() == ColumnKind::Bool { 6 } else { 5 };
            (union, detail, builder.references(&[]))
        }
        kind @ (ColumnKind::Int64 | ColumnKind::UInt64) => {
            let children = builder.references(&[]);
            let signed = u8::from(kind == ColumnKind::Int64);
            (2, builder.table().u8(1, signed).i32(0, 64).finish(), children)
        }
        ColumnKind::Float64 => {
            let children = builder.references(&[]);
            (3, builder.table().i16(0, 2).finish(), children)
        }
    };
    let nullable = u8::from(column.validity().is_some());
    let table = builder.table().to(0, name).u8(2, union).u8(1, nullable);
    table.to(5, children).to(3, detail).finish()
}

fn batch(builder: &mut Builder, rows: usize, parts: &[Part<'_>]) -> Place {
    let mut at = 0;
    let buffers: Vec<[u8; 16]> = parts
        .iter()
        .flat_map(|part| part.lengths())
        .map(|len| {
            let buffer = pair(at as u64, len as u64);
            at += padded(len);
            buffer
        })
        .collect();
    let nodes: Vec<_> = parts.iter().map(|part| pair(rows as u64, part.nulls as u64)).collect();
    let buffers = builder.structs(&buffers);
    let nodes = builder.structs(&nodes);
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    builder.table().i64(0, rows).to(1, nodes).to(2, buffers).finish()
}

pub(super) fn footer(table: &Table, blocks: &[[u8; 24]]) -> Vec<u8> {
    let mut builder = Builder::default();
    let dictionaries = builder.structs::<24>(&[]);
    let batches = builder.structs(blocks);
    let schema = schema(&mut builder, table);
    let root = builder.table().i16(0, V5).to(1, schema).to(2, dictionaries).to(3, batches);
    let root = root.finish();
    builder.finish(root)
}

/// Some rows of a column.
struct Part<'a> {
    column: &'a Column,
    rows: std::ops::Range<usize>,
    nulls: usize,
    /// Where their texts lie.
    text: std::ops::Range<usize>,
}

impl<'a> Part<'a> {
    fn new(
        name: &str,
        column: &'a Column,
        rows: std::ops::Range<usize>,
    ) -> Result<Self, ArrowError> {
        let nulls = column
            .validity()
            .map_or(0, |bits| rows.clone().filter(|row| bits.get(*row) == Some(false)).count());
        let mut text = 0..0;
        if let Values::Utf8(texts) = column.values() {
            let end = |row: usize| {
                let end = row.checked_sub(1).and_then(|row| texts.ends().get(row));
                end.and_then(|end| usize::try_from(*end).ok()).unwrap_or(0)
            };
            text = end(rows.start)..end(rows.end);
            if i32::try_from(text.len()).is_err() {
                let found = text.len() as u64;
                return Err(ArrowError::TooMuchText { column: name.to_owned(), found });
            }
        }
        Ok(Self { column, rows, nulls, text })
    }

    /// Lengths of the buffers: validity, values, and texts.
    fn lengths(&self) -> impl Iterator<Item = usize> + use<> {
        let (rows, bits) = (self.rows.len(), self.rows.len().div_ceil(8));
        let (values, texts) = match self.column.kind() {
            ColumnKind::Bool => (bits, None),
            ColumnKind::Utf8 => ((rows + 1) * 4, Some(self.text.len())),
            _ => (rows * 8, None),
        };
        [Some(bits), Some(values), texts].into_iter().flatten()
    }

    fn write<E>(&self, out: &mut Counted<'_, E>) -> Result<(), E> {
        match self.column.validity() {
            Some(validity) => self.bits(validity, out)?,
            None => {
                let ones = [0xff; ALIGNMENT];
                let mut left = self.rows.len().div_ceil(8);
                while left > 0 {
                    let step = left.min(ALIGNMENT);
                    out.put(ones.get(..step).unwrap_or_default())?;
                    left -= step;
                }
                out.pad()?;
            }
        }
        match self.column.values() {
            Values::Bool(bits) => self.bits(bits, out),
            Values::Int64(values) => self.numbers(values, i64::to_le_bytes, out),
            Values::UInt64(values) => self.numbers(values, u64::to_le_bytes, out),
            Values::Float64(values) => self.numbers(values, f64::to_le_bytes, out),
            Values::Utf8(texts) => {
                let base = self.text.start as u64;
                let ends = texts.ends().get(self.rows.clone()).unwrap_or_default();
                let end = |end: &u64| i32::try_from(end.saturating_sub(base)).unwrap_or(i32::MAX);
                out.put(&[0; 4])?;
                for ends in ends.chunks(STEP) {
                    let bytes: Vec<u8> = ends.iter().flat_map(|e| end(e).to_le_bytes()).collect();
                    out.put(&bytes)?;
                }
                out.pad()?;
                out.put(texts.text().as_bytes().get(self.text.clone()).unwrap_or_default())?;
                out.pad()
            }
        }
    }

    fn bits<E>(&self, bits: &Bitmap, out: &mut Counted<'_, E>) -> Result<(), E> {
        if self.rows.start == 0 && self.rows.end == bits.len() {
            out.put(&bits.lsb_bytes().collect::<Vec<u8>>())?;
        } else {
            let some = self.rows.clone().map(|row| bits.get(row) == Some(true));
            out.put(&some.collect::<Bitmap>().lsb_bytes().collect::<Vec<u8>>())?;
        }
        out.pad()
    }

    fn numbers<T: Copy, E>(
        &self,
        values: &[T],
        bytes: fn(T) -> [u8; 8],
        out: &mut Counted<'_, E>,
    ) -> Result<(), E> {
        for values in values.get(self.rows.clone()).unwrap_or_default().chunks(STEP) {
            let bytes: Vec<u8> = values.iter().flat_map(|value| bytes(*value)).collect();
            out.put(&bytes)?;
        }
        out.pad()
    }
}
