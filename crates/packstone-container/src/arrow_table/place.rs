//! Where the values of a column lie in a file.

use std::ops::Range;

use super::bitmap::Bitmap;
use super::column::{Cell, ColumnKind, Values};
use super::read::Buffers;
use super::texts::Texts;

/// How the values of a column are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// As the kind has it, texts with ends of 32 bits.
    Plain(ColumnKind),
    /// Numbers of half the width.
    Half(ColumnKind),
    /// Texts with ends of 64 bits.
    LargeUtf8,
}

impl Stored {
    /// What the values are.
    pub(super) fn kind(self) -> ColumnKind {
        match self {
            Self::Plain(kind) | Self::Half(kind) => kind,
            Self::LargeUtf8 => ColumnKind::Utf8,
        }
    }

    /// Bytes of a number, or of the end of a text.
    fn width(self) -> u64 {
        match self {
            Self::Half(_) | Self::Plain(ColumnKind::Utf8) => 4,
            _ => 8,
        }
    }
}

/// A record batch.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// Its first row among those of the file.
    pub(super) first: u64,
    pub(super) rows: u64,
    /// One place a column.
    pub(super) columns: Vec<Place>,
}

/// One column of one batch.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Bits of validity, if they are stored.
    validity: Option<usize>,
    /// Nulls as the batch counts them.
    nulls: u64,
    /// Values, or the ends of texts, of which there is one more than rows.
    values: usize,
    /// Start and length of the texts.
    texts: (usize, usize),
}

impl Place {
    /// Takes the buffers of a column; they hold all that `rows` rows need.
    pub(super) fn read(
        buffers: &mut Buffers<'_>,
        stored: Stored,
        rows: u64,
        nulls: u64,
    ) -> Result<Self, String> {
        let bits = rows.div_ceil(8);
        let enough = |what: &str, (start, len): (usize, usize), need: Option<u64>| {
            if need.is_some_and(|need| len as u64 >= need) {
                return Ok(start);
            }
            Err(format!("expected {what} for {rows} rows, found {len} bytes"))
        };
        let validity = match buffers.take()? {
            (_, 0) if nulls == 0 => None,
            found => Some(enough("validity", found, Some(bits))?),
        };
        let found = buffers.take()?;
        let (values, texts) = match stored.kind() {
            ColumnKind::Bool => (enough("bits", found, Some(bits))?, (0, 0)),
            ColumnKind::Int64 | ColumnKind::UInt64 | ColumnKind::Float64 => {
                (enough("numbers", found, rows.checked_mul(stored.width()))?, (0, 0))
            }
            ColumnKind::Utf8 => {
                // No rows need no ends.
                let need = if rows == 0 { Some(0) } else { rows.checked_add(1) };
                let need = need.and_then(|n| n.checked_mul(stored.width()));
                (enough("ends of texts", found, need)?, buffers.take()?)
            }
        };
        Ok(Self { validity, nulls, values, texts })
    }

