//! A tree in the making, out of sight until it is whole.
//!
//! ```text
//! at a name below the root    .packstone-<16 hex>.tmp beside it ─► rename, or exchange with an older tree, which then goes
//! at the root itself          in place: without the document of the root nobody sees a tree there
//! ```
//!
//! Either way the document of the root is written last, after everything else is on the disk. Dropped before that,
//! nothing of it stays; of a killed writer a hidden folder, or files without a document, stay and are no tree.

use std::sync::Arc;
use std::time::Duration;

use packstone_io::{Draft, EntryKind, IoError, Kind, RelPath, RootMut, TEMPORARY};

use super::super::layout::META;
use crate::error::{Error, Place, Result};

/// How long to wait for somebody else who writes to the same place; a process that was just started by this one may hold
/// a lock for a moment.
const PATIENCE: Duration = Duration::from_secs(1);

/// A tree in the making.
pub struct Stage {
    root: Arc<dyn RootMut>,
    /// Where it will be.
    at: RelPath,
    /// Where its files are written: the root itself, or a hidden folder.
    base: RelPath,
    /// What stands at `at` and is to be replaced.
    old: bool,
    /// What was made, folders before what is in them.
    made: Vec<(RelPath, EntryKind)>,
    /// Keeps others from writing to the same place.
    _lock: Option<Box<dyn Send>>,
    finished: bool,
}

impl Stage {
    /// Starts a tree that will be at `at`: at the root itself, which must be empty but for hidden leftovers, or at a
    /// name whose folder exists.
    ///
    /// # Errors
    /// `io/exists` where something is there that is not to be replaced, or that is no tree; `Denied` where a link is
    /// there; `Conflict` where somebody else is writing to the root itself; `Io`.
    pub fn begin(root: &Arc<dyn RootMut>, at: &RelPath, replace: bool) -> Result<Self> {
        let (mut old, mut lock, mut base) = (false, None, RelPath::root());
        match at.parent() {
            None => {
                lock = Some(root.lock(PATIENCE)?);
                in_place(root.as_ref())?;
            }
            Some(parent) => {
                old = at_name(root.as_ref(), at, replace)?;
                base = parent.join(&hidden_name()?).unwrap_or_default();
                root.create_folder(&base)?;
            }
        }
        let (root, at, made) = (Arc::clone(root), at.clone(), Vec::new());
        Ok(Self { root, at, base, old, made, _lock: lock, finished: false })
    }

    /// The root that it is in.
    pub fn root(&self) -> &Arc<dyn RootMut> {
        &self.root
    }

    /// Where a file of the tree is written for now.
    pub fn path(&self, file: &RelPath) -> RelPath {
        self.base.below(file)
    }

    fn note(&mut self, path: RelPath, kind: EntryKind) -> RelPath {
        self.made.push((path.clone(), kind));
        path
    }

    /// Makes a folder of the tree.
    ///
    /// # Errors
    /// `Io`.
    pub fn folder(&mut self, folder: &RelPath) -> Result<()> {
        let path = self.note(self.path(folder), EntryKind::Folder);
        Ok(self.root.create_folder(&path)?)
    }

    /// Makes a place for a file of the tree, which whoever writes it then creates.
    pub fn file(&mut self, file: &RelPath) -> RelPath {
        self.note(self.path(file), EntryKind::File)
    }

    /// Writes a file of the tree.
    ///
    /// # Errors
    /// `Io`.
    pub fn create(&mut self, file: &RelPath, content: &[u8]) -> Result<()> {
        let path = self.file(file);
        Ok(self.root.create(&path, content)?)
    }

    /// Starts a file of the tree that is written piece by piece.
    ///
    /// # Errors
    /// `Io`.
    pub fn draft(&mut self, file: &RelPath) -> Result<Box<dyn Draft>> {
        let path = self.file(file);
        Ok(self.root.draft(&path)?)
    }

    fn persist(&self) -> Result<()> {
        let made = self.made.iter().map(|(path, _)| path);
        Ok(persist(self.root.as_ref(), made.chain([&self.base]))?)
    }

