//! The values of one field on their way into files.
//!
//! ```text
//! dense    row, row, …                                    x.memmap
//! ragged   row, row, …  and  dims, dims, …                x.memmap, x.shape.memmap
//! values   {"_type":…,"data":[  value,value,…  ]}         x/meta.json
//! ```

use packstone_container::json::{self, ReadOptions, Value};
use packstone_io::{Kind, RelPath};

use super::super::codes;
use super::super::layout::{LEAF, META, SIZES};
use super::super::options::KeyNames;
use super::files::{name_of, stack_frame, stack_value};
use super::grow::{Growing, Growth};
use super::skeleton;
use crate::error::{Error, Place, Result};
use crate::model::{Column, DType, Field};

/// The files of one field of a collection.
pub struct Columns {
    field: Field,
    files: Files,
}

enum Files {
    Dense { data: Growing, width: usize },
    Ragged { data: Growing, sizes: Growing },
    Values { document: Growing, tail: &'static str, any: bool },
}

/// What a batch adds to a field, spelled and checked.
pub enum Piece<'a> {
    /// The column as it is.
    Plain(&'a Column),
    /// Spelled values, with commas between them.
    Spelled(String),
}

impl Columns {
    /// The files of `field` in a collection whose folder is `folder`.
    ///
    /// # Errors
    /// `path_escape` for a key that cannot be a name as it is.
    pub fn new(field: &Field, folder: &RelPath, names: KeyNames) -> Result<Self> {
        let wrong = |message: String| {
            let place = Place::default().field(field.key.to_string());
            Error::new(Kind::Denied, codes::PATH_ESCAPE, place, message)
        };
        let mut path = if folder.is_root() { ".".to_owned() } else { format!("./{folder}") };
        let mut parts = field.key.parts().iter().peekable();
        while let Some(part) = parts.next() {
            let collection = parts.peek().is_some() || field.is_variable();
            path.push('/');
            path.push_str(&name_of(part, collection, names).map_err(wrong)?);
        }
        let file = |suffix: &str| {
            let path = RelPath::new(&format!("{path}{suffix}"));
            path.map(Growing::new).map_err(|why| wrong(why.to_string()))
        };
        let files = if field.is_variable() {
            let document = file(&format!("/{META}"))?;
            let (_, tail) = stack_frame(&skeleton::stack(0));
            Files::Values { document, tail, any: false }
        } else if field.varying && !field.shape.is_empty() {
            Files::Ragged { data: file(LEAF)?, sizes: file(SIZES)? }
        } else {
            // A value of no dimensions has one shape, whatever its field says.
            let size = field.element_bytes().unwrap_or(1);
            let width = field.shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim));
            let width = width.and_then(|width| usize::try_from(width).ok());
            let width = width.ok_or_else(|| {
                let message = format!("expected values that fit memory, found {:?}", field.shape);
                let place = Place::default().field(field.key.to_string());
                Error::new(Kind::Invalid, codes::BAD_SHAPE, place, message)
            })?;
            Files::Dense { data: file(LEAF)?, width }
        };
        Ok(Self { field: field.clone(), files })
    }

    fn refuse<T>(&self, message: String) -> Result<T> {
        let place = Place::default().field(self.field.key.to_string());
        Err(Error::new(Kind::Invalid, codes::VALUE_NOT_STORABLE, place, message))
    }

    /// Checks the values of a batch and spells those that are spelled. Nothing is written.
    ///
    /// # Errors
    /// `value_not_storable` with field and row.
    pub fn accept<'a>(&self, field: &Field, column: &'a Column) -> Result<Piece<'a>> {
        let own = &self.field;
        let same = own.key == field.key
            && own.dtype == field.dtype
            && own.varying == field.varying
            && own.shape.len() == field.shape.len()
            && (own.varying || own.shape == field.shape);
        if !same {
            return self.refuse(format!(
                "expected {} {:?} at {}, found {} {:?} at {}",
                own.dtype, own.shape, own.key, field.dtype, field.shape, field.key
            ));
        }
        match &self.files {
            Files::Values { any, .. } => self.spell(column, *any).map(Piece::Spelled),
            Files::Dense { width, .. } if column.as_dense().is_none() => {
                let fits = |row: &usize| column.bytes(*row).is_some_and(|b| b.len() == *width);
                match (0..column.rows()).find(|row| !fits(row)) {
                    Some(row) => {
                        let found = column.bytes(row).map_or(0, <[u8]>::len);
                        self.refuse(format!("expected {width} bytes in row {row}, found {found}"))
                    }
                    None => Ok(Piece::Plain(column)),
                }
            }
            Files::Dense { width, .. } => {
                let found = column.as_dense().map_or(0, |bytes| bytes.as_ref().len());
                if width.checked_mul(column.rows()) != Some(found) {
                    let rows = column.rows();
                    return self.refuse(format!(
                        "expected {rows} rows of {width} bytes, found {found} bytes"
                    ));
                }
                Ok(Piece::Plain(column))
            }
            Files::Ragged { .. } => Ok(Piece::Plain(column)),
        }
    }

    fn spell(&self, column: &Column, any: bool) -> Result<String> {
        let mut out = String::new();
        for row in 0..column.rows() {
            let bytes = column.bytes(row).unwrap_or_default();
            let value = if self.field.dtype == DType::Str {
                match std::str::from_utf8(bytes) {
                    Ok(text) => Value::from(text),
                    Err(e) => {
                        return self
                            .refuse(format!("expected text in UTF-8 in row {row}, found {e}"));
                    }
                }
            } else {
                match json::read(bytes, &ReadOptions::default().with_nan(true)) {
                    Ok(document) => document.value,
                    Err(e) => return self.refuse(format!("expected JSON in row {row}, found {e}")),
                }
            };
            if any || row > 0 {
                out.push(',');
            }
            out.push_str(&stack_value(value));
        }
        Ok(out)
    }

    /// Appends what [`Columns::accept`] gave.
    ///
    /// # Errors
    /// `Io`.
    pub fn append(&mut self, growth: &mut Growth, piece: &Piece<'_>) -> Result<()> {
        match (&mut self.files, piece) {
            (Files::Dense { data, .. }, Piece::Plain(column)) => rows(growth, data, column),
            (Files::Ragged { data, sizes }, Piece::Plain(column)) => {
                rows(growth, data, column)?;
                let mut dims = Vec::new();
                for row in 0..column.rows() {
                    let shape = column.shape(row).unwrap_or_default();
                    shape.iter().for_each(|dim| dims.extend_from_slice(&dim.to_le_bytes()));
                }
                growth.append(sizes, &dims)
            }
            (Files::Values { document, any, .. }, Piece::Spelled(text)) => {
                begin(growth, document)?;
                *any |= !text.is_empty();
                growth.append(document, text.as_bytes())
            }
            _ => Ok(()),
        }
    }

    /// Completes the files of so many samples, and gives those that are to be there.
    ///
    /// # Errors
    /// `Io`.
    pub fn close(&mut self, growth: &mut Growth, rows: u64) -> Result<Vec<&Growing>> {
        match &mut self.files {
            Files::Dense { data, .. } => {
                growth.close(data)?;
                Ok(if data.is_empty() { Vec::new() } else { vec![data] })
            }
            // Without samples it is a leaf without elements, which has no file.
            Files::Ragged { .. } if rows == 0 => Ok(Vec::new()),
            Files::Ragged { data, sizes } => {
                // Also where all parts are empty.
                growth.make(data)?;
                growth.close(data)?;
                growth.close(sizes)?;
                Ok(vec![data, sizes])
            }
            Files::Values { document, tail, .. } => {
                begin(growth, document)?;
                growth.append(document, tail.as_bytes())?;
                growth.close(document)?;
                Ok(vec![document])
            }
        }
    }

    /// How many files it has at most.
    pub fn files(&self) -> usize {
        match &self.files {
            Files::Ragged { .. } => 2,
            _ => 1,
        }
    }
}

/// What stands before the first value.
fn begin(growth: &mut Growth, document: &mut Growing) -> Result<()> {
    if !document.is_empty() {
        return Ok(());
    }
    let (head, _) = stack_frame(&skeleton::stack(0));
    growth.append(document, head.as_bytes())
}

/// Appends the rows of a column.
fn rows(growth: &mut Growth, file: &mut Growing, column: &Column) -> Result<()> {
    if let Some(bytes) = column.as_dense() {
        return growth.append(file, bytes);
    }
    for row in 0..column.rows() {
        growth.append(file, column.bytes(row).unwrap_or_default())?;
    }
    Ok(())
}
