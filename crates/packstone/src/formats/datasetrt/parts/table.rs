//! The active table: which samples there are, how likely each is, and what is known about them.
//!
//! ```text
//! cache_id  sample_id | stored columns … | weight | columns of the user …
//! ─ u64 ────  u64 ─── | as in the cache  | f64    | any kind, nulls allowed
//! ```
//!
//! A table starts as all samples of all caches, in their order; then it has no weights, and identities are computed.
//! Once it is replaced, be it by itself, rows may be any of the samples, also several times, and weights count: rows are
//! drawn by another method then (see [`draws`](super::draws)). Columns are shared between tables.
//!
//! Rules are those of the original's `update_metadata`. Differences: a sum of weights beyond the doubles is refused at
//! once, where the original panics later, and stored columns named like one of the table's own appear as
//! `metadata.cache_id` and so on, where the original has no table at all.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use packstone_container::arrow_table::{
    Bitmap, Cell, Column, ColumnKind, Table, TableError, Values,
};
use packstone_io::Kind;

use super::super::codes;
use super::draws::{Population, Weights};
use crate::error::{Error, Place, Result};

const CACHE_ID: &str = "cache_id";
const SAMPLE_ID: &str = "sample_id";
const WEIGHT: &str = "weight";
/// Names that stored columns cannot have in a table.
const RESERVED: [&str; 3] = [CACHE_ID, SAMPLE_ID, WEIGHT];

/// One sample of one cache, wherever it stands in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The id of its cache.
    pub cache_id: u64,
    /// Its number in the cache.
    pub sample_id: u64,
}

/// The caches of a dataset in order, with their numbers of samples.
#[derive(Clone, Debug)]
pub struct Caches {
    caches: Vec<(u64, u64)>,
    /// Where the samples of each end.
    ends: Vec<u64>,
    by_id: HashMap<u64, u64>,
}

impl Caches {
    /// Caches by id with their numbers of samples; `None` where an id repeats or the samples do not fit 64 bits.
    #[must_use]
    pub fn new(caches: Vec<(u64, u64)>) -> Option<Self> {
        let mut end = 0u64;
        let ends = caches.iter().map(|(_, samples)| {
            end = end.checked_add(*samples)?;
            Some(end)
        });
        let ends = ends.collect::<Option<_>>()?;
        let by_id: HashMap<u64, u64> = caches.iter().copied().collect();
        (by_id.len() == caches.len()).then_some(Self { caches, ends, by_id })
    }

    /// Samples of all caches.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The sample at a row of the whole dataset; `None` past the end.
    #[must_use]
    pub fn identity(&self, row: u64) -> Option<Identity> {
        let place = self.ends.partition_point(|end| *end <= row);
        let (cache_id, samples) = *self.caches.get(place)?;
        let start = self.ends.get(place)? - samples;
        Some(Identity { cache_id, sample_id: row - start })
    }

    /// Whether there is such a sample.
    #[must_use]
    pub fn contains(&self, identity: Identity) -> bool {
        self.by_id.get(&identity.cache_id).is_some_and(|samples| identity.sample_id < *samples)
    }
}

/// Where the rows of a table come from.
#[derive(Clone, Debug)]
enum Rows {
    /// All samples, with these stored columns.
    Whole(Table),
    /// A table as it was given, with what its own columns say.
    Given { table: Table, cache_ids: Arc<Column>, sample_ids: Arc<Column>, weights: Arc<Weights> },
}

/// The table, see [the module](self). Cloning shares all columns.
#[derive(Clone, Debug)]
pub struct ActiveTable {
    caches: Arc<Caches>,
    /// The stored columns, under the names that the table has for them.
    schema: Arc<[(String, ColumnKind)]>,
    rows: Rows,
}

