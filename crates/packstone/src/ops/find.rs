//! Samples whose metadata meet a condition, and where they are; values are not read.
//!
//! | the format keeps metadata | what is looked at |
//! | --- | --- |
//! | in a table of all samples | the columns that the condition names |
//! | of whole shards | the lists of shards |
//! | of each sample, beside its values | every sample, without its fields |

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::arrow_table::Bitmap;
use packstone_container::json::Object;

use super::scan::{Decoded, Mapped, Scan};
use crate::error::Result;
use crate::exec::default_threads;
use crate::expr::Expr;
use crate::format::{Collection, ShardRef};
use crate::model::SampleTable;

/// What is looked for.
pub struct Find {
    collection: Arc<dyn Collection>,
    condition: Option<Expr>,
    threads: usize,
    limits: Limits,
}

/// A sample that was found.
#[derive(Clone, Debug)]
pub struct Match {
    /// Its index in the collection.
    pub index: u64,
    /// What is said about it.
    pub metadata: Arc<Object>,
    /// What the container calls it; empty where it has no name for it.
    pub identity: Object,
}

impl Find {
    /// All samples of a collection.
    pub fn new(collection: Arc<dyn Collection>) -> Self {
        let (condition, threads, limits) = (None, default_threads(), Limits::default());
        Self { collection, condition, threads, limits }
    }

    /// Only those that the condition is true for.
    #[must_use]
    pub fn condition(mut self, condition: Option<Expr>) -> Self {
        self.condition = condition;
        self
    }

    /// On so many threads, where samples must be read; 0 reads where matches are taken.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The matches in the order of the collection.
    ///
    /// # Errors
    /// `expr/unknown_column`, `expr/type_mismatch`, `expr/overflow`; `model/metadata_text`; those of
    /// [`Collection::table`] and [`Collection::shards`].
    pub fn matches(self) -> Result<Matches> {
        let Self { collection, condition, threads, limits } = self;
        if let Some(table) = collection.table()? {
            let rows = rows_of(&table, condition.as_ref(), &limits)?;
            let rows = Box::new(rows.rows().collect::<Vec<_>>().into_iter());
            return Ok(Matches(Source::Table { table: Box::new(table), rows, limits }));
        }
        let shards = collection.shards(0).collect::<Result<Vec<_>>>()?;
        let told = |shard: &ShardRef| !shard.metadata.is_empty();
        if shards.iter().all(told) || !collection.has_metadata()? {
            let shards = Box::new(shards.into_iter());
            return Ok(Matches(Source::Shards { shards, condition, left: None }));
        }
        let none: [&str; 0] = [];
        // No values are asked for, so samples need not be alike.
        let scan = Scan::new(collection).threads(threads).limits(limits).identities(true);
        let scan = scan.runs(true);
        let found = scan.fields(&none)?.map_shards(move |decoded| found_in(&decoded, &condition));
        Ok(Matches(Source::Samples { found, taken: Vec::new().into_iter() }))
    }
}

/// The rows of a table that a condition is true for.
fn rows_of(table: &SampleTable, condition: Option<&Expr>, limits: &Limits) -> Result<Bitmap> {
    let rows = table.table.rows();
    let Some(condition) = condition else { return Ok(Bitmap::filled(rows, true)) };
    if table.text.is_none() {
        return condition.select(&table.table);
    }
    // Names that the metadata do not have may be those of the container.
    let names = condition.names();
    let mut found = Bitmap::default();
    for row in 0..rows {
        let mut object = table.metadata(row, limits)?;
        for (name, value) in table.identity(row) {
            if names.iter().any(|asked| name == **asked) && !object.contains_key(&name.to_string())
            {
                object.insert(name, value);
            }
        }
        found.push(condition.matches(&object)?);
    }
    Ok(found)
}

fn is_match(condition: &Option<Expr>, metadata: &Object) -> Result<bool> {
    condition.as_ref().map_or(Ok(true), |condition| condition.matches(metadata))
}

/// The matches of a shard whose samples were read.
fn found_in(decoded: &Decoded, condition: &Option<Expr>) -> Result<Vec<Match>> {
    let Decoded { shard, batch, rows } = decoded;
    let mut found = Vec::new();
    for (range, metadata) in batch.metadata_runs() {
        if !is_match(condition, metadata)? {
            continue;
        }
        for row in range.filter(|row| rows.contains(row)) {
            let identity = batch.identity(row).cloned().unwrap_or_default();
            let index = shard.first.saturating_add(row as u64);
            found.push(Match { index, metadata: Arc::clone(metadata), identity });
        }
    }
    // Batches without any metadata have no runs.
    if !batch.has_metadata_runs() && is_match(condition, &Object::new())? {
        for row in rows.clone() {
            let identity = batch.identity(row).cloned().unwrap_or_default();
            let index = shard.first.saturating_add(row as u64);
            found.push(Match { index, metadata: Arc::default(), identity });
        }
    }
    Ok(found)
}

/// The matches of a [`Find`], in order.
pub struct Matches(Source);

enum Source {
    Table {
        table: Box<SampleTable>,
        rows: Box<dyn Iterator<Item = usize> + Send>,
        limits: Limits,
    },
    Shards {
        shards: Box<dyn Iterator<Item = ShardRef> + Send>,
        condition: Option<Expr>,
        left: Option<(std::ops::Range<u64>, Arc<Object>)>,
    },
    Samples {
        found: Mapped<Vec<Match>>,
        taken: std::vec::IntoIter<Match>,
    },
}

impl Iterator for Matches {
    type Item = Result<Match>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Source::Table { table, rows, limits } => {
                let row = rows.next()?;
                let found = table.metadata(row, limits).map(|metadata| Match {
                    index: row as u64,
                    metadata: Arc::new(metadata),
                    identity: table.identity(row),
                });
                Some(found)
            }
            Source::Shards { shards, condition, left } => loop {
                if let Some((range, metadata)) = left
                    && let Some(index) = range.next()
                {
                    let (metadata, identity) = (Arc::clone(metadata), Object::new());
                    return Some(Ok(Match { index, metadata, identity }));
                }
                let ShardRef { first, rows, metadata, .. } = shards.next()?;
                match is_match(condition, &metadata) {
                    Ok(true) => *left = Some((first..first.saturating_add(rows), metadata)),
                    Ok(false) => {}
                    Err(error) => return Some(Err(error)),
                }
            },
            Source::Samples { found, taken } => loop {
                if let Some(found) = taken.next() {
                    return Some(Ok(found));
                }
                match found.next()? {
                    Ok(more) => *taken = more.into_iter(),
                    Err(error) => return Some(Err(error)),
                }
            },
        }
    }
}
