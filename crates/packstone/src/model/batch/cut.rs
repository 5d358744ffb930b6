//! Some rows of a batch as a batch of their own, without a copy of their values.

use std::ops::Range;
use std::sync::Arc;

use super::{Batch, mismatch};
use crate::error::Result;

impl Batch {
    /// The rows of `rows` as a batch of their own, without a copy of their values.
    ///
    /// # Errors
    /// `model/column_mismatch` where there are fewer.
    pub fn slice(&self, rows: Range<usize>) -> Result<Self> {
        let columns = self.columns.iter().map(|column| {
            let short =
                || mismatch(format!("expected at least {} rows, found {}", rows.end, self.rows));
            column.slice(rows.clone()).ok_or_else(short)
        });
        let mut slice =
            Self::new(Arc::clone(&self.schema), rows.len(), columns.collect::<Result<_>>()?)?;
        if !self.said.is_empty() {
            slice.said.extend(&self.said, rows.clone());
        }
        slice.identities = self.identities.get(rows).map(Arc::from).unwrap_or_default();
        Ok(slice)
    }

    /// The given rows in the given order as a batch of their own, without a copy of their values.
    ///
    /// # Errors
    /// `model/column_mismatch` where one is past the end.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        let columns = self.columns.iter().map(|column| {
            let short =
                || mismatch(format!("expected rows below {}, found one past them", self.rows));
            column.select(rows).ok_or_else(short)
        });
        let columns = columns.collect::<Result<_>>()?;
        let mut out = Self::new(Arc::clone(&self.schema), rows.len(), columns)?;
        out.said = self.said.select(rows);
        out.identities = rows.iter().filter_map(|row| self.identities.get(*row).cloned()).collect();
        Ok(out)
    }
}