impl ActiveTable {
    /// All samples of `caches`, with the stored columns of each cache: of one schema, and with a row a sample.
    ///
    /// # Errors
    /// [`codes::TABLE_INVALID`] where the parts do not fit the caches or each other.
    pub fn new(caches: Arc<Caches>, parts: &[Table]) -> Result<Self> {
        if parts.len() != caches.caches.len() {
            let (expected, found) = (caches.caches.len(), parts.len());
            let message = format!("expected a table of each of {expected} caches, found {found}");
            return Err(invalid(message));
        }
        for ((id, samples), part) in caches.caches.iter().zip(parts) {
            if part.rows() as u64 != *samples {
                let found = part.rows();
                let message = format!("expected {samples} rows of cache {id}, found {found}");
                return Err(invalid(message));
            }
        }
        let stored = concat(parts)?;
        let names = table_names(stored.columns().map(|(name, _)| name));
        let columns = stored.columns().map(|(_, column)| Arc::clone(column));
        let stored = Table::new(names.into_iter().zip(columns)).map_err(misfit)?;
        let schema = stored.columns().map(|(name, column)| (name.to_owned(), column.kind()));
        let schema = schema.collect();
        Ok(Self { caches, schema, rows: Rows::Whole(stored) })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.rows {
            Rows::Whole(table) | Rows::Given { table, .. } => table.rows(),
        }
    }

