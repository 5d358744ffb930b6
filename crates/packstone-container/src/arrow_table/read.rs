//! Reading an Arrow IPC file: which bytes of it are which column.
//!
//! ```text
//! ARROW1 │ zeros │ schema message │ record batches │ ffffffff 00000000 │ footer │ i32 footer bytes │ ARROW1
//! record batch   ffffffff │ i32 bytes │ message (rows, nodes, buffers) │ body: validity, values; validity, ends, text; …
//! footer         version, schema, dictionaries, record batches [offset, bytes of message, bytes of body]
//! ```
//!
//! Columns stay where they are in the bytes, which may be a map: opening a file costs what its footer and the messages
//! of its batches hold. A value is checked when it is asked for. Accepted are any number of batches, absent validity,
//! metadata versions 4 and 5, and metadata of schema and fields, which are ignored. The stream format, compressed
//! buffers, dictionaries, big-endian data and other types are refused by name; [`ArrowFile::read_wider`] takes some of them.

use packstone_io::Buf;

use super::column::{Cell, Column, ColumnKind, Values};
use super::flat::{Elements, Flat};
use super::place::{Batch, Place, Stored};
use super::table::Table;
use super::{ArrowError, MAGIC};

/// A column as the schema of a file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrowField {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether it may hold nulls.
    pub nullable: bool,
}

/// An Arrow IPC file over its bytes.
#[derive(Clone, Debug)]
pub struct ArrowFile {
    bytes: Buf,
    fields: Vec<ArrowField>,
    stored: Vec<Stored>,
    batches: Vec<Batch>,
    rows: u64,
}

impl ArrowFile {
    /// Finds the columns in a file.
    ///
    /// # Errors
    /// [`ArrowError`]: the bytes are cut or contradict themselves, or hold something that is refused.
    pub fn read(bytes: Buf) -> Result<Self, ArrowError> {
        Self::find(bytes, false)
    }

    /// As [`ArrowFile::read`], and with columns of other types whose values all fit a kind: 32-bit numbers, and texts with
    /// ends of 64 bits.
    ///
    /// # Errors
    /// As for [`ArrowFile::read`].
    pub fn read_wider(bytes: Buf) -> Result<Self, ArrowError> {
        Self::find(bytes, true)
    }

    fn find(bytes: Buf, wider: bool) -> Result<Self, ArrowError> {
        let footer = footer(&bytes)?;
        version(footer.i16(0, "the footer's version")?)?;
        if footer.elements(2, BLOCK, "the dictionaries")?.len() > 0 {
            return Err(ArrowError::Unsupported { what: "dictionaries" });
        }
        let schema = footer.table(1, "the schema")?.ok_or(ArrowError::Missing("a schema"))?;
        let (fields, stored) = fields(&schema, bytes.len(), wider)?;
        let blocks = footer.elements(3, BLOCK, "the record batches")?;
        let (mut batches, mut rows, mut covered) = (Vec::new(), 0u64, 0usize);
        for number in 0..blocks.len() {
            let block = Block::read(&blocks, number, &bytes)?;
            // Batches lie apart, so what is kept of them is bounded by the file.
            covered = covered.saturating_add(block.end - block.start);
            if covered > bytes.len() {
                let reason = "expected batches that do not overlap, found others".to_owned();
                return Err(ArrowError::Batch { number, reason });
            }
            let batch =
                block.batch(&bytes, &stored, rows).map_err(|error| error.in_batch(number))?;
            rows = rows.saturating_add(batch.rows);
            batches.push(batch);
        }
        Ok(Self { bytes, fields, stored, batches, rows })
    }

    /// The columns.
    pub fn fields(&self) -> &[ArrowField] {
        &self.fields
    }

    /// Number of rows in all batches.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of record batches.
    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &Buf {
        &self.bytes
    }

