//! A saved selection of samples: which ones, of what, and how they were found.
//!
//! ```text
//! {"format":"packstone.view","version":1,"dataset":"datasetrt","expression":"label == 3",
//!  "caches":[{"path":"../a","cache_id":9,"sample_count":40,"metadata_sha256":"…"}],
//!  "rows":16,
//!  "samples":[{"cache_id":9,"ids":[0,4,[7,12],2,2]}]}
//! ```
//!
//! `samples` are in order and may repeat; `[7,12]` stands for the twelve ids from 7 on. Paths are relative to the view's
//! file where they can be. The caches with their numbers of samples and the checksums of their metadata are a
//! fingerprint: a view of a dataset that changed since is refused by name, instead of selecting something else.

use packstone_container::Limits;
use packstone_container::json::{self, At, Object, ReadOptions, Style, Value};
use packstone_io::Kind;

use super::super::codes;
use super::shape::shape_error;
use super::table::{Caches, Identity};
use crate::error::{Error, Place, Result};
use crate::format::SELECTION;

const VERSION: u64 = 1;
const DATASET: &str = "datasetrt";
const MEMBERS: [&str; 7] =
    ["format", "version", "dataset", "expression", "caches", "rows", "samples"];
/// Shorter runs of ids are written one by one.
const RUN: u64 = 3;

/// A cache as it was when the view was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheStamp {
    /// Where it is, as the document spells it: relative to its file where it can be.
    pub path: String,
    /// Its id.
    pub cache_id: u64,
    /// Its number of samples.
    pub samples: u64,
    /// The SHA-256 of its metadata, in lower-case hex, from its manifest.
    pub metadata_sha256: String,
}

/// Consecutive samples of one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: Identity,
    count: u64,
}

/// A selection, see [the module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    expression: Option<String>,
    caches: Vec<CacheStamp>,
    runs: Vec<Run>,
    /// How many samples there are up to the end of each run.
    ends: Vec<u64>,
}

impl View {
    /// A view of these samples, in this order, found by `expression` if by any.
    ///
    /// # Errors
    /// [`codes::VIEW_INVALID`] for caches that are no dataset, [`codes::UNKNOWN_IDENTITY`] for a sample that is in none.
    pub fn new(
        caches: Vec<CacheStamp>,
        expression: Option<String>,
        samples: impl IntoIterator<Item = Identity>,
    ) -> Result<Self> {
        let known = known(&caches)?;
        let mut view = Self { expression, caches, runs: Vec::new(), ends: Vec::new() };
        for (row, sample) in samples.into_iter().enumerate() {
            if !known.contains(sample) {
                let Identity { cache_id, sample_id } = sample;
                let message = format!(
                    "expected a sample of the caches, found sample {sample_id} of cache {cache_id}"
                );
                let place = Place::default().record(row as u64);
                return Err(Error::new(Kind::Invalid, codes::UNKNOWN_IDENTITY, place, message));
            }
            view.push(Run { first: sample, count: 1 }).ok_or_else(too_many)?;
        }
        Ok(view)
    }

    /// Appends a run, to the last one where it goes on there; `None` where samples do not fit 64 bits.
    fn push(&mut self, run: Run) -> Option<()> {
        let end = self.rows().checked_add(run.count)?;
        match (self.runs.last_mut(), self.ends.last_mut()) {
            (Some(last), Some(last_end))
                if last.first.cache_id == run.first.cache_id
                    && last.first.sample_id + last.count == run.first.sample_id =>
            {
                last.count += run.count;
                *last_end = end;
            }
            _ => {
                self.runs.push(run);
                self.ends.push(end);
            }
        }
        Some(())
    }

