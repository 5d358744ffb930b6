//! The tree of shard lists, read only where somebody goes.
//!
//! Every pointer says how many examples and shards lie below it, so a walk to an example index skips whole subtrees
//! without opening them. Counts are compared when a list is read: a list that holds something else than its pointer
//! promised is an error, not a shorter dataset.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::Limits;
use packstone_io::{Kind, RelPath, Root};

use super::super::codes;
use super::list::{ListPointer, ShardsList};
use crate::error::{Error, Place, Result};
use crate::format::ShardRef;

/// List entries that are kept for the next look-up, beside the longest list that was read: who goes through a long list
/// passes the short ones above it each time, and must not lose it to them.
const CACHED_ENTRIES: usize = 1 << 16;
/// Lists below one another; the original makes five.
const MAX_DEPTH: usize = 64;

/// Reads lists, and keeps the last ones.
pub struct Tree {
    root: Arc<dyn Root>,
    limits: Limits,
    cache: Mutex<Cache>,
}

/// A list whose own counts agree, and how many shards lie below it.
#[derive(Clone)]
struct Counted {
    list: Arc<ShardsList>,
    shards: u64,
}

#[derive(Default)]
struct Cache {
    lists: HashMap<RelPath, (u64, Counted)>,
    entries: usize,
    clock: u64,
}

fn weight(list: &ShardsList) -> usize {
    list.shards.len() + list.children.len() + 1
}

impl Cache {
    fn get(&mut self, path: &RelPath) -> Option<Counted> {
        self.clock += 1;
        let (used, list) = self.lists.get_mut(path)?;
        *used = self.clock;
        Some(list.clone())
    }

    fn put(&mut self, path: &RelPath, counted: &Counted) {
        self.clock += 1;
        self.entries = self.entries.saturating_add(weight(&counted.list));
        if let Some((_, old)) = self.lists.insert(path.clone(), (self.clock, counted.clone())) {
            self.entries = self.entries.saturating_sub(weight(&old.list));
        }
        loop {
            let weights = self.lists.values().map(|(_, counted)| weight(&counted.list));
            if self.entries <= CACHED_ENTRIES.saturating_add(weights.max().unwrap_or(0)) {
                return;
            }
            let oldest = self.lists.iter().min_by_key(|(_, (used, _))| *used);
            let Some(path) = oldest.map(|(path, _)| path.clone()) else { return };
            if let Some((_, counted)) = self.lists.remove(&path) {
                self.entries = self.entries.saturating_sub(weight(&counted.list));
            }
        }
    }
}

impl Tree {
    /// The lists of the dataset in `root`.
    pub fn new(root: Arc<dyn Root>, limits: Limits) -> Self {
        Self { root, limits, cache: Mutex::default() }
    }

    /// The list that `pointer` leads to, with the counts that it promises.
    ///
    /// # Errors
    /// `missing_file`, `path_escape`, `json_invalid`, `schema_invalid`, `count_mismatch`.
    pub fn list(&self, pointer: &ListPointer) -> Result<Arc<ShardsList>> {
        let path = &pointer.file.path;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let Counted { list, shards } = match cache.get(path) {
            Some(counted) => counted,
            None => {
                let counted = self.load(path)?;
                cache.put(path, &counted);
                counted
            }
        };
        drop(cache);
        let place = || Place::file(path);
        if pointer.examples != list.examples {
            let what = "examples as the pointer to this list says";
            return Err(count_error(place(), what, pointer.examples, list.examples));
        }
        if pointer.shards != shards {
            let what = "shards as the pointer to this list says";
            return Err(count_error(place(), what, pointer.shards, shards));
        }
        Ok(list)
    }

    fn load(&self, path: &RelPath) -> Result<Counted> {
        let bytes = self.root.read(path).map_err(|e| file_error(e, path))?;
        let mut list = ShardsList::parse(&bytes, path, &self.limits)?;
        // Only writers need the text again.
        list.document = packstone_container::json::Object::new();
        if let Some((code, again)) = list.repeated() {
            let message = format!("expected each file once, found {again} again");
            return Err(Error::new(Kind::Corrupt, code, Place::file(path), message));
        }
        let counted = list.counted();
        if counted != list.examples {
            let what = "examples as its shards and children add up";
            return Err(count_error(Place::file(path), what, counted, list.examples));
        }
        let shards = list.counted_shards();
        Ok(Counted { list: Arc::new(list), shards })
    }

