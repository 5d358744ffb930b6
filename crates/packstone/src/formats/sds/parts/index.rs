//! Where records are: pages of the manifest, loaded when they are needed, the last ones kept.
//!
//! A damaged page harms only its own records.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use packstone_io::Kind;

use super::super::codes;
use super::super::options::JsonPolicy;
use super::manifest::{Manifest, ShardEntry};
use super::notes::{Notes, within};
use super::reference::{ObjectReference, Objects};
use super::snapshot::{ManifestReference, Snapshot};
use crate::error::{Error, Place, Result};

/// Pages that are kept; the original's default.
const KEPT_PAGES: usize = 16;

/// The pages of a snapshot.
pub struct Index {
    /// The snapshot.
    pub snapshot: Snapshot,
    objects: Objects,
    policy: JsonPolicy,
    /// The last pages used, the latest at the end.
    pages: Mutex<VecDeque<(usize, Arc<Manifest>)>>,
    /// Shard entries before each page.
    shards_before: Vec<u64>,
}

/// A shard entry where it stands.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its page.
    pub page: Arc<Manifest>,
    /// Its position there.
    pub position: usize,
    /// Its position among all entries of the dataset.
    pub number: u64,
}

impl Found {
    /// The entry.
    ///
    /// # Errors
    /// Never: positions are those of entries.
    pub fn entry(&self) -> Result<&ShardEntry> {
        self.page.shards.get(self.position).ok_or_else(|| nowhere(self.number))
    }

    /// The number in its objects of a record that this entry, or one behind it on the page, holds.
    pub fn index(&self, ordinal: u64) -> Option<u64> {
        let inside = |entry: &ShardEntry| entry.index(ordinal.checked_sub(entry.first_ordinal)?);
        let own = self.page.shards.get(self.position)?;
        inside(own).or_else(|| {
            let after = self.page.shards.partition_point(|shard| shard.first_ordinal <= ordinal);
            inside(self.page.shards.get(after.checked_sub(1)?)?)
        })
    }

    /// Where the records end of this entry and those behind it, as long as these name the same object and begin before
    /// `until`. Views have an entry for each record, and neighbours are mostly of one shard.
    pub fn shared_end(&self, object: impl Fn(&ShardEntry) -> &ObjectReference, until: u64) -> u64 {
        let own = self.page.shards.get(self.position);
        let behind = self.page.shards.iter().skip(self.position.saturating_add(1));
        let behind = behind.filter(|entry| entry.record_count > 0);
        let shared = behind.take_while(|entry| {
            entry.first_ordinal < until && Some(object(entry)) == own.map(&object)
        });
        let last = shared.last().or(own);
        let end = last.map(|entry| entry.first_ordinal.saturating_add(entry.record_count));
        end.unwrap_or(until).min(until)
    }
}

fn nowhere(ordinal: u64) -> Error {
    let message = format!("expected a record of the dataset, found number {ordinal}");
    Error::new(Kind::NotFound, codes::INDEX_OUT_OF_RANGE, Place::default(), message)
}

impl Index {
    /// The pages of `snapshot`.
    pub fn new(snapshot: Snapshot, objects: Objects, policy: JsonPolicy) -> Self {
        let mut before = 0u64;
        let shards_before = snapshot.manifests.iter().map(|page| {
            let here = before;
            before = before.saturating_add(page.shard_count);
            here
        });
        let shards_before = shards_before.collect();
        Self { snapshot, objects, policy, pages: Mutex::default(), shards_before }
    }

    /// Number of records.
    pub fn len(&self) -> u64 {
        self.snapshot.record_count
    }

    /// True for a dataset without records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A page by its position.
    ///
    /// # Errors
    /// `missing_object`, `path_link`, `path_absolute`, `size_mismatch`; those of [`Manifest::parse`] and
    /// [`Manifest::check_reference`].
    pub fn page(&self, position: usize) -> Result<Arc<Manifest>> {
        if let Some(page) = self.kept(position) {
            return Ok(page);
        }
        let reference = self.snapshot.manifests.get(position);
        let reference = reference.ok_or_else(|| nowhere(self.len()))?;
        let mut notes = Notes::silent(Place::file(&reference.object.path));
        let page = Arc::new(load_page(&self.objects, reference, &self.policy, &mut notes)?);
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.len() >= KEPT_PAGES {
            pages.pop_front();
        }
        pages.push_back((position, Arc::clone(&page)));
        Ok(page)
    }

