//! Lists of new shards, and the way up from them to `dataset_info.json`.
//!
//! ```text
//! shards ─► lists of their fresh folders (created, synced) ─► [lists of shared folders, split lists, dataset_info.json]
//! ```
//!
//! Fresh folders are nobody else's, so their lists can be written at leisure. What others share is read again under the
//! root's lock, staged as a whole and renamed in one go, `dataset_info.json` last. Known difference from the original:
//! it lists all shards of a writer beside the first one; here each is listed in its own folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use packstone_container::Limits;
use packstone_container::digest::Algorithm;
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::document::DatasetInfo;
use super::super::layout::{MAX_DEPTH, ROOT_DOCUMENT, SHARDS_LIST, SPLITS};
use super::super::reader::{check_file, checksums, root_document};
use super::intent::PUBLICATION;
use super::list::{FileInfo, ListPointer, ShardEntry, ShardsList};
use super::tree::file_error;
use crate::error::{Error, Place, Result};

/// How long to wait for another writer that is publishing.
pub const PATIENCE: Duration = Duration::from_secs(60);

fn list_path(folder: &RelPath) -> Result<RelPath> {
    folder.join(SHARDS_LIST).map_err(|why| {
        Error::new(Kind::Invalid, codes::PATH_ESCAPE, Place::file(folder), why.to_string())
    })
}

/// Refuses a folder with so many above it that readers would not follow their lists.
///
/// # Errors
/// `parts_invalid`.
pub fn check_depth(folder: &RelPath) -> Result<()> {
    let found = folder.components().count();
    if found > MAX_DEPTH {
        let message = format!("expected at most {MAX_DEPTH} folders in a path, found {found}");
        return Err(Error::new(Kind::Invalid, codes::PARTS_INVALID, Place::file(folder), message));
    }
    Ok(())
}

/// The pointer to a list as it will stand on the disk.
fn pointer_to(
    path: RelPath,
    list: &ShardsList,
    text: &str,
    algorithms: &[Algorithm],
) -> ListPointer {
    let file = FileInfo { path, checksums: checksums(algorithms, text.as_bytes()) };
    ListPointer { file, examples: list.counted(), shards: list.counted_shards() }
}

/// Writes the lists of the fresh folders below `top` that hold `shards`, which are synced, and syncs lists and folders.
///
/// Returns the pointers to the lists directly below `top`, in order of their first shard.
///
/// # Errors
/// `Exists` where a folder is not fresh; `Io`.
pub fn write_fresh(
    root: &dyn RootMut,
    top: &RelPath,
    shards: &[ShardEntry],
    algorithms: &[Algorithm],
) -> Result<Vec<ListPointer>> {
    // Folders in order of their first shard; children before parents by depth.
    let mut folders: Vec<RelPath> = Vec::new();
    let mut own: BTreeMap<RelPath, Vec<&ShardEntry>> = BTreeMap::new();
    for shard in shards {
        let Some(file) = shard.files.first() else { continue };
        let mut folder = file.path.parent();
        own.entry(folder.clone().unwrap_or_default()).or_default().push(shard);
        while let Some(here) = folder.filter(|f| f.starts_with(top) && f != top) {
            folder = here.parent();
            if !folders.contains(&here) {
                folders.push(here);
            }
        }
    }
    let order: BTreeMap<RelPath, usize> =
        folders.iter().cloned().enumerate().map(|(n, f)| (f, n)).collect();
    let mut deepest = folders.clone();
    deepest.sort_by_key(|f| (std::cmp::Reverse(f.components().count()), order.get(f).copied()));
    let mut pointers: BTreeMap<RelPath, Vec<ListPointer>> = BTreeMap::new();
    for folder in &deepest {
        let path = list_path(folder)?;
        let mut list = ShardsList::new(&path);
        for shard in own.remove(folder).unwrap_or_default() {
            list.push_shard(shard.clone());
        }
        for child in pointers.remove(folder).unwrap_or_default() {
            list.set_child(child);
        }
        let text = list.text();
        root.create(&path, text.as_bytes())?;
        root.persist(&path)?;
        root.persist(folder)?;
        let pointer = pointer_to(path, &list, &text, algorithms);
        pointers.entry(folder.parent().unwrap_or_default()).or_default().push(pointer);
    }
    if !deepest.is_empty() {
        root.persist(top)?;
    }
    Ok(pointers.remove(top).unwrap_or_default())
}