    /// Whether the table was replaced since it was made from the caches.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        matches!(self.rows, Rows::Given { .. })
    }

    /// What a sampler draws from.
    #[must_use]
    pub fn population(&self) -> Population {
        match &self.rows {
            Rows::Whole(stored) => Population::Equal(stored.rows() as u64),
            Rows::Given { weights, .. } => Population::Weighted(Arc::clone(weights)),
        }
    }

    /// The sample of a row; `None` past the end.
    #[must_use]
    pub fn identity(&self, row: u64) -> Option<Identity> {
        match &self.rows {
            Rows::Whole(_) => self.caches.identity(row),
            Rows::Given { cache_ids, sample_ids, .. } => listed(cache_ids, sample_ids, row),
        }
    }

    /// The weight of a row: 1 where none was given; `None` past the end.
    #[must_use]
    pub fn weight(&self, row: usize) -> Option<f64> {
        match &self.rows {
            Rows::Whole(stored) => (row < stored.rows()).then_some(1.0),
            Rows::Given { table, .. } => as_double(table.column(WEIGHT)?.get(row)?),
        }
    }

    /// The whole table: one that was put in place as it was given, else in the order that [the module](self) shows.
    ///
    /// # Errors
    /// None in fact: all columns have one length.
    pub fn to_table(&self) -> Result<Table> {
        let stored = match &self.rows {
            Rows::Given { table, .. } => return Ok(table.clone()),
            Rows::Whole(stored) => stored,
        };
        let mut cache_ids = Vec::with_capacity(stored.rows());
        let mut sample_ids = Vec::with_capacity(stored.rows());
        for (id, samples) in &self.caches.caches {
            cache_ids.extend((0..*samples).map(|_| *id));
            sample_ids.extend(0..*samples);
        }
        let own = |name: &str, values| (name.to_owned(), Arc::new(Column::new(values)));
        let columns =
            [own(CACHE_ID, Values::UInt64(cache_ids)), own(SAMPLE_ID, Values::UInt64(sample_ids))];
        let columns = columns
            .into_iter()
            .chain(stored.columns().map(shared))
            .chain([own(WEIGHT, Values::Float64(vec![1.0; stored.rows()]))]);
        Table::new(columns).map_err(misfit)
    }

    /// Another table in place of this one: rows of known samples with weights, stored columns of their kinds (their
    /// values may differ or be null), and any further columns, in any order. This one stays as it is.
    ///
    /// # Errors
    /// [`codes::TABLE_INVALID`], [`codes::UNKNOWN_IDENTITY`], [`codes::WEIGHT_INVALID`], with the row.
    pub fn replaced_by(&self, table: Table) -> Result<Self> {
        if table.rows() == 0 {
            return Err(invalid("expected a table of at least one row, found none"));
        }
        let mut names = HashSet::new();
        if let Some((name, _)) = table.columns().find(|(name, _)| !names.insert(*name)) {
            let message = format!("expected columns of distinct names, found {name:?} again");
            return Err(invalid(message));
        }
        let column = |name: &str| {
            let missing = || invalid(format!("expected a column {name:?}, found none"));
            table.column(name).ok_or_else(missing)
        };
        let cache_ids = ids(CACHE_ID, column(CACHE_ID)?)?;
        let sample_ids = ids(SAMPLE_ID, column(SAMPLE_ID)?)?;
        let weights = weights(column(WEIGHT)?)?;
        for (name, expected) in self.schema.iter() {
            let found = column(name)?.kind();
            if found != *expected {
                let message = format!("expected {expected} as stored, found {found}");
                return Err(invalid(message).with_place(Place::default().field(name)));
            }
        }
        for row in 0..table.rows() as u64 {
            let identity = listed(&cache_ids, &sample_ids, row);
            if let Some(identity) = identity.filter(|identity| !self.caches.contains(*identity)) {
                let Identity { cache_id, sample_id } = identity;
                let message = format!(
                    "expected a sample of this dataset, found sample {sample_id} of cache {cache_id}"
                );
                let place = Place::default().record(row);
                return Err(Error::new(Kind::Invalid, codes::UNKNOWN_IDENTITY, place, message));
            }
        }
        let rows = Rows::Given { table, cache_ids, sample_ids, weights: Arc::new(weights) };
        Ok(Self { caches: Arc::clone(&self.caches), schema: Arc::clone(&self.schema), rows })
    }

    /// The given rows in the given order, which may repeat. The table counts as replaced then.
    ///
    /// # Errors
    /// [`codes::TABLE_INVALID`] for no rows or one past the end.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        self.replaced_by(self.to_table()?.select(rows).map_err(misfit)?)
    }

    /// The rows whose bits are set. The table counts as replaced then.
    ///
    /// # Errors
    /// [`codes::TABLE_INVALID`] where no row is left or the bits are not as many as the rows.
    pub fn filter(&self, keep: &Bitmap) -> Result<Self> {
        if keep.len() != self.rows() {
            let (expected, found) = (self.rows(), keep.len());
            let message = format!("expected a selection among {expected} rows, found {found}");
            return Err(invalid(message));
        }
        self.select(&keep.rows().collect::<Vec<_>>())
    }

    /// The same rows with other weights.
    ///
    /// # Errors
    /// [`codes::WEIGHT_INVALID`] with the row; [`codes::TABLE_INVALID`] where they are not as many as the rows.
    pub fn reweighted(&self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.rows() {
            let (expected, found) = (self.rows(), weights.len());
            return Err(invalid(format!("expected {expected} weights, found {found}")));
        }
        let weight = Arc::new(Column::new(Values::Float64(weights)));
        let table = self.to_table()?;
        let columns = table
            .columns()
            .map(|(name, column)| shared((name, if name == WEIGHT { &weight } else { column })));
        self.replaced_by(Table::new(columns).map_err(misfit)?)
    }
}

fn shared((name, column): (&str, &Arc<Column>)) -> (String, Arc<Column>) {
    (name.to_owned(), Arc::clone(column))
}

/// The sample at a row of columns of ids.
fn listed(cache_ids: &Column, sample_ids: &Column, row: u64) -> Option<Identity> {
    let row = usize::try_from(row).ok()?;
    match (cache_ids.get(row)?, sample_ids.get(row)?) {
        (Cell::UInt64(cache_id), Cell::UInt64(sample_id)) => Some(Identity { cache_id, sample_id }),
        _ => None,
    }
}

