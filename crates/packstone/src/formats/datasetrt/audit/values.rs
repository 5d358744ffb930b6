//! The check of every value of a table.

use packstone_container::arrow_table::{ArrowFile, Cell};

use super::super::codes;
use super::super::layout::METADATA;
use super::super::parts::check::{Found, Whole};
use super::super::schema::{ValueKind, arrow_error};
use crate::model::{Finding, Severity};

/// Looks at every value of a table: texts that are none, and floats that the original cannot read back.
pub(super) fn check_values(whole: &Whole, table: &ArrowFile) -> Vec<Finding> {
    let (place, mut found) = (whole.site.place(METADATA), Found::default());
    let mut notes = Vec::new();
    for (number, column) in whole.manifest.contents().columns.iter().enumerate() {
        if !matches!(column.kind, ValueKind::Float | ValueKind::String) {
            continue;
        }
        let (mut count, mut first) = (0u64, 0);
        for row in 0..table.rows() {
            match table.cell(number, row) {
                Ok(Cell::Float64(x)) if !x.is_finite() => {
                    first = if count == 0 { row } else { first };
                    count += 1;
                }
                Ok(_) => {}
                Err(error) => found.error(arrow_error(&error, place.clone().record(row))),
            }
        }
        if count > 0 {
            let message = format!(
                "expected finite floats, found {count} others: the original cannot read these samples"
            );
            let place = place.clone().record(first).field(&column.name);
            notes.push(Finding::new(Severity::Warning, codes::NON_FINITE, place, message));
        }
    }
    notes.extend(found.finish());
    notes
}