/// Writes the list that joins `children` in `folder`, unless there is one already.
///
/// # Errors
/// `Io`.
pub fn write_joint(
    root: &dyn RootMut,
    folder: &RelPath,
    children: Vec<ListPointer>,
    algorithms: &[Algorithm],
) -> Result<Vec<ListPointer>> {
    let path = list_path(folder)?;
    let mut list = ShardsList::new(&path);
    children.iter().cloned().for_each(|child| list.set_child(child));
    let text = list.text();
    match root.create(&path, text.as_bytes()) {
        Ok(()) => {
            root.persist(&path)?;
            root.persist(folder)?;
            Ok(vec![pointer_to(path, &list, &text, algorithms)])
        }
        // Somebody wrote here before; the coordinator puts the children into that list.
        Err(error) if error.kind() == Kind::Exists => Ok(children),
        Err(error) => Err(error.into()),
    }
}

/// Something to bring into the tree.
#[derive(Clone, Debug)]
pub enum Update {
    /// A list that lies on the disk, with all that it leads to.
    List(RelPath),
    /// A shard, to be listed in its own folder.
    Shard(ShardEntry),
}

impl Update {
    /// The folder that it belongs to.
    fn folder(&self) -> RelPath {
        let path = match self {
            Update::List(path) => Some(path),
            Update::Shard(shard) => shard.files.first().map(|f| &f.path),
        };
        path.and_then(RelPath::parent).unwrap_or_default()
    }
}

/// What a change of the root works with, under its lock.
struct Change<'r> {
    root: &'r dyn RootMut,
    algorithms: Vec<Algorithm>,
    limits: Limits,
    /// Files to replace, in the order of their renames.
    files: Vec<(RelPath, Vec<u8>)>,
}

/// Merges `updates` into the dataset and publishes it; without updates `dataset_info.json` alone is written again.
///
/// `edit` may change the document first. Lists that updates name are read from the disk, so that what is published is
/// what lies there. Merging the same update again changes nothing.
///
/// # Errors
/// `parts_invalid` where updates overlap; `root_changed` where somebody without the lock changed the root meanwhile;
/// `Conflict` where the lock cannot be had.
pub fn publish(
    root: &Arc<dyn RootMut>,
    updates: Vec<Update>,
    patience: Duration,
    limits: &Limits,
    edit: impl FnOnce(&mut DatasetInfo) -> Result<()>,
) -> Result<DatasetInfo> {
    let _lock = root.lock(patience)?;
    PUBLICATION.complete(root.as_ref(), limits)?;
    let document = root_document()?;
    let before = root.read(&document)?;
    let mut info = DatasetInfo::parse(&before, limits)?;
    edit(&mut info)?;
    let algorithms = info.algorithms.clone();
    let mut change = Change { root: root.as_ref(), algorithms, limits: *limits, files: Vec::new() };
    let mut by_split: Vec<(String, Vec<Update>)> = Vec::new();
    for update in updates {
        let folder = update.folder();
        check_depth(&folder)?;
        let split = folder.components().next().unwrap_or_default();
        if !SPLITS.contains(&split) {
            let message = format!("expected a path below {}, found {folder}", SPLITS.join(", "));
            return Err(Error::new(
                Kind::Invalid,
                codes::UNKNOWN_SPLIT,
                Place::file(&folder),
                message,
            ));
        }
        match by_split.iter_mut().find(|(name, _)| name == split) {
            Some((_, updates)) => updates.push(update),
            None => by_split.push((split.to_owned(), vec![update])),
        }
    }
    for (split, updates) in by_split {
        let folder = RelPath::new(&split).unwrap_or_default();
        let old = info.split(&split).cloned();
        let pointer = change.below(&folder, old, updates)?;
        info.set_split(&split, pointer);
    }
    let mut files = change.files;
    files.push((document.clone(), info.text().into_bytes()));
    if root.read(&document)?[..] != before[..] {
        let message = "expected the root as it was read under the lock, found it changed by a writer without the lock";
        return Err(Error::new(
            Kind::Conflict,
            codes::ROOT_CHANGED,
            Place::file(ROOT_DOCUMENT),
            message,
        ));
    }
    PUBLICATION.replace(root.as_ref(), &before, &files)?;
    Ok(info)
}

