//! What is said about the samples of a collection, as flat columns: one row a sample, values are not read.
//!
//! ```text
//! a table of the format's own      its columns, as they are
//! JSON objects of samples          a column a member: booleans, integers, doubles, texts; null where it is absent
//!   other members                  texts of JSON: lists, objects, and members whose values differ in kind
//! ```
//!
//! Names are those that conditions know. Numbers are exact: integers stand in a column of integers, or with doubles in one
//! of doubles where all of them are doubles too; what no column holds exactly is JSON.

mod builder;
mod member;

use std::sync::Arc;

use packstone_container::arrow_table::{Column, Table};
use packstone_io::Kind;

use self::builder::Builder;
use super::find::Find;
use crate::error::{Error, Place, Result};
use crate::exec::{Progress, keep_going};
use crate::format::Collection;

/// More rows are not listed by any honest dataset.
const MOST_ROWS: u64 = 1 << 30;
/// Rows between two looks at the caller.
const STEP: u64 = 1024;

/// Metadata as columns.
#[derive(Clone, Debug)]
pub struct MetadataTable {
    /// One row a sample; the table itself counts none where it has no columns.
    pub table: Table,
    /// Number of samples.
    pub rows: u64,
    /// For each column, whether its texts are JSON.
    pub json: Vec<bool>,
}

/// The metadata of all samples of a collection. Memory is that of the columns.
///
/// # Errors
/// Those of [`Find::matches`]; `ops/metadata_size` where the columns would be mostly empty and huge; `ops/cancelled`.
pub fn metadata_table(
    collection: &Arc<dyn Collection>,
    threads: usize,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<MetadataTable> {
    let rows = collection.len();
    if rows > MOST_ROWS {
        return Err(too_large(format!("at most {MOST_ROWS} samples, found {rows}")));
    }
    let table = collection.table()?;
    if let Some(table) = table.filter(|table| table.text.is_none()) {
        let wanted = |place: &usize| {
            table.identity.contains(place) || table.metadata.iter().any(|(_, own)| own == place)
        };
        let columns = table.table.columns().enumerate().filter(|(place, _)| wanted(place));
        let columns: Vec<(String, Arc<Column>)> =
            columns.map(|(_, (name, column))| (name.to_owned(), Arc::clone(column))).collect();
        let json = vec![false; columns.len()];
        return Ok(MetadataTable { table: made(columns)?, rows, json });
    }
    let mut builder = Builder::default();
    for found in Find::new(Arc::clone(collection)).threads(threads).matches()? {
        let found = found?;
        builder.push(&found.identity, &found.metadata)?;
        if builder.rows.is_multiple_of(STEP) {
            keep_going(progress)?;
            if builder.rows > rows {
                break;
            }
        }
    }
    builder.finish()
}

fn made(columns: Vec<(String, Arc<Column>)>) -> Result<Table> {
    Table::new(columns).map_err(|error| {
        Error::new(Kind::Corrupt, "model/column_mismatch", Place::default(), error.to_string())
    })
}

fn too_large(expected: String) -> Error {
    Error::new(Kind::Limit, "ops/metadata_size", Place::default(), format!("expected {expected}"))
}

#[cfg(test)]
mod tests;