    /// The value in a row of the batch; `None` where a text is not one, or lies outside of its buffer.
    pub(super) fn cell<'b>(&self, bytes: &'b [u8], stored: Stored, row: u64) -> Option<Cell<'b>> {
        let row = usize::try_from(row).ok()?;
        if let Some(validity) = self.validity.filter(|_| self.nulls > 0)
            && !bit(bytes, validity, row)?
        {
            return Some(Cell::Null);
        }
        Some(match stored {
            Stored::Plain(ColumnKind::Bool) => Cell::Bool(bit(bytes, self.values, row)?),
            Stored::Plain(ColumnKind::Int64) => {
                Cell::Int64(i64::from_le_bytes(self.number(bytes, row)?))
            }
            Stored::Plain(ColumnKind::UInt64) => {
                Cell::UInt64(u64::from_le_bytes(self.number(bytes, row)?))
            }
            Stored::Plain(ColumnKind::Float64) => {
                Cell::Float64(f64::from_le_bytes(self.number(bytes, row)?))
            }
            Stored::Half(ColumnKind::Int64) => {
                Cell::Int64(i32::from_le_bytes(self.number(bytes, row)?).into())
            }
            Stored::Half(ColumnKind::UInt64) => {
                Cell::UInt64(u32::from_le_bytes(self.number(bytes, row)?).into())
            }
            Stored::Half(_) => Cell::Float64(f32::from_le_bytes(self.number(bytes, row)?).into()),
            Stored::Plain(ColumnKind::Utf8) => {
                let end = |row| usize::try_from(i32::from_le_bytes(self.number(bytes, row)?)).ok();
                Cell::Utf8(self.text(bytes, end(row)?, end(row.checked_add(1)?)?)?)
            }
            Stored::LargeUtf8 => {
                let end = |row| usize::try_from(i64::from_le_bytes(self.number(bytes, row)?)).ok();
                Cell::Utf8(self.text(bytes, end(row)?, end(row.checked_add(1)?)?)?)
            }
        })
    }

    /// All values of the batch at once, where there are no nulls and they lie as a table has them; `None` where they do
    /// not, or where one of them is wrong, which [`cell`](Self::cell) tells.
    pub(super) fn values(&self, bytes: &[u8], stored: Stored, rows: u64) -> Option<Values> {
        let Stored::Plain(kind) = stored else { return None };
        let rows = usize::try_from(rows).ok().filter(|_| self.nulls == 0)?;
        Some(match kind {
            ColumnKind::Bool => {
                Values::Bool(Bitmap::from_lsb_bytes(bytes.get(self.values..)?, rows)?)
            }
            ColumnKind::Int64 => {
                let numbers = self.numbers(bytes, rows)?.iter();
                Values::Int64(numbers.map(|number| i64::from_le_bytes(*number)).collect())
            }
            ColumnKind::UInt64 => {
                let numbers = self.numbers(bytes, rows)?.iter();
                Values::UInt64(numbers.map(|number| u64::from_le_bytes(*number)).collect())
            }
            ColumnKind::Float64 => {
                let numbers = self.numbers(bytes, rows)?.iter();
                Values::Float64(numbers.map(|number| f64::from_le_bytes(*number)).collect())
            }
            ColumnKind::Utf8 => {
                let ends = self.numbers(bytes, rows.checked_add(1).filter(|_| rows > 0)?)?;
                let end = |end: &[u8; 4]| u64::try_from(i32::from_le_bytes(*end)).ok();
                let (first, ends) = ends.split_first()?;
                let (first, last) = (end(first)?, end(ends.last()?)?);
                let (start, len) = self.texts;
                let inside = first..last.min(len as u64);
                let at = |end: u64| start.checked_add(usize::try_from(end).ok()?);
                let text = bytes.get(at(inside.start)?..at(inside.end)?)?.to_vec();
                let ends = ends.iter().map(|one| end(one)?.checked_sub(first));
                let texts = Texts::new(ends.collect::<Option<_>>()?, text).ok()?;
                Values::Utf8(texts)
            }
        })
    }

    /// The values in these rows of the batch, in this order, where [`values`](Self::values) could have all of them; `None`
    /// where it could not, or where one of these is wrong or not there, which [`cell`](Self::cell) tells.
    pub(super) fn select(
        &self,
        bytes: &[u8],
        stored: Stored,
        rows: impl ExactSizeIterator<Item = Option<usize>>,
    ) -> Option<Values> {
        fn each<T>(
            rows: impl ExactSizeIterator<Item = Option<usize>>,
            value: impl Fn(usize) -> Option<T>,
        ) -> Option<Vec<T>> {
            let mut values = Vec::with_capacity(rows.len());
            for row in rows {
                values.push(value(row?)?);
            }
            Some(values)
        }
        let Stored::Plain(kind) = stored else { return None };
        if self.nulls > 0 {
            return None;
        }
        Some(match kind {
            ColumnKind::Bool => {
                let bits = rows.map(|row| bit(bytes, self.values, row?));
                Values::Bool(bits.collect::<Option<_>>()?)
            }
            ColumnKind::Int64 => {
                Values::Int64(each(rows, |row| self.number(bytes, row).map(i64::from_le_bytes))?)
            }
            ColumnKind::UInt64 => {
                Values::UInt64(each(rows, |row| self.number(bytes, row).map(u64::from_le_bytes))?)
            }
            ColumnKind::Float64 => {
                Values::Float64(each(rows, |row| self.number(bytes, row).map(f64::from_le_bytes))?)
            }
            ColumnKind::Utf8 => {
                let (mut ends, mut text) = (Vec::with_capacity(rows.len()), Vec::new());
                let end = |row| usize::try_from(i32::from_le_bytes(self.number(bytes, row)?)).ok();
                for row in rows {
                    let row = row?;
                    let span = self.span(end(row)?, end(row.checked_add(1)?)?)?;
                    text.extend_from_slice(bytes.get(span)?);
                    ends.push(text.len() as u64);
                }
                // All at once: what is whole together and is cut between characters is whole in each part.
                Values::Utf8(Texts::new(ends, text).ok()?)
            }
        })
    }

    /// The bytes of the first `count` numbers, or ends of texts.
    fn numbers<'b, const N: usize>(&self, bytes: &'b [u8], count: usize) -> Option<&'b [[u8; N]]> {
        bytes.get(self.values..)?.as_chunks::<N>().0.get(..count)
    }

    /// The bytes of the number in a row, or of the end of a text.
    fn number<const N: usize>(&self, bytes: &[u8], row: usize) -> Option<[u8; N]> {
        let at = row.checked_mul(N)?.checked_add(self.values)?;
        bytes.get(at..)?.first_chunk::<N>().copied()
    }

    fn text<'b>(&self, bytes: &'b [u8], start: usize, end: usize) -> Option<&'b str> {
        std::str::from_utf8(bytes.get(self.span(start, end)?)?).ok()
    }

    /// Where a text lies in the file.
    fn span(&self, start: usize, end: usize) -> Option<Range<usize>> {
        let (base, len) = self.texts;
        if start > end || end > len {
            return None;
        }
        Some(base.checked_add(start)?..base.checked_add(end)?)
    }

    /// Nulls as counted, or as the bits of validity have them where these say more.
    pub(super) fn nulls(&self, bytes: &[u8], rows: u64) -> u64 {
        let Some(validity) = self.validity else { return self.nulls };
        let (whole, rest) = (rows / 8, u32::try_from(rows % 8).unwrap_or(0));
        let whole = usize::try_from(whole).unwrap_or(usize::MAX);
        let bits = bytes.get(validity..validity.saturating_add(whole)).unwrap_or_default();
        let unset: u64 = bits.iter().map(|byte| u64::from(byte.count_zeros())).sum();
        let last = bytes.get(validity.saturating_add(whole)).copied().unwrap_or(0xff);
        let mask = u8::try_from((1u32 << rest) - 1).unwrap_or(0);
        (unset + u64::from((!last & mask).count_ones())).max(self.nulls)
    }
}

fn bit(bytes: &[u8], start: usize, row: usize) -> Option<bool> {
    let byte = bytes.get(start.checked_add(row / 8)?)?;
    Some(byte >> (row % 8) & 1 == 1)
}