fn overlap(list: &RelPath, inner: &RelPath) -> Error {
    let message =
        format!("expected parts apart from each other, found {inner} in the folder of {list}");
    Error::new(Kind::Invalid, codes::PARTS_INVALID, Place::file(list), message)
}

impl Change<'_> {
    /// The pointer to the list of `folder` after `updates`, which all lie in it or below.
    fn below(
        &mut self,
        folder: &RelPath,
        old: Option<ListPointer>,
        updates: Vec<Update>,
    ) -> Result<ListPointer> {
        let own = list_path(folder)?;
        let is_own = |u: &Update| matches!(u, Update::List(path) if *path == own);
        if updates.iter().any(is_own) {
            if let Some(other) = updates.iter().find(|u| !is_own(u)) {
                return Err(overlap(&own, &other.folder()));
            }
            let (list, text) = self.load(&own)?;
            return Ok(pointer_to(own, &list, &text, &self.algorithms));
        }
        let (path, mut list) = match old {
            Some(old) => {
                let path = old.file.path.clone();
                let bytes = self.root.read(&path).map_err(|e| file_error(e, &path))?;
                check_file(&old.file, &self.algorithms, &bytes)?;
                (path.clone(), ShardsList::parse(&bytes, &path, &self.limits)?)
            }
            None => (own.clone(), ShardsList::new(&own)),
        };
        let depth = folder.components().count();
        let mut groups: Vec<(RelPath, Vec<Update>)> = Vec::new();
        for update in updates {
            let target = update.folder();
            let Some(next) = target.components().nth(depth) else {
                if let Update::Shard(shard) = update
                    && !list.shards.iter().any(|s| s.files == shard.files)
                {
                    list.push_shard(shard);
                }
                continue;
            };
            let child = folder.join(next).unwrap_or_default();
            match groups.iter_mut().find(|(folder, _)| *folder == child) {
                Some((_, group)) => group.push(update),
                None => groups.push((child, vec![update])),
            }
        }
        for (child, group) in groups {
            let own = list_path(&child)?;
            let old = list.children.iter().find(|c| c.file.path == own).cloned();
            let pointer = self.below(&child, old, group)?;
            list.set_child(pointer);
        }
        let text = list.text();
        let pointer = pointer_to(path.clone(), &list, &text, &self.algorithms);
        self.files.push((path, text.into_bytes()));
        Ok(pointer)
    }

    /// A list that an update names, as it lies on the disk, with all that it lists present.
    fn load(&self, path: &RelPath) -> Result<(ShardsList, String)> {
        let bytes = self.root.read(path).map_err(|e| file_error(e, path))?;
        let list = ShardsList::parse(&bytes, path, &self.limits)?;
        let depth = path.components().count();
        self.check_below(&list, path, depth, &mut BTreeSet::new())?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok((list, text))
    }

    fn check_below(
        &self,
        list: &ShardsList,
        path: &RelPath,
        depth: usize,
        seen: &mut BTreeSet<RelPath>,
    ) -> Result<()> {
        let place = Place::file(path);
        if depth > MAX_DEPTH + 1 {
            let message = format!("expected lists in at most {MAX_DEPTH} levels, found more");
            return Err(Error::new(Kind::Invalid, codes::METADATA_CYCLE, place, message));
        }
        if list.counted() != list.examples {
            return Err(super::tree::count_error(
                place,
                "examples as its shards and children add up",
                list.counted(),
                list.examples,
            ));
        }
        let twice = |path: &RelPath| {
            let message = format!("expected each file once, found {path} again");
            Error::new(Kind::Invalid, codes::PARTS_INVALID, Place::file(path), message)
        };
        for file in list.shards.iter().flat_map(|s| &s.files) {
            if !seen.insert(file.path.clone()) {
                return Err(twice(&file.path));
            }
            self.root.len(&file.path).map_err(|e| file_error(e, &file.path))?;
        }
        for child in &list.children {
            if !seen.insert(child.file.path.clone()) {
                return Err(twice(&child.file.path));
            }
            let bytes =
                self.root.read(&child.file.path).map_err(|e| file_error(e, &child.file.path))?;
            check_file(&child.file, &self.algorithms, &bytes)?;
            let below = ShardsList::parse(&bytes, &child.file.path, &self.limits)?;
            self.check_below(&below, &child.file.path, depth + 1, seen)?;
        }
        Ok(())
    }
}
