//! The metadata columns of a cache: their names and kinds, and how a table must look that holds them.

use packstone_container::arrow_table::{ArrowError, ArrowFile, ColumnKind};
use packstone_io::Kind;

use super::codes;
use crate::error::{Error, Place, Result};

/// What a metadata column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the format's")]
pub enum ValueKind {
    Bool,
    Int,
    Float,
    String,
}

impl ValueKind {
    /// All of them, in the order of the specification.
    pub const ALL: [Self; 4] = [Self::Bool, Self::Int, Self::Float, Self::String];

    /// The name in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::String => "string",
        }
    }

    /// By name, case-sensitive.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// How `metadata.arrow` stores it.
    pub fn column(self) -> ColumnKind {
        match self {
            Self::Bool => ColumnKind::Bool,
            Self::Int => ColumnKind::Int64,
            Self::Float => ColumnKind::Float64,
            Self::String => ColumnKind::Utf8,
        }
    }
}

/// A metadata column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name, taken as it is: empty, with control characters, not normalized.
    pub name: String,
    /// What it holds.
    pub kind: ValueKind,
}

impl ColumnSpec {
    /// A column.
    pub fn new(name: impl Into<String>, kind: ValueKind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// The columns of a cache, for messages: `flag bool, label string`.
pub fn describe(columns: &[ColumnSpec]) -> String {
    let each = columns.iter().map(|column| format!("{:?} {}", column.name, column.kind.name()));
    let mut text: Vec<String> = each.take(8).collect();
    if columns.len() > text.len() {
        text.push(format!("{} more", columns.len() - text.len()));
    }
    if text.is_empty() { "no columns".to_owned() } else { text.join(", ") }
}

/// The error for what [`ArrowFile`] says about `metadata.arrow`.
pub fn arrow_error(error: &ArrowError, place: Place) -> Error {
    let code = match error.kind() {
        Kind::Unsupported => codes::ARROW_UNSUPPORTED,
        _ => codes::ARROW_INVALID,
    };
    // A type that no metadata column has is a column that differs.
    let code = match error {
        ArrowError::Type { .. } => codes::ARROW_COLUMNS_DIFFER,
        _ => code,
    };
    Error::new(error.kind(), code, place, error.to_string())
}

/// Checks that a table has these columns in this order, so many rows, and no nulls.
///
/// # Errors
/// `arrow_columns_differ`, `arrow_row_count`, `arrow_null`, `arrow_invalid`.
pub fn check_table(
    table: &ArrowFile,
    columns: &[ColumnSpec],
    rows: u64,
    place: &Place,
) -> Result<()> {
    let differ = |place: Place, message: String| {
        Err(Error::new(Kind::Corrupt, codes::ARROW_COLUMNS_DIFFER, place, message))
    };
    for (found, expected) in table.fields().iter().zip(columns) {
        let place = place.clone().field(&expected.name);
        if found.name != expected.name {
            let message = format!("expected column {:?}, found {:?}", expected.name, found.name);
            return differ(place, message);
        }
        if found.kind != expected.kind.column() {
            let (expected, found) = (expected.kind.column(), found.kind);
            return differ(place, format!("expected values of type {expected}, found {found}"));
        }
    }
    let (expected, found) = (columns.len(), table.fields().len());
    if expected != found {
        return differ(place.clone(), format!("expected {expected} columns, found {found}"));
    }
    // Without columns, batches alone know how many rows there are.
    if table.rows() != rows {
        let message = format!("expected {rows} rows, as the manifest says, found {}", table.rows());
        return Err(Error::new(Kind::Corrupt, codes::ARROW_ROW_COUNT, place.clone(), message));
    }
    for (number, column) in columns.iter().enumerate() {
        let nulls = table.nulls(number).map_err(|error| arrow_error(&error, place.clone()))?;
        if nulls > 0 {
            let place = place.clone().field(&column.name);
            let message = format!("expected no nulls, found {nulls}");
            return Err(Error::new(Kind::Corrupt, codes::ARROW_NULL, place, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kinds_go_both_ways() {
        assert_eq!(ValueKind::ALL.map(ValueKind::name), ["bool", "int", "float", "string"]);
        for kind in ValueKind::ALL {
            assert_eq!(ValueKind::from_name(kind.name()), Some(kind));
        }
        for unknown in ["boolean", "Int", "utf8", ""] {
            assert_eq!(ValueKind::from_name(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn long_lists_are_cut_in_messages() {
        let columns: Vec<_> =
            (0..20).map(|n| ColumnSpec::new(format!("c{n}"), ValueKind::Int)).collect();
        assert!(describe(&columns).ends_with("\"c7\" int, 12 more"));
        assert_eq!(describe(&[]), "no columns");
    }
}