    /// Writes the document of the root and lets the tree appear.
    ///
    /// # Errors
    /// `Io`; then an older tree stands, and nothing of this one stays. `io/exists` where somebody else was first.
    pub fn finish(mut self, document: &[u8]) -> Result<()> {
        let root = Arc::clone(&self.root);
        let marker = RelPath::new(META).unwrap_or_default();
        if self.at.is_root() {
            self.persist()?;
            // Nobody else writes here: the folder was empty, and is locked.
            root.replace(&[(marker, document.to_vec())])?;
            self.finished = true;
            return Ok(());
        }
        self.create(&marker, document)?;
        self.persist()?;
        if self.old {
            replace(root.as_ref(), &self.base, &self.at)?;
            // Now the older tree has the hidden name; what cannot be removed of it stays hidden.
            let _ = remove_tree(root.as_ref(), &self.base);
        } else {
            root.rename(&self.base, &self.at)?;
        }
        self.finished = true;
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // Best effort: what stays is hidden, or no tree without its document.
        if !self.at.is_root() {
            let _ = remove_tree(self.root.as_ref(), &self.base);
            return;
        }
        for (path, kind) in self.made.iter().rev() {
            let _ = match kind {
                EntryKind::Folder => self.root.remove_folder(path),
                _ => self.root.remove(path),
            };
        }
    }
}

/// From so many files on, one call for the whole file system is less work than one for each; with fewer, nobody waits for
/// what others are writing.
const MANY: usize = 512;

/// Puts files and folders on the disk.
///
/// # Errors
/// `Io`.
pub fn persist<'p>(
    root: &dyn RootMut,
    paths: impl IntoIterator<Item = &'p RelPath>,
) -> Result<(), IoError> {
    let paths: Vec<&RelPath> = paths.into_iter().collect();
    if paths.len() >= MANY {
        return root.persist_all();
    }
    paths.into_iter().try_for_each(|path| root.persist(path))
}

/// A name that readers ignore and nobody else has.
fn hidden_name() -> Result<String> {
    let mut random = [0u8; 8];
    getrandom::fill(&mut random)
        .map_err(|e| Error::new(Kind::Io, "io/fault", Place::default(), e.to_string()))?;
    Ok(format!("{TEMPORARY}{:016x}.tmp", u64::from_le_bytes(random)))
}

fn exists(at: &RelPath, message: &str) -> Error {
    Error::new(Kind::Exists, "io/exists", Place::file(at), message)
}

/// The root may hold nothing that could become part of the tree.
fn in_place(root: &dyn RootMut) -> Result<()> {
    let entries = root.list(&RelPath::root())?;
    match entries.iter().find(|entry| !entry.name.starts_with(TEMPORARY)) {
        None => Ok(()),
        Some(entry) => {
            let path = RelPath::new(&entry.name).unwrap_or_default();
            Err(exists(&path, "expected an empty folder, found something in it"))
        }
    }
}

/// Whether there is an older tree at `at`, which may be replaced.
fn at_name(root: &dyn RootMut, at: &RelPath, replace: bool) -> Result<bool> {
    let parent = at.parent().unwrap_or_default();
    let entries = root.list(&parent)?;
    let Some(found) = entries.iter().find(|entry| entry.name == at.name()) else {
        return Ok(false);
    };
    match found.kind {
        EntryKind::Folder => {}
        EntryKind::File => {
            return Err(exists(at, "expected nothing or an older save, found a file"));
        }
        EntryKind::Other => {
            let message = "expected nothing or an older save, found a link or a device";
            return Err(Error::new(Kind::Denied, "io/denied", Place::file(at), message));
        }
    }
    let inside = root.list(at)?;
    let is_save = inside.iter().any(|entry| entry.name == META);
    if inside.is_empty() || (is_save && replace) {
        return Ok(true);
    }
    Err(exists(
        at,
        match is_save {
            true => "expected no save yet, found one",
            false => "expected nothing or an older save, found a folder with something else in it",
        },
    ))
}

/// Puts `new` in the place of `old` and `old` in that of `new`.
fn replace(root: &dyn RootMut, new: &RelPath, old: &RelPath) -> Result<(), IoError> {
    match root.exchange(new, old) {
        Err(error) if error.kind() == Kind::Unsupported => {}
        done => return done,
    }
    // File systems that cannot exchange: for a moment there is neither.
    let aside = RelPath::new(&format!("{new}.old")).unwrap_or_default();
    root.rename(old, &aside)?;
    root.rename(new, old).inspect_err(|_| drop(root.rename(&aside, old)))?;
    root.rename(&aside, new)
}

/// Removes a folder with everything in it; links are removed and not followed.
///
/// # Errors
/// `NotFound`, `Io`; then a part may stay.
pub fn remove_tree(root: &dyn RootMut, folder: &RelPath) -> Result<(), IoError> {
    for entry in root.list(folder)? {
        let path = RelPath::new(&format!("./{folder}/{}", entry.name)).map_err(|why| {
            IoError::new(Kind::Invalid, "remove", entry.name.clone(), why.to_string())
        })?;
        match entry.kind {
            EntryKind::Folder => remove_tree(root, &path)?,
            _ => root.remove(&path)?,
        }
    }
    root.remove_folder(folder)
}
