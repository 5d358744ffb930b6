//! Putting objects and documents into a dataset: created once, never overwritten.
//!
//! An object is written under a temporary name, put on the disk, and renamed to a name that must be free. A document is
//! created whole. Where the name is taken, equal bytes are success, so that whoever died can simply run again, and others
//! are a conflict. The original compares sizes and counts of objects, which for small shards are always equal.

use std::collections::BTreeSet;
use std::io;

use packstone_io::{Draft, Kind, ReadAt, RelPath, Root, RootMut, TEMPORARY};

use super::super::codes;
use crate::error::{Error, Place, Result};

/// Bytes that are compared at once.
const PIECE: u64 = 1 << 20;
/// Bytes that are handed to a draft at once.
const BUFFER: usize = 256 << 10;

/// Puts the folders that lead to `paths` on the disk, the innermost first: what was renamed or created in them stays.
///
/// # Errors
/// I/O faults.
pub fn persist_folders<'p>(
    root: &dyn RootMut,
    paths: impl Iterator<Item = &'p RelPath>,
) -> Result<()> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let mut folder = path.parent();
        while let Some(here) = folder {
            folder = here.parent();
            if !folders.insert(here) {
                break;
            }
        }
    }
    // Paths sort before those below them.
    folders.iter().rev().try_for_each(|folder| Ok(root.persist(folder)?))
}

/// Creates a control document and puts it on the disk; its name gets there with [`persist_folders`].
///
/// # Errors
/// `collision` where another one is there; I/O faults.
pub fn create_document(root: &dyn RootMut, path: &RelPath, text: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        root.create_folder(&folder)?;
    }
    match root.create(path, text) {
        Ok(()) => {}
        Err(error) if error.kind() == Kind::Exists => same_document(root, path, text)?,
        Err(error) => return Err(error.into()),
    }
    // Also where it was there: whoever made it may have died before this.
    Ok(root.persist(path)?)
}

/// Checks that the document at `path` has these bytes.
///
/// # Errors
/// `collision`; I/O faults.
pub fn same_document(root: &dyn Root, path: &RelPath, text: &[u8]) -> Result<()> {
    let found = root.open_unlinked(path)?;
    if found.len() == text.len() as u64 && found.read_all()?[..] == *text {
        return Ok(());
    }
    let message = "expected a free name or the same document, found another one";
    Err(Error::new(Kind::Exists, codes::COLLISION, Place::file(path), message))
}

/// A new object in the making.
pub struct Object<'r> {
    root: &'r dyn RootMut,
    draft: Option<Box<dyn Draft>>,
    buffer: Vec<u8>,
    /// Where it is made.
    temporary: RelPath,
    /// True where there is a file of that name.
    made: bool,
    len: u64,
}

impl<'r> Object<'r> {
    /// Starts an object in a folder, which is made.
    ///
    /// # Errors
    /// I/O faults.
    pub fn start(root: &'r dyn RootMut, folder: &RelPath) -> Result<Self> {
        let mut random = [0u8; 8];
        getrandom::fill(&mut random)
            .map_err(|e| Error::new(Kind::Io, "io/fault", Place::file(folder), e.to_string()))?;
        let name = format!("{TEMPORARY}{:016x}.new", u64::from_le_bytes(random));
        root.create_folder(folder)?;
        // The name has nothing that paths refuse.
        let temporary = folder.join(&name).unwrap_or_default();
        let draft = Some(root.draft(&temporary)?);
        Ok(Self { root, draft, buffer: Vec::with_capacity(BUFFER), temporary, made: false, len: 0 })
    }

    fn push(&mut self) -> Result<(), packstone_io::IoError> {
        if let Some(draft) = &mut self.draft
            && !self.buffer.is_empty()
        {
            draft.write(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Puts all of the object on the disk.
    ///
    /// # Errors
    /// I/O faults.
    pub fn seal(&mut self) -> Result<()> {
        self.push()?;
        if let Some(draft) = self.draft.take() {
            draft.publish()?;
            self.made = true;
        }
        Ok(())
    }

    /// Gives the sealed object its name, in a folder that is made; returns its size, and whether it is new. After a
    /// failure it can be tried again.
    ///
    /// # Errors
    /// `shard_conflict` where an object with other bytes is there; I/O faults.
    pub fn publish(&mut self, path: &RelPath) -> Result<(u64, bool)> {
        if let Some(folder) = path.parent() {
            self.root.create_folder(&folder)?;
        }
        let named = match self.root.rename(&self.temporary, path) {
            // File systems without a rename that refuses a name in use.
            Err(error) if error.kind() == Kind::Unsupported => {
                let bytes = self.root.read(&self.temporary)?;
                self.root.create(path, &bytes).inspect(|()| {
                    let _ = self.root.remove(&self.temporary);
                })
            }
            other => other,
        };
        match named {
            Ok(()) => {
                self.made = false;
                Ok((self.len, true))
            }
            Err(error) if error.kind() == Kind::Exists => {
                self.compare(path)?;
                Ok((self.len, false))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that the object at `path` is the same as this one.
    fn compare(&self, path: &RelPath) -> Result<()> {
        let old = self.root.open_unlinked(path)?;
        let new = self.root.open_unlinked(&self.temporary)?;
        if equal(old.as_ref(), new.as_ref())? {
            return Ok(());
        }
        let message = "expected a free name or the same object, found one with other bytes; publish under another attempt";
        Err(Error::new(Kind::Conflict, codes::SHARD_CONFLICT, Place::file(path), message))
    }
}

fn equal(a: &dyn ReadAt, b: &dyn ReadAt) -> Result<bool> {
    let len = a.len();
    if len != b.len() {
        return Ok(false);
    }
    let mut at = 0;
    while at < len {
        let end = len.min(at.saturating_add(PIECE));
        if a.read_ranges(&[at..end])? != b.read_ranges(&[at..end])? {
            return Ok(false);
        }
        at = end;
    }
    Ok(true)
}

impl io::Write for Object<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        self.len = self.len.saturating_add(bytes.len() as u64);
        if self.buffer.len() >= BUFFER {
            self.push().map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push().map_err(io::Error::other)
    }
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        if self.made {
            // Nothing more can be done about a leftover here; readers ignore it.
            let _ = self.root.remove(&self.temporary);
        }
    }
}