    /// Reads a view.
    ///
    /// # Errors
    /// [`codes::VIEW_VERSION`] for the view of another release, [`codes::VIEW_INVALID`] for what is none.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let options = ReadOptions::default().with_limits(*limits).with_refused_duplicates(true);
        let document = json::read(bytes, &options).map_err(|error| {
            let place = Place::default().at(error.offset as u64);
            Error::new(Kind::Corrupt, codes::VIEW_INVALID, place, error.to_string())
        })?;
        let at = At::root(&document.value);
        let field = |name: &str| at.field(name).map_err(shape);
        expect_text(field("format")?, SELECTION)?;
        let version = field("version")?.u64().map_err(shape)?;
        if version != VERSION {
            let message = format!("expected a view of version {VERSION}, found {version}");
            let place = Place::default().json("$.version");
            return Err(Error::new(Kind::Unsupported, codes::VIEW_VERSION, place, message));
        }
        expect_text(field("dataset")?, DATASET)?;
        for (name, member) in at.entries().map_err(shape)? {
            if !MEMBERS.contains(&name) {
                let message = format!("expected the members {}, found another", MEMBERS.join(", "));
                return Err(invalid(&member.path(), message));
            }
        }
        let expression = field("expression")?;
        let expression = match expression.value().is_null() {
            true => None,
            false => Some(expression.str().map_err(shape)?.to_owned()),
        };
        let caches = field("caches")?.items().map_err(shape)?.map(stamp).collect::<Result<_>>()?;
        let mut view = Self { expression, caches, runs: Vec::new(), ends: Vec::new() };
        let known = known(&view.caches)?;
        for group in field("samples")?.items().map_err(shape)? {
            let cache_id = group.field("cache_id").and_then(At::u64).map_err(shape)?;
            for ids in group.field("ids").and_then(At::items).map_err(shape)? {
                let (sample_id, count) = match ids.value() {
                    Value::Array(_) => {
                        let end = |at| ids.index(at).and_then(At::u64).map_err(shape);
                        (end(0)?, end(1)?)
                    }
                    _ => (ids.u64().map_err(shape)?, 1),
                };
                let first = Identity { cache_id, sample_id };
                let last = count.checked_sub(1).and_then(|more| sample_id.checked_add(more));
                let inside =
                    last.is_some_and(|sample_id| known.contains(Identity { cache_id, sample_id }));
                if !inside || ids.value().as_array().is_some_and(|pair| pair.len() != 2) {
                    return Err(invalid(
                        &ids.path(),
                        format!("expected samples of cache {cache_id}, found others"),
                    ));
                }
                view.push(Run { first, count }).ok_or_else(too_many)?;
            }
        }
        let (expected, found) = (field("rows")?.u64().map_err(shape)?, view.rows());
        if expected != found {
            return Err(invalid(
                "$.samples",
                format!("expected {expected} samples, found {found}"),
            ));
        }
        Ok(view)
    }

    /// The document, on one line.
    #[must_use]
    pub fn text(&self) -> String {
        let caches = self.caches.iter().map(|cache| {
            packstone_container::json!({
                "path": cache.path.as_str(),
                "cache_id": cache.cache_id,
                "sample_count": cache.samples,
                "metadata_sha256": cache.metadata_sha256.as_str(),
            })
        });
        let document = packstone_container::json!({
            "format": SELECTION,
            "version": VERSION,
            "dataset": DATASET,
            "expression": self.expression.as_deref(),
            "caches": caches.collect::<Value>(),
            "rows": self.rows(),
            "samples": self.groups(),
        });
        json::write(&document, &Style { final_newline: true, ..Style::COMPACT })
    }

    /// The samples, those of one cache together as long as they follow each other.
    fn groups(&self) -> Value {
        let groups = self.runs.chunk_by(|a, b| a.first.cache_id == b.first.cache_id);
        let groups = groups.filter_map(|runs| {
            let mut ids = Vec::new();
            for Run { first, count } in runs {
                match *count < RUN {
                    true => ids.extend((0..*count).map(|at| Value::from(first.sample_id + at))),
                    false => ids.push(Value::from([first.sample_id, *count])),
                }
            }
            let cache_id = Value::from(runs.first()?.first.cache_id);
            Some(Object::from_iter([("cache_id", cache_id), ("ids", Value::Array(ids))]))
        });
        groups.collect()
    }

    /// The condition that the samples were found by.
    #[must_use]
    pub fn expression(&self) -> Option<&str> {
        self.expression.as_deref()
    }

    /// The caches, in the order of the dataset.
    #[must_use]
    pub fn caches(&self) -> &[CacheStamp] {
        &self.caches
    }

    /// The samples in order, as runs: the first of each, and how many follow each other from it on.
    pub fn runs(&self) -> impl Iterator<Item = (Identity, u64)> + '_ {
        self.runs.iter().map(|run| (run.first, run.count))
    }

    /// Number of samples.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// A sample by its row; `None` past the end.
    #[must_use]
    pub fn identity(&self, row: u64) -> Option<Identity> {
        let place = self.ends.partition_point(|end| *end <= row);
        let (run, end) = (self.runs.get(place)?, self.ends.get(place)?);
        let sample_id = run.first.sample_id + (row - (end - run.count));
        Some(Identity { sample_id, ..run.first })
    }

    /// The samples in order.
    pub fn identities(&self) -> impl Iterator<Item = Identity> + '_ {
        self.runs.iter().flat_map(|Run { first, count }| {
            let first = *first;
            (0..*count).map(move |at| Identity { sample_id: first.sample_id + at, ..first })
        })
    }

    /// Holds the caches of an open dataset, in its order, against those of the view. Paths do not count.
    ///
    /// # Errors
    /// [`codes::VIEW_STALE`] with the path of the cache that is another.
    pub fn check(&self, found: &[CacheStamp]) -> Result<()> {
        let stale = |path: &str, message: String| {
            let place = Place::file(path);
            let message =
                format!("{message}: the dataset is not the one that the view was made of");
            Err(Error::new(Kind::Conflict, codes::VIEW_STALE, place, message))
        };
        for (cache, found) in self.caches.iter().zip(found) {
            let (expected, other) = (cache.cache_id, found.cache_id);
            if expected != other {
                return stale(&found.path, format!("expected the cache {expected}, found {other}"));
            }
            let (expected, other) = (cache.samples, found.samples);
            if expected != other {
                return stale(&found.path, format!("expected {expected} samples, found {other}"));
            }
            let (expected, other) = (&cache.metadata_sha256, &found.metadata_sha256);
            if !expected.eq_ignore_ascii_case(other) {
                return stale(
                    &found.path,
                    format!("expected metadata of sha256 {expected}, found {other}"),
                );
            }
        }
        let (expected, other) = (self.caches.len(), found.len());
        match (self.caches.get(other), found.get(expected)) {
            (None, None) => Ok(()),
            (Some(first), _) | (_, Some(first)) => {
                stale(&first.path, format!("expected {expected} caches, found {other}"))
            }
        }
    }
}

