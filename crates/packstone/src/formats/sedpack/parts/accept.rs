//! Brings batches that somebody wants to write into the dataset's own dtypes, or refuses them before anything is stored.
//!
//! NumPy's safe rule decides what may be cast, for all shard types alike; shapes must be equal. Known differences from
//! the original: npz and tfrec cast too, fixed `bytes` take bytes or integers from 0 to 255 and nothing else, text must
//! be text.

use std::sync::Arc;

use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::schema::{ShardType, attribute_name};
use super::cast;
use crate::error::{Error, Place, Result};
use crate::model::{Batch, Column, DType, Field, Schema};

/// Turns batches of any fitting schema into batches of the dataset's schema.
#[derive(Debug)]
pub struct Acceptor {
    schema: Arc<Schema>,
    shard_type: ShardType,
    /// The schema of the last batch, and where each attribute stands in it.
    known: Option<(Arc<Schema>, Vec<usize>)>,
}

fn refuse(name: &str, message: impl Into<String>) -> Error {
    Error::new(Kind::Invalid, codes::VALUE_INVALID, Place::default().field(name), message)
}

impl Acceptor {
    /// For shards of this schema and type.
    pub fn new(schema: Arc<Schema>, shard_type: ShardType) -> Self {
        Self { schema, shard_type, known: None }
    }

    /// The batch in the dataset's dtypes; columns that have them already are shared.
    ///
    /// # Errors
    /// `value_invalid`, naming the attribute and, where it is one, the row.
    pub fn accept(&mut self, batch: &Batch) -> Result<Batch> {
        let positions = match &self.known {
            Some((schema, positions)) if Arc::ptr_eq(schema, batch.schema()) => positions.clone(),
            _ => {
                let positions = self.positions(batch.schema())?;
                self.known = Some((Arc::clone(batch.schema()), positions.clone()));
                positions
            }
        };
        let fields = self.schema.fields.iter().zip(positions);
        let columns = fields.map(|(field, at)| {
            let (Some(given), Some(column)) =
                (batch.schema().fields.get(at), batch.columns().get(at))
            else {
                return Err(refuse(attribute_name(field), "expected a column, found none"));
            };
            self.column(field, given, column)
        });
        let columns = columns.collect::<Result<_>>()?;
        let mut out = Batch::new(Arc::clone(&self.schema), batch.rows(), columns)?;
        out.copy_metadata(batch);
        Ok(out)
    }

    fn positions(&self, given: &Schema) -> Result<Vec<usize>> {
        for field in &given.fields {
            let name = field.key.to_string();
            if self.schema.position(&name).is_none() {
                let known: Vec<_> = self.schema.fields.iter().map(attribute_name).collect();
                return Err(refuse(
                    &name,
                    format!("expected the attributes {}, found another", known.join(", ")),
                ));
            }
        }
        let find = |field: &Field| {
            let name = attribute_name(field);
            let at =
                given.position(name).ok_or_else(|| refuse(name, "expected a value, found none"))?;
            let found = given.fields.get(at).map(|f| (&f.dtype, f.shape.as_slice()));
            if let Some((dtype, shape)) = found {
                check_pair(field, dtype, shape)?;
            }
            Ok(at)
        };
        self.schema.fields.iter().map(find).collect()
    }

    fn column(&self, field: &Field, given: &Field, column: &Column) -> Result<Column> {
        let name = attribute_name(field);
        let out = match field.dtype {
            DType::Str => {
                for row in 0..column.rows() {
                    let bytes = column.bytes(row).unwrap_or_default();
                    let place = || Place::default().record(row as u64).field(name);
                    let text = std::str::from_utf8(bytes)
                        .map_err(|e| super::fb::utf8_error(e, place()))?;
                    if self.shard_type == ShardType::Npz && text.ends_with('\0') {
                        let message = "expected text without a NUL at its end, which npz shards lose, found one";
                        return Err(refuse(name, message).with_place(place()));
                    }
                }
                return Ok(column.clone());
            }
            DType::Bytes if field.varies() => return Ok(column.clone()),
            DType::Bytes => return fixed_bytes(field, given, column),
            _ if given.dtype == field.dtype => None,
            _ => Some(convert(field, given, column)?),
        };
        let out = out.unwrap_or_else(|| column.clone());
        let width = field.value_bytes().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        match (0..out.rows()).find(|row| out.bytes(*row).is_none_or(|b| b.len() != width)) {
            Some(row) => {
                let found = out.bytes(row).map_or(0, <[u8]>::len);
                let message =
                    format!("expected a value of {} in {width} bytes, found {found}", field.dtype);
                Err(refuse(name, message)
                    .with_place(Place::default().record(row as u64).field(name)))
            }
            None => Ok(out),
        }
    }
}