    /// The shards below `pointer` in order, from the one that holds example `from` on.
    pub fn walk(self: Arc<Self>, pointer: ListPointer, from: u64) -> Walk {
        let (start, open, seen) = (Some(pointer), Vec::new(), HashSet::new());
        Walk { tree: self, start, open, seen, skip: from, first: 0, number: 0 }
    }
}

/// The error for a file that a document names and that cannot be read.
pub fn file_error(error: packstone_io::IoError, path: &RelPath) -> Error {
    let code = match error.kind() {
        Kind::NotFound => codes::MISSING_FILE,
        Kind::Denied if error.reason().contains("link") => codes::PATH_ESCAPE,
        _ => return Error::from(error).with_place(Place::file(path)),
    };
    Error::from(error).with_code(code).with_place(Place::file(path))
}

/// The error for a count that is not what another document says.
pub fn count_error(place: Place, what: &str, expected: u64, found: u64) -> Error {
    let message = format!("expected {expected} {what}, found {found}");
    Error::new(Kind::Corrupt, codes::COUNT_MISMATCH, place, message)
}

/// Shards in order, depth first: a list's own before those of its children.
pub struct Walk {
    tree: Arc<Tree>,
    start: Option<ListPointer>,
    open: Vec<Open>,
    seen: HashSet<RelPath>,
    skip: u64,
    first: u64,
    number: u64,
}

struct Open {
    list: Arc<ShardsList>,
    shard: usize,
    child: usize,
}

impl Walk {
    fn enter(&mut self, pointer: &ListPointer) -> Result<()> {
        let place = Place::file(&pointer.file.path);
        if !self.seen.insert(pointer.file.path.clone()) || self.open.len() >= MAX_DEPTH {
            let message = "expected each list once and at most 64 levels, found it again or deeper";
            return Err(Error::new(Kind::Corrupt, codes::METADATA_CYCLE, place, message));
        }
        let list = self.tree.list(pointer)?;
        self.open.push(Open { list, shard: 0, child: 0 });
        Ok(())
    }

    fn step(&mut self) -> Result<Option<ShardRef>> {
        if let Some(pointer) = self.start.take() {
            self.enter(&pointer)?;
        }
        while let Some(top) = self.open.last_mut() {
            if let Some(entry) = top.list.shards.get(top.shard) {
                top.shard += 1;
                let (first, number) = (self.first, self.number);
                self.first = first.saturating_add(entry.examples);
                self.number += 1;
                // Shards without examples have nothing to read.
                if self.skip >= entry.examples {
                    self.skip -= entry.examples;
                    continue;
                }
                self.skip = 0;
                let entry = Arc::clone(entry);
                let path = entry.files.first().map(|f| f.path.clone()).unwrap_or_default();
                let metadata = Arc::clone(&entry.metadata);
                return Ok(Some(ShardRef {
                    number,
                    first,
                    rows: entry.examples,
                    path,
                    metadata,
                    detail: entry,
                }));
            }
            let Some(child) = top.list.children.get(top.child).cloned() else {
                self.open.pop();
                continue;
            };
            top.child += 1;
            if self.skip >= child.examples && self.skip > 0 {
                self.skip -= child.examples;
                self.first = self.first.saturating_add(child.examples);
                self.number = self.number.saturating_add(child.shards);
            } else {
                self.enter(&child)?;
            }
        }
        Ok(None)
    }
}

impl Iterator for Walk {
    type Item = Result<ShardRef>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            // Nothing after a fault can be placed.
            self.open.clear();
        }
        step.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::ShardEntry;
    use super::*;

    fn list(shards: usize) -> Counted {
        let mut list = ShardsList::new(&RelPath::root());
        list.shards = std::iter::repeat_with(Arc::<ShardEntry>::default).take(shards).collect();
        Counted { list: Arc::new(list), shards: 0 }
    }

    #[test]
    fn a_long_list_stays_whatever_short_ones_come_and_only_one_does() {
        let mut cache = Cache::default();
        let path = |name: &str| RelPath::new(name).unwrap();
        cache.put(&path("top"), &list(3));
        cache.put(&path("long"), &list(CACHED_ENTRIES + 1));
        for _ in 0..3 {
            assert!(cache.get(&path("top")).is_some());
            assert!(cache.get(&path("long")).is_some());
            cache.put(&path("short"), &list(9));
        }
        cache.put(&path("longer"), &list(CACHED_ENTRIES + 2));
        assert!(cache.get(&path("long")).is_none());
        assert!(cache.get(&path("longer")).is_some());
        assert!(cache.get(&path("short")).is_some());
    }
}
