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

use packstone_container::arrow_table::{Bitmap, Cell, Column, Table, TableError, Values};
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

/// The rows of a table that was replaced.
#[derive(Clone, Debug)]
struct Listed {
    cache_ids: Arc<Column>,
    sample_ids: Arc<Column>,
    weight: Arc<Column>,
    weights: Arc<Weights>,
}

/// The table, see [the module](self). Cloning shares all columns.
#[derive(Clone, Debug)]
pub struct ActiveTable {
    caches: Arc<Caches>,
    /// The stored columns, under the names that the table has for them.
    stored: Table,
    /// Columns of the user.
    extra: Table,
    listed: Option<Listed>,
    rows: usize,
}

impl ActiveTable {
    /// All samples of `caches`, with the stored columns of each cache: of one schema, and with a row a sample.
    ///
    /// # Errors
    /// [`codes::TABLE_INVALID`] where the parts do not fit the caches or each other.
    pub fn new(caches: Arc<Caches>, parts: &[Table]) -> Result<Self> {
        if parts.len() != caches.caches.len() {
            let (expected, found) = (caches.caches.len(), parts.len());
            return Err(invalid(format!(
                "expected a table of each of {expected} caches, found {found}"
            )));
        }
        for ((id, samples), part) in caches.caches.iter().zip(parts) {
            if part.rows() as u64 != *samples {
                let found = part.rows();
                let message = format!("expected {samples} rows of cache {id}, found {found}");
                return Err(invalid(message));
            }
        }
        let stored = concat(parts)?;
        let rows = stored.rows();
        let names = table_names(stored.columns().map(|(name, _)| name));
        let columns = stored.columns().map(|(_, column)| Arc::clone(column));
        let stored = Table::new(names.into_iter().zip(columns)).map_err(misfit)?;
        Ok(Self { caches, stored, extra: Table::default(), listed: None, rows })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the table was replaced since it was made from the caches.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.listed.is_some()
    }

    /// What a sampler draws from.
    #[must_use]
    pub fn population(&self) -> Population {
        match &self.listed {
            Some(listed) => Population::Weighted(Arc::clone(&listed.weights)),
            None => Population::Equal(self.rows as u64),
        }
    }

    /// The sample of a row; `None` past the end.
    #[must_use]
    pub fn identity(&self, row: u64) -> Option<Identity> {
        let Some(listed) = &self.listed else { return self.caches.identity(row) };
        let row = usize::try_from(row).ok()?;
        match (listed.cache_ids.get(row)?, listed.sample_ids.get(row)?) {
            (Cell::UInt64(cache_id), Cell::UInt64(sample_id)) => {
                Some(Identity { cache_id, sample_id })
            }
            _ => None,
        }
    }

    /// The weight of a row: 1 where none was given; `None` past the end.
    #[must_use]
    pub fn weight(&self, row: usize) -> Option<f64> {
        match &self.listed {
            Some(listed) => match listed.weight.get(row)? {
                Cell::Float64(weight) => Some(weight),
                _ => None,
            },
            None => (row < self.rows).then_some(1.0),
        }
    }

    /// The whole table, in the order of columns that [the module](self) shows.
    ///
    /// # Errors
    /// None in fact: all columns have one length.
    pub fn to_table(&self) -> Result<Table> {
        let (cache_ids, sample_ids, weight) = self.own_columns();
        let own = [(CACHE_ID.to_owned(), cache_ids), (SAMPLE_ID.to_owned(), sample_ids)];
        let shared = |(name, column): (&str, &Arc<Column>)| (name.to_owned(), Arc::clone(column));
        let columns = own
            .into_iter()
            .chain(self.stored.columns().map(shared))
            .chain([(WEIGHT.to_owned(), weight)])
            .chain(self.extra.columns().map(shared));
        Table::new(columns).map_err(misfit)
    }

    /// Identities and weights as columns.
    fn own_columns(&self) -> (Arc<Column>, Arc<Column>, Arc<Column>) {
        if let Some(listed) = &self.listed {
            let Listed { cache_ids, sample_ids, weight, .. } = listed;
            return (Arc::clone(cache_ids), Arc::clone(sample_ids), Arc::clone(weight));
        }
        let mut cache_ids = Vec::with_capacity(self.rows);
        let mut sample_ids = Vec::with_capacity(self.rows);
        for (id, samples) in &self.caches.caches {
            cache_ids.extend((0..*samples).map(|_| *id));
            sample_ids.extend(0..*samples);
        }
        (
            Arc::new(Values::UInt64(cache_ids).into()),
            Arc::new(Values::UInt64(sample_ids).into()),
            Arc::new(Values::Float64(vec![1.0; self.rows]).into()),
        )
    }

