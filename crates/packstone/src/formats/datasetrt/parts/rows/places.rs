//! Where the fields of samples go: to columns, to tensors of the record, or as its whole payload.

use super::super::super::options::{WriterOptions, invalid};
use super::super::descriptor::{FieldPlace, StoredField, column_kind};
use crate::error::Result;
use crate::model::{DType, Field, Schema};

/// Where the fields of samples go under these options.
///
/// # Errors
/// `option_invalid` where a field that shall be a column is not there or cannot be one.
pub fn places(schema: &Schema, options: &WriterOptions) -> Result<Vec<StoredField>> {
    for name in &options.columns {
        let position = schema.position(name);
        let field = position.and_then(|at| schema.fields.get(at)).ok_or_else(|| {
            let known: Vec<_> = schema.fields.iter().map(|f| f.key.to_string()).collect();
            let known = known.join(", ");
            invalid(format!("expected metadata to name fields of {known}, found {name:?}"))
        })?;
        if column_kind(field).is_none() {
            return Err(invalid(format!(
                "expected a scalar of numbers, booleans or text as metadata column {name:?}, found {} of shape {:?}",
                field.dtype, field.shape
            )));
        }
    }
    let is_column = |field: &Field| options.columns.contains(&field.key.to_string());
    let mut rest = schema.fields.iter().filter(|field| !is_column(field));
    let whole = match (rest.next(), rest.next()) {
        (Some(only), None) => only.dtype == DType::Bytes && only.is_variable(),
        _ => false,
    };
    let mut taken = std::collections::HashSet::new();
    let mut free = |wish: String| {
        let mut name = wish;
        while name == "__metadata__" || !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    let place = |field: &Field| match (is_column(field), whole) {
        (true, _) => FieldPlace::Column(field.key.to_string()),
        (false, true) => FieldPlace::Payload,
        (false, false) => FieldPlace::Tensor(free(field.key.to_string())),
    };
    let places: Vec<FieldPlace> = schema.fields.iter().map(place).collect();
    let fields = schema.fields.iter().zip(places);
    Ok(fields.map(|(field, place)| StoredField { field: field.clone(), place }).collect())
}