    /// The value of a column in a row.
    ///
    /// # Errors
    /// [`ArrowError::NoCell`] where there is no such column or row; [`ArrowError::Text`].
    pub fn cell(&self, column: usize, row: u64) -> Result<Cell<'_>, ArrowError> {
        let none = ArrowError::NoCell { column, row };
        let stored = *self.stored.get(column).ok_or(ArrowError::NoCell { column, row })?;
        let after = self.batches.partition_point(|batch| batch.first <= row);
        let batch = after.checked_sub(1).and_then(|at| self.batches.get(at));
        let batch = batch.filter(|batch| row - batch.first < batch.rows).ok_or(none)?;
        let place = batch.columns.get(column).ok_or(ArrowError::NoCell { column, row })?;
        place.cell(&self.bytes, stored, row - batch.first).ok_or(ArrowError::Text { column, row })
    }

    /// The values of a column in these rows, in this order; rows may repeat. They are a copy.
    ///
    /// # Errors
    /// As for [`ArrowFile::cell`], of the first row that has no value.
    pub fn select(&self, column: usize, rows: &[u64]) -> Result<Column, ArrowError> {
        if let Some(values) = self.selected(column, rows) {
            return Ok(values.into());
        }
        let field = self.fields.get(column).ok_or(ArrowError::NoCell { column, row: 0 })?;
        let mut selected = Column::empty(field.kind);
        for row in rows {
            selected.push(self.cell(column, *row)?)?;
        }
        Ok(selected)
    }

    /// The same where all rows lie in one batch, and the values can be had without a look at each.
    fn selected(&self, column: usize, rows: &[u64]) -> Option<Values> {
        let first = rows.first()?;
        let after = self.batches.partition_point(|batch| batch.first <= *first);
        let batch = self.batches.get(after.checked_sub(1)?)?;
        let rows = rows.iter().map(|row| {
            let row = row.checked_sub(batch.first).filter(|row| *row < batch.rows)?;
            usize::try_from(row).ok()
        });
        batch.columns.get(column)?.select(&self.bytes, *self.stored.get(column)?, rows)
    }

    /// How many rows of a column are null: those that a batch counts as null, or whose validity is not set.
    ///
    /// # Errors
    /// [`ArrowError::NoCell`] where there is no such column.
    pub fn nulls(&self, column: usize) -> Result<u64, ArrowError> {
        let mut nulls = 0u64;
        for batch in &self.batches {
            let place = batch.columns.get(column);
            let place = place.ok_or(ArrowError::NoCell { column, row: 0 })?;
            nulls = nulls.saturating_add(place.nulls(&self.bytes, batch.rows));
        }
        Ok(nulls)
    }

    /// All rows as a flat table.
    ///
    /// # Errors
    /// [`ArrowError::Text`].
    pub fn table(&self) -> Result<Table, ArrowError> {
        let mut columns = Vec::new();
        for (number, field) in self.fields.iter().enumerate() {
            let mut column = Column::empty(field.kind);
            for batch in &self.batches {
                match self.values(number, batch) {
                    Some(values) if column.is_empty() => column = values.into(),
                    Some(values) => column.extend(&values.into())?,
                    None => self.cells(number, batch, &mut column)?,
                }
            }
            columns.push((field.name.clone(), column));
        }
        Ok(Table::new(columns)?)
    }

    /// Appends the values of a column in a batch, one by one.
    fn cells(&self, number: usize, batch: &Batch, column: &mut Column) -> Result<(), ArrowError> {
        for row in batch.first..batch.first.saturating_add(batch.rows) {
            column.push(self.cell(number, row)?)?;
        }
        Ok(())
    }

    /// The values of a column in a batch where they can be had at once.
    fn values(&self, column: usize, batch: &Batch) -> Option<Values> {
        batch.columns.get(column)?.values(&self.bytes, *self.stored.get(column)?, batch.rows)
    }
}

/// Bytes of a block in the footer: offset i64, message i32, padding, body i64.
const BLOCK: usize = 24;

fn footer(bytes: &Buf) -> Result<Flat<'_>, ArrowError> {
    let found = match bytes.first_chunk::<6>() {
        _ if bytes.is_empty() => "no bytes",
        Some(&head) if head == MAGIC => match bytes.last_chunk::<6>() {
            Some(&tail) if tail == MAGIC => "",
            _ => "one that does not end in ARROW1",
        },
        _ if bytes.starts_with(&[0xff; 4]) => "an IPC stream",
        _ => "other bytes",
    };
    if !found.is_empty() {
        return Err(ArrowError::NotAFile { found });
    }
    let before = bytes.len().checked_sub(MAGIC.len() + 4);
    let len = before.and_then(|at| bytes.get(at..)?.first_chunk::<4>().copied());
    let end = before.filter(|at| *at >= MAGIC.len());
    let (Some(end), Some(len)) = (end, len.map(i32::from_le_bytes)) else {
        return Err(ArrowError::Missing("a footer"));
    };
    let start = usize::try_from(len).ok().and_then(|len| end.checked_sub(len));
    match start.filter(|start| *start >= MAGIC.len()).and_then(|start| bytes.get(start..end)) {
        Some(footer) => Ok(Flat::root(footer, "the footer")?),
        None => Err(ArrowError::FooterLength { found: len, len: bytes.len() }),
    }
}

