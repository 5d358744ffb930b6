//! The metadata of samples on their way into a cache: checked, as columns, and spelled for the records.
//!
//! The first sample says which columns there are; all others must have the same names and kinds. What the original could
//! not store or would store as something else is refused, with the number of the sample.

mod cells;
mod infer;
mod places;

use packstone_container::arrow_table::Column;
use packstone_container::json::{self, NonFinite, Object, Style, Value};
use packstone_io::Kind;

use super::super::codes;
use super::super::options::{SampleMetadata, WriterOptions};
use super::super::schema::ColumnSpec;
use super::descriptor::{Descriptor, FieldPlace, StoredField};
use super::record::Spelling;
use crate::error::{Error, Place, Result};
use crate::model::{Batch, Schema};

pub use places::places;

/// The column of metadata that are JSON text.
pub const METADATA_COLUMN: &str = "packstone_metadata";

/// Where the values of a column come from.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    /// The member of this name in the metadata.
    Member(String),
    /// The field at this position.
    Field(usize),
    /// All metadata as text.
    Json,
}

/// Which columns there are.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The columns, sorted by the bytes of their names.
    pub specs: Vec<ColumnSpec>,
    sources: Vec<Source>,
    /// How they are spelled in records.
    pub spelling: Spelling,
    members: usize,
}

/// The metadata of a cache in the making.
pub struct Rows {
    options: WriterOptions,
    fields: Vec<StoredField>,
    /// Whether metadata of samples are JSON text, once that is known.
    json: Option<bool>,
    columns: Option<Columns>,
    values: Vec<Column>,
    samples: u64,
}

/// The metadata of some samples as their records have it.
#[derive(Clone, Debug, Default)]
pub struct Spelled {
    /// One object after another.
    pub text: String,
    /// Where each ends.
    pub ends: Vec<usize>,
}

impl Rows {
    /// For samples of this schema.
    ///
    /// # Errors
    /// `option_invalid`.
    pub fn new(schema: &Schema, options: &WriterOptions) -> Result<Self> {
        let fields = places(schema, options)?;
        let json = options.metadata.map(|how| how == SampleMetadata::Json);
        let (options, columns, values) = (options.clone(), None, Vec::new());
        Ok(Self { options, fields, json, columns, values, samples: 0 })
    }

    /// Goes on with the columns of a cache that was begun; `json` where metadata are text.
    ///
    /// # Errors
    /// `option_invalid` where these options give other columns.
    pub fn restore(
        &mut self,
        specs: Vec<ColumnSpec>,
        values: Vec<Column>,
        json: bool,
    ) -> Result<()> {
        let mut sources = Vec::new();
        for spec in &specs {
            let of_field = self.fields.iter().position(
                |s| matches!(&s.place, FieldPlace::Column(c) if self.renamed(c) == spec.name),
            );
            sources.push(match of_field {
                Some(position) => Source::Field(position),
                None if json && spec.name == METADATA_COLUMN => Source::Json,
                None => Source::Member(self.original(&spec.name)),
            });
        }
        self.json = Some(json);
        self.samples = values.first().map_or(0, Column::len) as u64;
        self.columns = Some(self.columns_of(specs, sources));
        self.values = values;
        Ok(())
    }

    /// Number of samples taken.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The columns, once a sample was taken.
    pub fn columns(&self) -> Option<&Columns> {
        self.columns.as_ref()
    }

    /// Whether metadata of samples are JSON text.
    pub fn is_json(&self) -> bool {
        self.json == Some(true)
    }

    /// The values taken so far, one column each.
    pub fn values(&self) -> &[Column] {
        &self.values
    }

    /// Hands the values over.
    pub fn take_values(&mut self) -> Vec<Column> {
        std::mem::take(&mut self.values)
    }

    /// What the manifest says the samples are; `carried` is kept for whoever gave it.
    pub fn descriptor(&self, carried: Option<Object>) -> Descriptor {
        let mut fields = self.fields.clone();
        for stored in &mut fields {
            if let FieldPlace::Column(name) = &mut stored.place {
                *name = self.renamed(name);
            }
        }
        let metadata_column = self.is_json().then(|| METADATA_COLUMN.to_owned());
        Descriptor { fields, metadata_column, carried }
    }

    /// Where the fields of samples go.
    pub fn fields(&self) -> &[StoredField] {
        &self.fields
    }

    /// Takes the metadata of all rows of a batch, or of none.
    ///
    /// # Errors
    /// `value_invalid`, naming the sample and the column; `option_invalid`.
    pub fn accept(&mut self, batch: &Batch) -> Result<Spelled> {
        let before = (self.json, self.columns.clone());
        self.take(batch).inspect_err(|_| (self.json, self.columns) = before)
    }

    fn take(&mut self, batch: &Batch) -> Result<Spelled> {
        if batch.rows() == 0 {
            return Ok(Spelled::default());
        }
        if self.columns.is_none() {
            self.columns = Some(self.infer(batch)?);
        }
        let Some(columns) = &self.columns else { return Ok(Spelled::default()) };
        let mut fresh: Vec<Column> =
            columns.specs.iter().map(|spec| Column::empty(spec.kind.column())).collect();
        let mut spelled = Spelled::default();
        for row in 0..batch.rows() {
            let sample = self.samples + row as u64;
            let metadata = batch.metadata(row).map(AsRef::as_ref);
            let text = self.is_json().then(|| metadata.map_or_else(|| "{}".to_owned(), spell));
            let cells = self.cells(columns, batch, row, metadata, text.as_deref(), sample)?;
            columns.spelling.spell(cells.iter().copied(), &mut spelled.text);
            spelled.ends.push(spelled.text.len());
            for (column, cell) in fresh.iter_mut().zip(cells) {
                column.push(cell).map_err(|error| refused(sample, "", error.to_string()))?;
            }
        }
        if self.values.is_empty() {
            self.values = fresh;
        } else {
            for (to, from) in self.values.iter_mut().zip(&fresh) {
                to.extend(from).map_err(|error| refused(self.samples, "", error.to_string()))?;
            }
        }
        self.samples += batch.rows() as u64;
        Ok(spelled)
    }
}

/// Metadata as text, to the letter.
fn spell(metadata: &Object) -> String {
    let style = Style { non_finite: NonFinite::Token, ..Style::COMPACT };
    json::write(&Value::Object(metadata.clone()), &style)
}

/// The error for a sample that cannot be stored.
pub fn refused(sample: u64, field: &str, message: String) -> Error {
    let mut place = Place::default().record(sample);
    if !field.is_empty() {
        place = place.field(field);
    }
    Error::new(Kind::Invalid, codes::VALUE_INVALID, place, message)
}
