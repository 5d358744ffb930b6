//! The ids of a dataset's records in their order, which annotations are held against.

use packstone_io::Kind;

use super::super::super::reader::SdsDataset;
use super::super::carrier::{Annotation, check_source};
use crate::error::{Error, Result};

/// The ids of records in their order, read some at a time.
pub struct Ids<'d> {
    dataset: &'d SdsDataset,
    next: u64,
    ids: std::vec::IntoIter<Option<String>>,
}

impl<'d> Ids<'d> {
    /// The ids from record `first` on.
    pub fn from(dataset: &'d SdsDataset, first: u64) -> Self {
        Self { dataset, next: first, ids: Vec::new().into_iter() }
    }

    /// The id of the next record, which may have none; `None` behind the last one, too.
    ///
    /// # Errors
    /// Those of [`SdsDataset::rows`].
    pub fn next_id(&mut self) -> Result<Option<String>> {
        if let Some(id) = self.ids.next() {
            return Ok(id);
        }
        let end = self.next.saturating_add(1024).min(self.dataset.len());
        let rows = self.dataset.rows(self.next..end)?;
        self.next = end;
        self.ids = rows.into_iter().map(|row| row.id).collect::<Vec<_>>().into_iter();
        Ok(self.ids.next().flatten())
    }

    /// Checks the annotation of the next record.
    pub(super) fn check(&mut self, ordinal: u64, annotation: &Annotation) -> Result<()> {
        let id = self.next_id()?;
        check_source(annotation, ordinal, id.as_deref()).map_err(|error| {
            let place = error.place().clone().record(ordinal);
            Error::new(Kind::Invalid, error.code(), place, error.message())
        })
    }
}