fn version(found: i16) -> Result<(), ArrowError> {
    match found {
        3 | 4 => Ok(()),
        _ => Err(ArrowError::Version { found: found.saturating_add(1) }),
    }
}

fn fields(
    schema: &Flat<'_>,
    most: usize,
    wider: bool,
) -> Result<(Vec<ArrowField>, Vec<Stored>), ArrowError> {
    if schema.i16(0, "the byte order")? != 0 {
        return Err(ArrowError::Unsupported { what: "big-endian data" });
    }
    let listed = schema.elements(1, 4, "the columns")?;
    let (mut fields, mut all_stored, mut letters) = (Vec::new(), Vec::new(), 0usize);
    for number in 0..listed.len() {
        let field = listed.table(number, "a column")?;
        let name = field.text(0, "the name of a column")?;
        // A name that all columns share must not become a name each.
        letters = letters.saturating_add(name.len());
        let name = std::str::from_utf8(name).ok().filter(|_| letters <= most);
        let name = name.ok_or(ArrowError::Name { column: number })?.to_owned();
        if field.has(4, "a dictionary")? {
            return Err(ArrowError::Type { column: name, found: "a dictionary" });
        }
        let (union, detail) = (field.u8(2, "a type")?, field.table(3, "a type")?);
        let (stored, found) = stored(union, detail)?;
        let native = stored.filter(|stored| wider || matches!(stored, Stored::Plain(_)));
        let Some(stored) = native else { return Err(ArrowError::Type { column: name, found }) };
        let nullable = field.u8(1, "a column")? != 0;
        fields.push(ArrowField { name, kind: stored.kind(), nullable });
        all_stored.push(stored);
    }
    Ok((fields, all_stored))
}

/// How a column is stored by its type, if that is one of the kinds, and the name of the type.
fn stored(
    union: u8,
    detail: Option<Flat<'_>>,
) -> Result<(Option<Stored>, &'static str), ArrowError> {
    use ColumnKind::{Bool, Float64, Int64, UInt64, Utf8};
    let number = |slot, what| detail.map_or(Ok(0), |detail| detail.i32(slot, what));
    Ok(match union {
        2 => {
            let signed = detail.map_or(Ok(0), |d| d.u8(1, "a sign"))? != 0;
            let kind = if signed { Int64 } else { UInt64 };
            match number(0, "a width")? {
                64 => (Some(Stored::Plain(kind)), "a 64-bit integer"),
                32 => (Some(Stored::Half(kind)), "a 32-bit integer"),
                16 => (None, "a 16-bit integer"),
                8 => (None, "an 8-bit integer"),
                _ => (None, "an integer of another width"),
            }
        }
        3 => match detail.map_or(Ok(0), |d| d.i16(0, "a precision"))? {
            2 => (Some(Stored::Plain(Float64)), "a 64-bit float"),
            1 => (Some(Stored::Half(Float64)), "a 32-bit float"),
            _ => (None, "a 16-bit float"),
        },
        5 => (Some(Stored::Plain(Utf8)), "utf8"),
        6 => (Some(Stored::Plain(Bool)), "a bool"),
        20 => (Some(Stored::LargeUtf8), "large utf8"),
        other => (None, type_name(other)),
    })
}

fn type_name(union: u8) -> &'static str {
    const NAMES: [&str; 27] = [
        "no type",
        "null",
        "an integer",
        "a float",
        "binary",
        "utf8",
        "a bool",
        "a decimal",
        "a date",
        "a time",
        "a timestamp",
        "an interval",
        "a list",
        "a struct",
        "a union",
        "fixed-size binary",
        "a fixed-size list",
        "a map",
        "a duration",
        "large binary",
        "large utf8",
        "a large list",
        "run-end encoding",
        "a binary view",
        "a utf8 view",
        "a list view",
        "a large list view",
    ];
    NAMES.get(usize::from(union)).copied().unwrap_or("an unknown type")
}

/// Where a batch lies in the file.
struct Block {
    start: usize,
    body: usize,
    end: usize,
    number: usize,
}