    /// Another table in place of this one: rows of known samples with weights, stored columns of their kinds (their values
    /// may differ or be null), and any further columns. Order of columns is free. This one stays as it is.
    ///
    /// # Errors
    /// [`codes::TABLE_INVALID`], [`codes::UNKNOWN_IDENTITY`], [`codes::WEIGHT_INVALID`], with the row.
    pub fn replaced_by(&self, table: &Table) -> Result<Self> {
        if table.rows() == 0 {
            return Err(invalid("expected a table of at least one row, found none"));
        }
        let mut names = HashSet::new();
        if let Some((name, _)) = table.columns().find(|(name, _)| !names.insert(*name)) {
            return Err(invalid(format!(
                "expected columns of distinct names, found {name:?} again"
            )));
        }
        let column = |name: &str| {
            table
                .column(name)
                .ok_or_else(|| invalid(format!("expected a column {name:?}, found none")))
        };
        let cache_ids = ids(CACHE_ID, column(CACHE_ID)?)?;
        let sample_ids = ids(SAMPLE_ID, column(SAMPLE_ID)?)?;
        let weight = weight(column(WEIGHT)?)?;
        let mut stored = Vec::new();
        for (name, known) in self.stored.columns() {
            let column = column(name)?;
            if column.kind() != known.kind() {
                let (expected, found) = (known.kind(), column.kind());
                return Err(invalid(format!("expected {expected} as stored, found {found}"))
                    .with_place(Place::default().field(name)));
            }
            stored.push((name.to_owned(), Arc::clone(column)));
        }
        let extra = table
            .columns()
            .filter(|(name, _)| !RESERVED.contains(name) && self.stored.column(name).is_none());
        let extra = extra.map(|(name, column)| (name.to_owned(), Arc::clone(column)));
        self.listing(
            cache_ids,
            sample_ids,
            weight,
            Table::new(stored).map_err(misfit)?,
            Table::new(extra).map_err(misfit)?,
        )
    }

    fn listing(
        &self,
        cache_ids: Arc<Column>,
        sample_ids: Arc<Column>,
        weight: Arc<Column>,
        stored: Table,
        extra: Table,
    ) -> Result<Self> {
        let Values::Float64(values) = weight.values() else {
            return Err(invalid("expected weights of float64"));
        };
        let weights = Arc::new(Weights::new(values.iter().copied())?);
        let rows = weight.len();
        let listed = Some(Listed { cache_ids, sample_ids, weight, weights });
        let table = Self { caches: Arc::clone(&self.caches), stored, extra, listed, rows };
        for row in 0..rows as u64 {
            if let Some(identity) = table.identity(row).filter(|id| !self.caches.contains(*id)) {
                let Identity { cache_id, sample_id } = identity;
                let message = format!(
                    "expected a sample of this dataset, found sample {sample_id} of cache {cache_id}"
                );
                let place = Place::default().record(row);
                return Err(Error::new(Kind::Invalid, codes::UNKNOWN_IDENTITY, place, message));
            }
        }
        Ok(table)
    }

    /// The given rows in the given order, which may repeat. The table counts as replaced then.
    ///
    /// # Errors
    /// [`codes::TABLE_INVALID`] for no rows or one past the end.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        if rows.is_empty() {
            return Err(invalid("expected at least one row, found none"));
        }
        self.replaced_by(&self.to_table()?.select(rows).map_err(misfit)?)
    }

    /// The rows whose bits are set. The table counts as replaced then.
    ///
    /// # Errors
    /// [`codes::TABLE_INVALID`] where no row is left or the bits are not as many as the rows.
    pub fn filter(&self, keep: &Bitmap) -> Result<Self> {
        if keep.len() != self.rows {
            let (expected, found) = (self.rows, keep.len());
            return Err(invalid(format!(
                "expected a selection among {expected} rows, found {found}"
            )));
        }
        self.select(&keep.rows().collect::<Vec<_>>())
    }

    /// The same rows with other weights.
    ///
    /// # Errors
    /// [`codes::WEIGHT_INVALID`] with the row; [`codes::TABLE_INVALID`] where they are not as many as the rows.
    pub fn reweighted(&self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.rows {
            let (expected, found) = (self.rows, weights.len());
            return Err(invalid(format!("expected {expected} weights, found {found}")));
        }
        let (cache_ids, sample_ids, _) = self.own_columns();
        let weight = Arc::new(Values::Float64(weights).into());
        self.listing(cache_ids, sample_ids, weight, self.stored.clone(), self.extra.clone())
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

/// A column of weights as doubles, the nearest ones to integers.
fn weight(column: &Arc<Column>) -> Result<Arc<Column>> {
    if let Some(row) = first_null(column) {
        let place = Place::default().field(WEIGHT).record(row as u64);
        return Err(Error::new(
            Kind::Invalid,
            codes::WEIGHT_INVALID,
            place,
            "expected a weight, found null",
        ));
    }
    let doubles = match column.values() {
        Values::Float64(_) => return Ok(Arc::clone(column)),
        Values::Int64(values) => values.iter().map(|value| *value as f64).collect(),
        Values::UInt64(values) => values.iter().map(|value| *value as f64).collect(),
        other => {
            let message = format!("expected a number, found {}", other.kind());
            let place = Place::default().field(WEIGHT);
            return Err(Error::new(Kind::Invalid, codes::WEIGHT_INVALID, place, message));
        }
    };
    Ok(Arc::new(Values::Float64(doubles).into()))
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