fn stamp(at: At<'_>) -> Result<CacheStamp> {
    let field = |name: &str| at.field(name).map_err(shape);
    let sha = field("metadata_sha256")?;
    let metadata_sha256 = sha.str().map_err(shape)?.to_owned();
    if metadata_sha256.len() != 64 || !metadata_sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(shape(sha.unexpected("64 hexadecimal digits")));
    }
    Ok(CacheStamp {
        path: field("path")?.str().map_err(shape)?.to_owned(),
        cache_id: field("cache_id")?.u64().map_err(shape)?,
        samples: field("sample_count")?.u64().map_err(shape)?,
        metadata_sha256,
    })
}

fn known(caches: &[CacheStamp]) -> Result<Caches> {
    let counts = caches.iter().map(|cache| (cache.cache_id, cache.samples)).collect();
    let message = "expected caches of distinct ids whose samples fit 64 bits, found others";
    Caches::new(counts).ok_or_else(|| invalid("$.caches", message))
}

fn expect_text(at: At<'_>, expected: &str) -> Result<()> {
    match at.str().map_err(shape)? {
        text if text == expected => Ok(()),
        _ => Err(shape(at.unexpected(format!("{expected:?}")))),
    }
}

fn shape(error: packstone_container::json::ShapeError) -> Error {
    shape_error(error, codes::VIEW_INVALID)
}

fn invalid(path: &str, message: impl Into<String>) -> Error {
    Error::new(Kind::Invalid, codes::VIEW_INVALID, Place::default().json(path), message)
}

fn too_many() -> Error {
    invalid("$.samples", "expected a number of samples that fits 64 bits, found more")
}