impl Block {
    fn read(blocks: &Elements<'_>, number: usize, bytes: &[u8]) -> Result<Self, ArrowError> {
        let what = "a record batch";
        let start = usize::try_from(blocks.i64(number, 0, what)?);
        let message = usize::try_from(blocks.i32(number, 8, what)?);
        let body = usize::try_from(blocks.i64(number, 16, what)?);
        let place = (|| {
            let start = start.ok()?;
            let body_start = start.checked_add(message.ok()?)?;
            let end = body_start.checked_add(body.ok()?)?;
            (end <= bytes.len()).then_some(Self { start, body: body_start, end, number })
        })();
        place.ok_or_else(|| {
            let reason = format!("expected it inside the {} bytes of the file", bytes.len());
            ArrowError::Batch { number, reason }
        })
    }

    fn fail(&self, reason: impl Into<String>) -> ArrowError {
        ArrowError::Batch { number: self.number, reason: reason.into() }
    }

    fn batch(&self, bytes: &[u8], stored: &[Stored], first: u64) -> Result<Batch, ArrowError> {
        let envelope = bytes.get(self.start..self.body).unwrap_or_default();
        let word = |at: usize| {
            let word = envelope.get(at..).and_then(|rest| rest.first_chunk::<4>());
            word.map(|word| u32::from_le_bytes(*word))
        };
        // Files before 2019 lack the four bytes in front.
        let head = if word(0) == Some(u32::MAX) { 8 } else { 4 };
        let len = word(head - 4).and_then(|n| usize::try_from(n).ok());
        let message = len.and_then(|len| envelope.get(head..head.checked_add(len)?));
        let message = message.ok_or_else(|| self.fail("expected a message, found it cut"))?;
        let message = Flat::root(message, "a message")?;
        version(message.i16(0, "the version of a message")?)?;
        if message.u8(1, "the kind of a message")? != 3 {
            return Err(self.fail("expected a record batch, found another message"));
        }
        let body = i64::try_from(self.end - self.body).unwrap_or(i64::MAX);
        if message.i64(3, "the length of a body")? != body {
            return Err(self.fail(format!("expected a body of {body} bytes, found another length")));
        }
        let header = message.table(2, "a record batch")?;
        let header = header.ok_or_else(|| self.fail("expected a record batch, found none"))?;
        if header.has(3, "a compression")? {
            return Err(ArrowError::Unsupported { what: "compressed buffers" });
        }
        let rows = header.i64(0, "the rows of a batch")?;
        let rows = u64::try_from(rows).map_err(|_| self.fail(format!("found {rows} rows")))?;
        let mut buffers = Buffers {
            listed: header.elements(2, 16, "the buffers")?,
            next: 0,
            base: self.body,
            end: self.end,
        };
        let nodes = header.elements(1, 16, "the columns of a batch")?;
        let mut columns = Vec::new();
        for (number, one) in stored.iter().enumerate() {
            if number >= nodes.len() {
                let (expected, found) = (stored.len(), nodes.len());
                return Err(self.fail(format!("expected {expected} columns, found {found}")));
            }
            let (len, nulls) = nodes.pair(number, "a column of a batch")?;
            if u64::try_from(len) != Ok(rows) {
                return Err(self.fail(format!("expected {rows} rows in a column, found {len}")));
            }
            let nulls = u64::try_from(nulls).ok().filter(|nulls| *nulls <= rows);
            let nulls = nulls.ok_or_else(|| self.fail("found an impossible count of nulls"))?;
            let place = Place::read(&mut buffers, *one, rows, nulls);
            columns.push(place.map_err(|reason| self.fail(format!("column {number}: {reason}")))?);
        }
        if nodes.len() > stored.len() || buffers.next < buffers.listed.len() {
            return Err(self.fail("expected the columns of the schema, found more"));
        }
        Ok(Batch { first, rows, columns })
    }
}

/// The buffers of a batch, taken one after another.
pub(super) struct Buffers<'a> {
    listed: Elements<'a>,
    next: usize,
    base: usize,
    end: usize,
}

impl Buffers<'_> {
    /// Start and length of the next buffer in the file.
    pub(super) fn take(&mut self) -> Result<(usize, usize), String> {
        let (offset, len) =
            self.listed.pair(self.next, "a buffer").map_err(|error| error.to_string())?;
        self.next += 1;
        let span = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
        let start = span.and_then(|(offset, len)| {
            let start = self.base.checked_add(offset)?;
            (start.checked_add(len)? <= self.end).then_some((start, len))
        });
        start.ok_or_else(|| {
            let body = self.end - self.base;
            format!("expected a buffer inside the body of {body} bytes, found {len} at {offset}")
        })
    }
}
