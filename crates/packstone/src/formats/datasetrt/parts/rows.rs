//! The metadata of samples on their way into a cache: checked, as columns, and spelled for the records.
//!
//! The first sample says which columns there are; all others must have the same names and kinds. What the original could
//! not store or would store as something else is refused, with the number of the sample.

use std::collections::BTreeMap;

use packstone_container::arrow_table::{Cell, Column};
use packstone_container::json::{self, NonFinite, Object, Style, Value};
use packstone_io::Kind;

use super::super::codes;
use super::super::layout::RESERVED;
use super::super::options::{SampleMetadata, WriterOptions, invalid};
use super::super::schema::{ColumnSpec, ValueKind};
use super::descriptor::{Descriptor, FieldPlace, StoredField, column_kind};
use super::record::Spelling;
use super::values;
use crate::error::{Error, Place, Result};
use crate::model::{Batch, DType, Field, Schema};

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

    /// The cells of a row, one a column.
    fn cells<'c>(
        &self,
        columns: &Columns,
        batch: &'c Batch,
        row: usize,
        metadata: Option<&'c Object>,
        text: Option<&'c str>,
        sample: u64,
    ) -> Result<Vec<Cell<'c>>> {
        let members = metadata.map_or(0, Object::len);
        if text.is_none() && members != columns.members {
            return Err(self.other_members(columns, metadata, sample));
        }
        let mut cells = Vec::with_capacity(columns.specs.len());
        for (spec, source) in columns.specs.iter().zip(&columns.sources) {
            let cell = match source {
                Source::Json => Cell::Utf8(text.unwrap_or_default()),
                Source::Field(position) => self.field_cell(batch, *position, row, sample)?,
                Source::Member(name) => {
                    let value = metadata.and_then(|metadata| metadata.get(name));
                    let value =
                        value.ok_or_else(|| self.other_members(columns, metadata, sample))?;
                    member_cell(value).map_err(|found| {
                        let message = format!("expected bool, int, float or string, found {found}");
                        refused(sample, name, message)
                    })?
                }
            };
            if cell.kind() != Some(spec.kind.column()) {
                let found = kind_of(cell).map_or("null", ValueKind::name);
                let message = format!(
                    "expected a value of kind {}, as in the samples before, found {found}",
                    spec.kind.name()
                );
                return Err(refused(sample, &spec.name, message));
            }
            if let Cell::Float64(x) = cell
                && !x.is_finite()
                && !self.options.non_finite
            {
                let message = format!(
                    "expected a finite float, found {x}: the original could not read the sample \
                     (option non_finite takes it)"
                );
                return Err(refused(sample, &spec.name, message));
            }
            cells.push(cell);
        }
        Ok(cells)
    }

    fn field_cell<'c>(
        &self,
        batch: &'c Batch,
        position: usize,
        row: usize,
        sample: u64,
    ) -> Result<Cell<'c>> {
        let stored = self.fields.get(position);
        let bytes = batch.columns().get(position).and_then(|column| column.bytes(row));
        let cell = stored.zip(bytes).and_then(|(s, bytes)| values::cell(&s.field.dtype, bytes));
        cell.ok_or_else(|| {
            let name = stored.map(|s| s.field.key.to_string()).unwrap_or_default();
            let message = "expected an integer of 64 bits with sign or a text, found another value";
            refused(sample, &name, message.to_owned())
        })
    }

    /// The error for a sample whose metadata have other members than the first one's.
    fn other_members(&self, columns: &Columns, metadata: Option<&Object>, sample: u64) -> Error {
        let expected = columns.sources.iter().filter_map(|source| match source {
            Source::Member(name) => Some(name.as_str()),
            _ => None,
        });
        let expected: Vec<&str> = expected.collect();
        let members: Vec<String> =
            metadata.into_iter().flat_map(Object::keys).map(|key| key.to_string()).collect();
        let missing = expected.iter().find(|name| !members.iter().any(|found| found == *name));
        let more = members.iter().find(|found| !expected.contains(&found.as_str()));
        let (name, message) = match (missing, more) {
            (Some(name), _) => (
                (*name).to_owned(),
                "expected this member, as in the metadata of the samples before, found none",
            ),
            (None, Some(name)) => (
                name.clone(),
                "expected no such member, as in the metadata of the samples before, found one",
            ),
            (None, None) => (String::new(), "expected text as names of members, found others"),
        };
        let message = format!("{message} (option sample_metadata \"json\" takes any)");
        refused(sample, &name, message)
    }

    /// The columns that the first row of a batch asks for.
    fn infer(&mut self, batch: &Batch) -> Result<Columns> {
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

    fn columns_of(&self, specs: Vec<ColumnSpec>, sources: Vec<Source>) -> Columns {
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

    fn renamed(&self, name: &str) -> String {
        match &self.options.reserved_prefix {
            Some(prefix) if RESERVED.contains(&name) => format!("{prefix}{name}"),
            _ => name.to_owned(),
        }
    }

    fn original(&self, name: &str) -> String {
        let original = RESERVED.iter().find(|reserved| self.renamed(reserved) == name);
        original.map_or(name, |reserved| *reserved).to_owned()
    }
}

/// Metadata as text, to the letter.
fn spell(metadata: &Object) -> String {
    let style = Style { non_finite: NonFinite::Token, ..Style::COMPACT };
    json::write(&Value::Object(metadata.clone()), &style)
}

/// A member of metadata as a cell, or what it is instead.
fn member_cell(value: &Value) -> Result<Cell<'_>, String> {
    match value {
        Value::Bool(value) => Ok(Cell::Bool(*value)),
        Value::String(text) => Ok(Cell::Utf8(text)),
        Value::Number(number) if number.is_integer() => {
            let integer = number.as_i64().map(Cell::Int64);
            integer.ok_or_else(|| format!("{number}, an integer beyond 64 bits"))
        }
        Value::Number(number) => {
            let x = number.to_f64();
            match x.is_finite() || !number.is_standard() {
                true => Ok(Cell::Float64(x)),
                false => Err(format!("{number}, beyond the range of doubles")),
            }
        }
        other => Err(other.kind().to_owned()),
    }
}

fn kind_of(cell: Cell<'_>) -> Option<ValueKind> {
    let kind = cell.kind()?;
    ValueKind::ALL.into_iter().find(|known| known.column() == kind)
}

/// The error for a sample that cannot be stored.
pub fn refused(sample: u64, field: &str, message: String) -> Error {
    let mut place = Place::default().record(sample);
    if !field.is_empty() {
        place = place.field(field);
    }
    Error::new(Kind::Invalid, codes::VALUE_INVALID, place, message)
}
