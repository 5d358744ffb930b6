//! Where the values of a column lie in a file.

use super::column::{Cell, ColumnKind};
use super::read::Buffers;

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
        kind: ColumnKind,
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
        let (values, texts) = match kind {
            ColumnKind::Bool => (enough("bits", found, Some(bits))?, (0, 0)),
            ColumnKind::Int64 | ColumnKind::UInt64 | ColumnKind::Float64 => {
                (enough("numbers", found, rows.checked_mul(8))?, (0, 0))
            }
            ColumnKind::Utf8 => {
                // No rows need no ends.
                let need = if rows == 0 { Some(0) } else { rows.checked_add(1) };
                let need = need.and_then(|n| n.checked_mul(4));
                (enough("ends of texts", found, need)?, buffers.take()?)
            }
        };
        Ok(Self { validity, nulls, values, texts })
    }

    /// The value in a row of the batch; `None` where a text is not one, or lies outside of its buffer.
    pub(super) fn cell<'b>(&self, bytes: &'b [u8], kind: ColumnKind, row: u64) -> Option<Cell<'b>> {
        let row = usize::try_from(row).ok()?;
        if let Some(validity) = self.validity.filter(|_| self.nulls > 0)
            && !bit(bytes, validity, row)?
        {
            return Some(Cell::Null);
        }
        let number = || {
            let at = row.checked_mul(8)?.checked_add(self.values)?;
            bytes.get(at..)?.first_chunk::<8>().copied()
        };
        Some(match kind {
            ColumnKind::Bool => Cell::Bool(bit(bytes, self.values, row)?),
            ColumnKind::Int64 => Cell::Int64(i64::from_le_bytes(number()?)),
            ColumnKind::UInt64 => Cell::UInt64(u64::from_le_bytes(number()?)),
            ColumnKind::Float64 => Cell::Float64(f64::from_le_bytes(number()?)),
            ColumnKind::Utf8 => Cell::Utf8(self.text(bytes, row)?),
        })
    }

    fn text<'b>(&self, bytes: &'b [u8], row: usize) -> Option<&'b str> {
        let end = |row: usize| {
            let at = row.checked_mul(4)?.checked_add(self.values)?;
            let end = i32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?);
            usize::try_from(end).ok()
        };
        let (start, end) = (end(row)?, end(row.checked_add(1)?)?);
        let (base, len) = self.texts;
        if start > end || end > len {
            return None;
        }
        std::str::from_utf8(bytes.get(base.checked_add(start)?..base.checked_add(end)?)?).ok()
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
