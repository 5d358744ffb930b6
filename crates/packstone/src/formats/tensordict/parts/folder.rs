//! A tree in a folder.
//!
//! Small files are read and copied to buffers of their own size, large ones are mapped by the root. Where a tree has so
//! many large files that maps of all of them could not be had at once, maps are made for one reader and not kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use packstone_io::{AlignedBuf, Buf, Entry, EntryKind, Kind, RelPath, Root};

use super::super::codes;
use super::node::Source;
use super::store::{Folder, Item, ItemKind, Shelf, ShelfSize, Slot, Store, Weight, join};
use crate::error::{Error, Place, Result};

/// Files from this size on come as maps.
const MAPPED: u64 = 256 << 10;
/// So many large files are too many to map at once.
const CROWD: usize = 8192;
/// What a kept buffer takes beyond its bytes.
const OVERHEAD: u64 = 256;
/// Of 65,530 maps that a process may have by default, a fraction, so that many datasets can be open.
const KEPT: ShelfSize = ShelfSize { maps: 1024, bytes: 64 << 20 };

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
        let kind = |kind| match kind {
            EntryKind::File => ItemKind::File,
            EntryKind::Folder => ItemKind::Folder,
            EntryKind::Other => ItemKind::Link,
        };
        let item = |e: Entry| Item { name: e.name, kind: kind(e.kind), len: e.len, number: 0 };
        let items = entries.into_iter().map(item).collect();
        Ok(Arc::new(Listed { shared: Arc::clone(&self.shared), path: path.into(), items }))
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

    fn read(&self, item: &Item) -> Result<Buf> {
        Ok(self.shared.root.read(&checked(&join(&self.path, &item.name))?)?)
    }

    /// Maps and buffers start at multiples of more than any element takes.
    fn file(self: Arc<Self>, at: usize, _align: usize) -> Arc<dyn Source> {
        let file = FolderFile { folder: self, at, slot: Slot::default() };
        if file.len() >= MAPPED {
            file.folder.shared.large.fetch_add(1, Ordering::Relaxed);
        }
        Arc::new(file)
    }
}

struct FolderFile {
    folder: Arc<Listed>,
    at: usize,
    slot: Slot,
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

    fn len(&self) -> u64 {
        self.folder.items.get(self.at).map_or(0, |item| item.len)
    }

    fn is_fleeting(&self) -> bool {
        self.len() >= MAPPED && self.folder.shared.large.load(Ordering::Relaxed) > CROWD
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
        let found = self.folder.shared.root.len(&checked(&self.path())?)?;
        if found == self.len() {
            return Ok(());
        }
        let message = format!("expected {} bytes as listed, found {found}", self.len());
        Err(Error::new(Kind::Conflict, codes::TRUNCATED_LEAF, Place::file(self.path()), message))
    }
}