/// Whether values of this dtype and shape can become values of `field`.
fn check_pair(field: &Field, dtype: &DType, shape: &[u64]) -> Result<()> {
    let name = attribute_name(field);
    let fits = match field.dtype {
        DType::Str => *dtype == DType::Str,
        DType::Bytes if field.varies() => {
            *dtype == DType::Bytes || (*dtype == DType::UInt8 && shape.len() == 1)
        }
        DType::Bytes => *dtype == DType::Bytes || is_integer(dtype),
        DType::Int => is_integer(dtype),
        ref wanted => cast::is_safe(dtype, wanted),
    };
    if !fits {
        let message = format!("expected values that cast safely to {}, found {dtype}", field.dtype);
        return Err(refuse(name, message));
    }
    let free = field.varies() || (field.dtype == DType::Bytes && shape.is_empty());
    if !free && shape != field.shape {
        return Err(refuse(name, format!("expected shape {:?}, found {shape:?}", field.shape)));
    }
    Ok(())
}

fn is_integer(dtype: &DType) -> bool {
    use DType::*;
    matches!(dtype, Int | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
}

fn all_bytes(column: &Column) -> Vec<u8> {
    (0..column.rows())
        .flat_map(|row| column.bytes(row).unwrap_or_default().iter().copied())
        .collect()
}

fn convert(field: &Field, given: &Field, column: &Column) -> Result<Column> {
    let name = attribute_name(field);
    let target = if field.dtype == DType::Int { DType::Int64 } else { field.dtype.clone() };
    let mut out = Vec::new();
    let exact = cast::convert(&given.dtype, &target, &all_bytes(column), &mut out);
    // A safe cast changes no value but large integers on their way to float64, where NumPy lets it; a Python integer is
    // range-checked instead.
    let kept = exact.ok_or_else(|| {
        refuse(name, format!("expected values of {}, found {}", field.dtype, given.dtype))
    })?;
    if field.dtype == DType::Int && !kept {
        return Err(refuse(
            name,
            "expected integers of at most 64 bits with their sign, found a larger one",
        ));
    }
    let width = out.len().checked_div(column.rows()).unwrap_or(0);
    Column::dense(Buf::from(out), width, column.rows())
        .ok_or_else(|| refuse(name, "expected whole rows"))
}

fn fixed_bytes(field: &Field, given: &Field, column: &Column) -> Result<Column> {
    let name = attribute_name(field);
    let column = if is_integer(&given.dtype) && given.dtype != DType::UInt8 {
        let mut out = Vec::new();
        if cast::convert(&given.dtype, &DType::UInt8, &all_bytes(column), &mut out) != Some(true) {
            return Err(refuse(name, "expected integers from 0 to 255, found another"));
        }
        let width = out.len().checked_div(column.rows()).unwrap_or(0);
        Column::dense(Buf::from(out), width, column.rows())
            .ok_or_else(|| refuse(name, "expected whole rows"))?
    } else {
        column.clone()
    };
    let width = field.value_bytes().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    match (0..column.rows())
        .find_map(|row| column.bytes(row).filter(|b| b.len() != width).map(|b| (row, b.len())))
    {
        Some((row, found)) => {
            let message = format!("expected {width} bytes, found {found}");
            Err(refuse(name, message).with_place(Place::default().record(row as u64).field(name)))
        }
        None => Ok(column),
    }
}
