//! A tree in a folder.
//!
//! Small files are read and copied to buffers of their own size, large ones are mapped by the root. Where a tree has so
//! many large files that maps of all of them could not be had at once, maps are made for one reader and not kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use packstone_io::{AlignedBuf, Buf, EntryKind, Kind, RelPath, Root};

use super::super::codes;
use super::node::Source;
use super::store::{
    Elements, Folder, Item, ItemKind, Shelf, ShelfSize, Slot, Store, Weight, fits, join,
};
use crate::error::{Error, Place, Result};

/// Files from this size on come as maps.
const MAPPED: u64 = 256 << 10;
/// So many large files are too many to map at once.
const CROWD: usize = 8192;
/// What a kept buffer takes beyond its bytes.
const OVERHEAD: u64 = 256;
/// Of 65,530 maps that a process may have by default, a fraction, so that many datasets can be open.
const KEPT: ShelfSize = ShelfSize { maps: 1024, bytes: 64 << 20, spilled: 0 };

/// A folder with a tree in it.
pub struct FolderStore {
    shared: Arc<Shared>,
}

struct Shared {
    root: Arc<dyn Root>,
    shelf: Shelf,
    /// Large files that were asked for.
    large: AtomicUsize,
}

impl FolderStore {
    /// The tree in `root`.
    pub fn new(root: Arc<dyn Root>) -> Self {
        let (shelf, large) = (Shelf::new(KEPT), AtomicUsize::new(0));
        Self { shared: Arc::new(Shared { root, shelf, large }) }
    }

    fn listed(&self, path: &str, items: impl Iterator<Item = Item>) -> Arc<dyn Folder> {
        let (shared, items) = (Arc::clone(&self.shared), items.collect());
        Arc::new(Listed { shared, path: path.into(), items })
    }
}

fn item(name: String, kind: EntryKind, len: Option<u64>) -> Item {
    let kind = match kind {
        EntryKind::File => ItemKind::File,
        EntryKind::Folder => ItemKind::Folder,
        EntryKind::Other => ItemKind::Link,
    };
    Item { name, kind, len, number: 0 }
}

/// A checked path of names that were listed. A name such as `x:y` is a name here and no drive.
fn checked(path: &str) -> Result<RelPath> {
    RelPath::new(&format!("./{path}")).map_err(|why| {
        let message = format!("expected a name that is one path component, found {path:?}: {why}");
        Error::new(Kind::Denied, codes::PATH_ESCAPE, Place::file(path), message)
    })
}

impl Store for FolderStore {
    fn folder(&self, path: &str) -> Result<Arc<dyn Folder>> {
        let entries = self.shared.root.list(&checked(path)?)?;
        let items = entries.into_iter().map(|entry| item(entry.name, entry.kind, Some(entry.len)));
        Ok(self.listed(path, items))
    }

    fn names(&self, path: &str) -> Result<Arc<dyn Folder>> {
        let names = self.shared.root.names(&checked(path)?)?;
        Ok(self.listed(path, names.into_iter().map(|name| item(name.name, name.kind, None))))
    }

    fn is_cycle(&self, folder: &str, name: &str) -> bool {
        // Going through the link and then the same way again meets the link again, from some folder above it.
        let link = join(folder, name);
        let parts: Vec<&str> = link.split('/').collect();
        (0..parts.len()).any(|above| {
            let again = parts.iter().skip(above).take(parts.len() - above - 1);
            let folder =
                std::iter::once(&link.as_str()).chain(again).copied().collect::<Vec<_>>().join("/");
            let listed =
                checked(&folder).ok().and_then(|folder| self.shared.root.list(&folder).ok());
            listed.is_some_and(|entries| {
                entries.iter().any(|e| e.name == name && e.kind == EntryKind::Other)
            })
        })
    }
}

/// A folder as it was listed.
struct Listed {
    shared: Arc<Shared>,
    path: Box<str>,
    items: Vec<Item>,
}

impl Folder for Listed {
    fn path(&self) -> &str {
        &self.path
    }

    fn items(&self) -> &[Item] {
        &self.items
    }

    fn document(&self, item: &Item, most: u64) -> Result<Buf> {
        let file = self.shared.root.open(&checked(&join(&self.path, &item.name))?)?;
        fits(file.len(), most, &self.path, item)?;
        Ok(file.read_all()?)
    }

    /// Maps and buffers start at multiples of more than any element takes.
    fn file(self: Arc<Self>, at: usize, elements: Elements) -> Arc<dyn Source> {
        let len = self.items.get(at).and_then(|item| item.len).unwrap_or(elements.bytes);
        let is_large = len >= MAPPED;
        if is_large {
            self.shared.large.fetch_add(1, Ordering::Relaxed);
        }
        Arc::new(FolderFile { folder: self, at, is_large, slot: Slot::default() })
    }
}

struct FolderFile {
    folder: Arc<Listed>,
    at: usize,
    is_large: bool,
    slot: Slot,
}

impl FolderFile {
    /// Its length as it was listed.
    fn listed(&self) -> Option<u64> {
        self.folder.items.get(self.at)?.len
    }

    /// Its length as it is now.
    fn found(&self) -> Result<u64> {
        Ok(self.folder.shared.root.len(&checked(&self.path())?)?)
    }
}

impl std::fmt::Debug for FolderFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path(), self.len())
    }
}

impl Source for FolderFile {
    fn path(&self) -> String {
        let name = self.folder.items.get(self.at).map(|item| item.name.as_str());
        join(&self.folder.path, name.unwrap_or_default())
    }

    /// Of a file that is gone, none is left.
    fn len(&self) -> u64 {
        self.listed().or_else(|| self.found().ok()).unwrap_or(0)
    }

    fn is_fleeting(&self) -> bool {
        self.is_large && self.folder.shared.large.load(Ordering::Relaxed) > CROWD
    }

    fn open(&self) -> Result<Buf> {
        let read = || Ok::<_, Error>(self.folder.shared.root.read(&checked(&self.path())?)?);
        if self.is_fleeting() {
            return read();
        }
        self.slot.get_or_load(&self.folder.shared.shelf, || {
            let bytes = read()?;
            let len = bytes.as_ref().len();
            if len as u64 >= MAPPED {
                return Ok((bytes, Weight::Map));
            }
            // What small files are read into is larger than they are.
            let mut small = AlignedBuf::with_capacity(len)?;
            small.extend_from_slice(&bytes)?;
            Ok((Buf::from(small), Weight::Bytes(OVERHEAD.saturating_add(len as u64))))
        })
    }

    /// There is no checksum; that the file can be opened and is as long as it was listed is what can be known.
    fn verify(&self) -> Result<()> {
        let found = self.found()?;
        match self.listed() {
            Some(len) if len != found => {
                let message = format!("expected {len} bytes as listed, found {found}");
                let place = Place::file(self.path());
                Err(Error::new(Kind::Conflict, codes::TRUNCATED_LEAF, place, message))
            }
            _ => Ok(()),
        }
    }
}