    fn kept(&self, position: usize) -> Option<Arc<Manifest>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let at = pages.iter().position(|(kept, _)| *kept == position)?;
        let kept = pages.remove(at)?;
        let page = Arc::clone(&kept.1);
        pages.push_back(kept);
        Some(page)
    }

    /// The entry that holds a record. Empty pages and entries are passed over.
    ///
    /// # Errors
    /// `index_out_of_range`; those of [`Index::page`].
    pub fn locate(&self, ordinal: u64) -> Result<Found> {
        if ordinal >= self.len() {
            return Err(nowhere(ordinal));
        }
        let pages = &self.snapshot.manifests;
        let number = pages.partition_point(|page| page.first_ordinal <= ordinal);
        let number = number.checked_sub(1).ok_or_else(|| nowhere(ordinal))?;
        let page = self.page(number)?;
        let position = page.shards.partition_point(|shard| shard.first_ordinal <= ordinal);
        let position = position.checked_sub(1).ok_or_else(|| nowhere(ordinal))?;
        Ok(self.found(number, page, position))
    }

    fn found(&self, number: usize, page: Arc<Manifest>, position: usize) -> Found {
        let before = self.shards_before.get(number).copied().unwrap_or(0);
        Found { page, position, number: before.saturating_add(position as u64) }
    }

    /// The entries in order from the one that holds `from` on; a page that does not load ends them with its error.
    pub fn entries(self: Arc<Self>, from: u64) -> impl Iterator<Item = Result<Found>> + Send {
        let pages = &self.snapshot.manifests;
        let first = match from {
            // Pages without records are read where all are.
            0 => 0,
            _ => pages.partition_point(|page| page.first_ordinal <= from).saturating_sub(1),
        };
        let mut next = Some((first, None));
        std::iter::from_fn(move || {
            loop {
                let (number, page) = next.take()?;
                let (page, position): (Arc<Manifest>, usize) = match page {
                    Some(here) => here,
                    None if number >= self.snapshot.manifests.len() => return None,
                    None => match self.page(number) {
                        Ok(page) => {
                            let shards = &page.shards;
                            let after = shards.partition_point(|s| s.first_ordinal <= from);
                            let inside = after.saturating_sub(1);
                            (page, inside)
                        }
                        Err(error) => return Some(Err(error)),
                    },
                };
                if position < page.shards.len() {
                    let found = self.found(number, Arc::clone(&page), position);
                    next = Some((number, Some((page, position.saturating_add(1)))));
                    return Some(Ok(found));
                }
                next = Some((number.saturating_add(1), None));
            }
        })
    }
}

/// Loads a page and holds it against its reference.
///
/// # Errors
/// See [`Index::page`].
pub fn load_page(
    objects: &Objects,
    reference: &ManifestReference,
    policy: &JsonPolicy,
    notes: &mut Notes,
) -> Result<Manifest> {
    let file = objects.open_whole(&reference.object)?;
    check_document(file.len(), policy, &notes.place)?;
    let manifest = Manifest::parse(&file.read_all()?, policy, notes)?;
    let called = reference.object.path.to_string();
    manifest.check_reference(reference).map_err(|error| within(error, &called, None))?;
    Ok(manifest)
}

/// Refuses a document that is too large before it is read.
///
/// # Errors
/// `limit_exceeded`.
pub fn check_document(found: u64, policy: &JsonPolicy, place: &Place) -> Result<()> {
    if found <= policy.bytes {
        return Ok(());
    }
    let message = format!("expected a document of at most {} bytes, found {found}", policy.bytes);
    Err(Error::new(Kind::Limit, codes::LIMIT_EXCEEDED, place.clone(), message))
}