/// A number as the nearest double.
fn as_double(cell: Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Float64(value) => Some(value),
        Cell::Int64(value) => Some(value as f64),
        Cell::UInt64(value) => Some(value as f64),
        _ => None,
    }
}

/// The names of stored columns in a table.
fn table_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let taken = |name: &str, names: &[String]| {
        RESERVED.contains(&name) || names.iter().any(|other| other == name)
    };
    // Those that can stay as they are come first, so that no other takes their name.
    let kept: Vec<String> =
        names.clone().filter(|name| !RESERVED.contains(name)).map(str::to_owned).collect();
    let mut made: Vec<String> = kept.clone();
    let mut out = Vec::new();
    for name in names {
        let mut free = name.to_owned();
        if RESERVED.contains(&name) {
            while taken(&free, &made) {
                free.insert_str(0, "metadata.");
            }
            made.push(free.clone());
        }
        out.push(free);
    }
    out
}

/// The tables of all caches, one below the other.
fn concat(parts: &[Table]) -> Result<Table> {
    let Some((first, rest)) = parts.split_first() else { return Ok(Table::default()) };
    if rest.is_empty() {
        return Ok(first.clone());
    }
    let mut columns: Vec<(String, Column)> =
        first.columns().map(|(name, column)| (name.to_owned(), (**column).clone())).collect();
    for part in rest {
        if !part.columns().map(|(name, _)| name).eq(first.columns().map(|(name, _)| name)) {
            return Err(invalid(
                "expected the columns of the first cache in all caches, found others",
            ));
        }
        for ((name, column), (_, more)) in columns.iter_mut().zip(part.columns()) {
            column
                .extend(more)
                .map_err(|error| misfit(error).with_place(Place::default().field(name.as_str())))?;
        }
    }
    Table::new(columns).map_err(misfit)
}

/// A column of identities as unsigned integers.
fn ids(name: &str, column: &Arc<Column>) -> Result<Arc<Column>> {
    let place = |row: Option<usize>| {
        let place = Place::default().field(name);
        row.map_or(place.clone(), |row| place.clone().record(row as u64))
    };
    if let Some(row) = first_null(column) {
        return Err(invalid("expected an id, found null").with_place(place(Some(row))));
    }
    match column.values() {
        Values::UInt64(_) => Ok(Arc::clone(column)),
        Values::Int64(values) => {
            let mut out = Vec::with_capacity(values.len());
            for (row, value) in values.iter().enumerate() {
                out.push(u64::try_from(*value).map_err(|_| {
                    let message = format!("expected an id of 0 or more, found {value}");
                    invalid(message).with_place(place(Some(row)))
                })?);
            }
            Ok(Arc::new(Values::UInt64(out).into()))
        }
        other => {
            let message = format!("expected uint64 or int64, found {}", other.kind());
            Err(invalid(message).with_place(place(None)))
        }
    }
}

/// The weights of a column of numbers.
fn weights(column: &Column) -> Result<Weights> {
    let wrong = |place: Place, message: String| {
        Err(Error::new(Kind::Invalid, codes::WEIGHT_INVALID, place.field(WEIGHT), message))
    };
    if let Some(row) = first_null(column) {
        let place = Place::default().record(row as u64);
        return wrong(place, "expected a weight, found null".to_owned());
    }
    match column.values() {
        Values::Float64(values) => Weights::new(values.iter().copied()),
        Values::Int64(values) => Weights::new(values.iter().map(|value| *value as f64)),
        Values::UInt64(values) => Weights::new(values.iter().map(|value| *value as f64)),
        other => wrong(Place::default(), format!("expected a number, found {}", other.kind())),
    }
}

fn first_null(column: &Column) -> Option<usize> {
    column.validity()?.iter().position(|valid| !valid)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(Kind::Invalid, codes::TABLE_INVALID, Place::default(), message)
}

fn misfit(error: TableError) -> Error {
    invalid(error.to_string())
}
