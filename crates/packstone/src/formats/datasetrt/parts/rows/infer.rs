//! Which columns there are: those that the first sample asks for, under the names that the table leaves free.

use std::collections::BTreeMap;

use packstone_container::json::Object;

use super::super::super::layout::RESERVED;
use super::super::super::options::invalid;
use super::super::super::schema::{ColumnSpec, ValueKind};
use super::super::descriptor::{FieldPlace, column_kind};
use super::super::record::Spelling;
use super::cells::{kind_of, member_cell};
use super::{Columns, METADATA_COLUMN, Rows, Source, refused};
use crate::error::Result;
use crate::model::Batch;

impl Rows {
    /// The columns that the first row of a batch asks for.
    pub(super) fn infer(&mut self, batch: &Batch) -> Result<Columns> {
        let metadata = batch.metadata(0).map(AsRef::as_ref);
        let flat = metadata.is_some_and(|m| {
            m.iter().all(|(key, value)| key.as_str().is_some() && member_cell(value).is_ok())
        });
        let json = *self.json.get_or_insert(!flat);
        let mut sources: BTreeMap<String, (ValueKind, Source)> = BTreeMap::new();
        let mut add = |name: String, kind: ValueKind, source: Source| match sources
            .insert(name.clone(), (kind, source))
        {
            None => Ok(()),
            Some(_) => Err(invalid(format!("expected each column once, found {name:?} again"))),
        };
        if json {
            add(METADATA_COLUMN.to_owned(), ValueKind::String, Source::Json)?;
        } else {
            for (key, value) in metadata.into_iter().flat_map(Object::iter) {
                let name = key.as_str().ok_or_else(|| {
                    let message = "expected Unicode text as a name, found an unpaired surrogate";
                    refused(self.samples, "", message.to_owned())
                })?;
                let cell = member_cell(value).map_err(|found| {
                    let message = format!(
                        "expected bool, int, float or string, found {found} (option \
                         sample_metadata \"json\" takes any)"
                    );
                    refused(self.samples, name, message)
                })?;
                let kind = kind_of(cell).unwrap_or(ValueKind::String);
                add(self.free_name(name)?, kind, Source::Member(name.to_owned()))?;
            }
        }
        for (position, stored) in self.fields.iter().enumerate() {
            if let FieldPlace::Column(name) = &stored.place {
                let kind = column_kind(&stored.field).unwrap_or(ValueKind::String);
                add(self.free_name(name)?, kind, Source::Field(position))?;
            }
        }
        if sources.is_empty() {
            let message = "expected at least one metadata column, found none: the format has no \
                           samples without (option sample_metadata \"json\" gives them one)";
            return Err(refused(self.samples, "", message.to_owned()));
        }
        let (specs, sources) = sources
            .into_iter()
            .map(|(name, (kind, source))| (ColumnSpec::new(name, kind), source))
            .unzip();
        Ok(self.columns_of(specs, sources))
    }

    pub(super) fn columns_of(&self, specs: Vec<ColumnSpec>, sources: Vec<Source>) -> Columns {
        let spelling = Spelling::new(&specs, self.options.peer_exact_floats);
        let members = sources.iter().filter(|source| matches!(source, Source::Member(_))).count();
        Columns { specs, sources, spelling, members }
    }

    /// The name of a column, which is not one of the original's table.
    fn free_name(&self, name: &str) -> Result<String> {
        if RESERVED.contains(&name) && self.options.reserved_prefix.is_none() {
            let message = format!(
                "expected other column names than {}, which the original's table has itself \
                 (option reserved_prefix renames them)",
                RESERVED.join(", ")
            );
            return Err(refused(self.samples, name, message));
        }
        Ok(self.renamed(name))
    }

    pub(super) fn renamed(&self, name: &str) -> String {
        match &self.options.reserved_prefix {
            Some(prefix) if RESERVED.contains(&name) => format!("{prefix}{name}"),
            _ => name.to_owned(),
        }
    }

    pub(super) fn original(&self, name: &str) -> String {
        let original = RESERVED.iter().find(|reserved| self.renamed(reserved) == name);
        original.map_or(name, |reserved| *reserved).to_owned()
    }
}
