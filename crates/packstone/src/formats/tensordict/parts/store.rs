//! Where the files of a tree are: a folder or an archive, seen alike.
//!
//! ```text
//! Store ── folder(path) ──► Folder ─┬─ items ──► Item { name, kind, len }
//!                                   └─ file(position) ──► Source ── open ──► Buf
//!                                                           └─ Slot on the shelf: kept for the next reader
//! ```
//!
//! Listing a folder says which files there are and how long: nothing is opened to open a tree. Names are names of
//! entries; none ever becomes a path outside of the store, and no link is followed. What was read or mapped stays on a
//! [`Shelf`], whose size bounds maps and memory, not what can be read.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use packstone_io::{Buf, Kind};

use super::super::codes;
use super::node::Source;
use crate::error::{Error, Place, Result};

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, or something else that is neither.
    Link,
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name, one path component.
    pub name: String,
    /// What it is.
    pub kind: ItemKind,
    /// Bytes of a file once decoded; `None` where nobody has looked.
    pub len: Option<u64>,
    /// Where an archive has it in its table.
    pub number: usize,
}

/// The files of one dataset.
pub trait Store: Send + Sync {
    /// A folder, as it is now; the root is the empty path.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `Io`.
    fn folder(&self, path: &str) -> Result<Arc<dyn Folder>>;

    /// The same, with lengths of files only where they cost nothing.
    ///
    /// # Errors
    /// As for [`Store::folder`].
    fn names(&self, path: &str) -> Result<Arc<dyn Folder>> {
        self.folder(path)
    }

    /// True where a link in `folder` leads back to a folder that holds it.
    fn is_cycle(&self, folder: &str, name: &str) -> bool;
}

/// A folder of a store, as it was when it was asked for. Its files share it: none needs a name of its own.
pub trait Folder: Send + Sync {
    /// Its path in the store.
    fn path(&self) -> &str;

    /// Its entries, sorted by name.
    fn items(&self) -> &[Item];

    /// A document that is one of its entries, of `most` bytes at most.
    ///
    /// # Errors
    /// `Corrupt`, `Limit`, `Io`.
    fn document(&self, item: &Item, most: u64) -> Result<Buf>;

    /// The file at a position in its entries.
    fn file(self: Arc<Self>, at: usize, elements: Elements) -> Arc<dyn Source>;
}

/// What is known of the elements in a file.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// Bytes of all of them; 0 where nobody knows.
    pub bytes: u64,
    /// The file's bytes shall start at a multiple of this.
    pub align: usize,
}

impl Elements {
    /// Of a file that is any bytes.
    pub const NONE: Self = Self { bytes: 0, align: 1 };
}

/// Refuses a document of more than `most` bytes.
pub fn fits(len: u64, most: u64, folder: &str, item: &Item) -> Result<()> {
    if len <= most {
        return Ok(());
    }
    let message = format!("expected a document of at most {most} bytes, found {len}");
    let place = Place::file(join(folder, &item.name));
    Err(Error::new(Kind::Limit, codes::MALFORMED_JSON, place, message))
}

/// `folder/name`, or `name` in the root.
pub fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// What a kept buffer takes from its shelf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// One of the maps that a process may have.
    Map,
    /// The map of a temporary file of so many bytes.
    Spilled(u64),
    /// Memory, in bytes.
    Bytes(u64),
}

/// How much a shelf keeps.
#[derive(Clone, Copy, Debug)]
pub struct ShelfSize {
    /// Maps.
    pub maps: usize,
    /// Bytes of memory.
    pub bytes: u64,
    /// Bytes of temporary files.
    pub spilled: u64,
}

/// A place on a shelf. Of thousands of files most are never opened: until then it takes no memory of its own.
#[derive(Debug, Default)]
pub struct Slot(OnceLock<Arc<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    kept: Mutex<Option<(Buf, Weight)>>,
    used: AtomicBool,
}

impl Slot {
    /// The kept buffer, if there is one.
    pub fn get(&self) -> Option<Buf> {
        let kept = self.0.get()?.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().map(|(bytes, _)| bytes.clone())
    }

    /// The kept buffer, or what `load` gives, which is kept from then on. Others wait while it loads.
    ///
    /// # Errors
    /// Those of `load`; then nothing is kept.
    pub fn get_or_load(
        &self,
        shelf: &Shelf,
        load: impl FnOnce() -> Result<(Buf, Weight)>,
    ) -> Result<Buf> {
        let place = self.0.get_or_init(Arc::default);
        let mut kept = place.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((bytes, _)) = kept.as_ref() {
            place.used.store(true, Ordering::Relaxed);
            return Ok(bytes.clone());
        }
        let (bytes, weight) = load()?;
        *kept = Some((bytes.clone(), weight));
        drop(kept);
        shelf.admit(Arc::clone(place), weight);
        Ok(bytes)
    }
}

/// Keeps buffers in slots until there are too many; what was used since it was last looked at stays longer.
pub struct Shelf {
    size: ShelfSize,
    row: Mutex<Row>,
}

#[derive(Default)]
struct Row {
    places: VecDeque<Arc<Kept>>,
    maps: usize,
    bytes: u64,
    spilled: u64,
}

impl Row {
    fn add(&mut self, weight: Weight) {
        match weight {
            Weight::Map => self.maps = self.maps.saturating_add(1),
            Weight::Bytes(n) => self.bytes = self.bytes.saturating_add(n),
            Weight::Spilled(n) => {
                self.maps = self.maps.saturating_add(1);
                self.spilled = self.spilled.saturating_add(n);
            }
        }
    }

    fn subtract(&mut self, weight: Weight) {
        match weight {
            Weight::Map => self.maps = self.maps.saturating_sub(1),
            Weight::Bytes(n) => self.bytes = self.bytes.saturating_sub(n),
            Weight::Spilled(n) => {
                self.maps = self.maps.saturating_sub(1);
                self.spilled = self.spilled.saturating_sub(n);
            }
        }
    }

    fn exceeds(&self, size: ShelfSize) -> bool {
        self.maps > size.maps || self.bytes > size.bytes || self.spilled > size.spilled
    }
}

impl Shelf {
    /// An empty shelf.
    pub fn new(size: ShelfSize) -> Self {
        Self { size, row: Mutex::default() }
    }

    fn admit(&self, place: Arc<Kept>, weight: Weight) {
        let mut row = self.row.lock().unwrap_or_else(PoisonError::into_inner);
        row.add(weight);
        row.places.push_back(place);
        // Each place is looked at twice at most: once used, it gets a second round.
        let mut looks = row.places.len().saturating_mul(2);
        while row.exceeds(self.size) && looks > 0 && row.places.len() > 1 {
            looks -= 1;
            let Some(oldest) = row.places.pop_front() else { break };
            if oldest.used.swap(false, Ordering::Relaxed) {
                row.places.push_back(oldest);
                continue;
            }
            // Who holds the lock is filling the place right now; it stays.
            let taken = oldest.kept.try_lock().ok().map(|mut kept| kept.take());
            match taken {
                Some(Some((_, weight))) => row.subtract(weight),
                Some(None) => {}
                None => row.places.push_back(oldest),
            }
        }
    }

    /// Maps and bytes that are kept now.
    pub fn kept(&self) -> (usize, u64) {
        let row = self.row.lock().unwrap_or_else(PoisonError::into_inner);
        (row.maps, row.bytes)
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (maps, bytes) = self.kept();
        write!(f, "Shelf({maps} maps, {bytes} bytes)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(slot: &Slot, shelf: &Shelf, weight: Weight, loads: &mut u32) -> Buf {
        slot.get_or_load(shelf, || {
            *loads += 1;
            Ok((Buf::from(vec![7; 3]), weight))
        })
        .unwrap()
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_used_stays() {
        let shelf = Shelf::new(ShelfSize { maps: 2, bytes: 100, spilled: 0 });
        let slots: Vec<_> = (0..5).map(|_| Slot::default()).collect();
        let mut loads = 0;
        load(&slots[0], &shelf, Weight::Map, &mut loads);
        for slot in &slots[1..] {
            load(slot, &shelf, Weight::Map, &mut loads);
            load(&slots[0], &shelf, Weight::Map, &mut loads);
        }
        assert_eq!((loads, shelf.kept().0), (5, 2));
        load(&slots[1], &shelf, Weight::Map, &mut loads);
        assert_eq!(loads, 6);
    }

    #[test]
    fn memory_is_counted_in_bytes_and_one_buffer_always_fits() {
        let shelf = Shelf::new(ShelfSize { maps: 1, bytes: 100, spilled: 0 });
        let mut loads = 0;
        for _ in 0..10 {
            load(&Slot::default(), &shelf, Weight::Bytes(40), &mut loads);
            assert!(shelf.kept().1 <= 100);
        }
        let large = Slot::default();
        load(&large, &shelf, Weight::Bytes(5000), &mut loads);
        load(&large, &shelf, Weight::Bytes(5000), &mut loads);
        assert_eq!((loads, shelf.kept()), (11, (0, 5000)));
    }

    #[test]
    fn temporary_files_are_counted_as_maps_and_in_bytes() {
        let shelf = Shelf::new(ShelfSize { maps: 3, bytes: 0, spilled: 100 });
        let slots: Vec<_> = (0..4).map(|_| Slot::default()).collect();
        let mut loads = 0;
        for (slot, kept) in slots.iter().zip([1, 2, 2, 2]) {
            load(slot, &shelf, Weight::Spilled(50), &mut loads);
            assert_eq!(shelf.kept(), (kept, 0));
        }
        for slot in &slots {
            load(slot, &shelf, Weight::Spilled(1), &mut loads);
            assert!(shelf.kept().0 <= 3);
        }
    }

    #[test]
    fn a_failed_load_keeps_nothing() {
        let (shelf, slot) =
            (Shelf::new(ShelfSize { maps: 1, bytes: 1, spilled: 0 }), Slot::default());
        let fault = || Err(Error::new(Kind::Io, "io/fault", Place::default(), "x"));
        assert!(slot.get_or_load(&shelf, fault).is_err());
        assert_eq!(shelf.kept(), (0, 0));
        let mut loads = 0;
        load(&slot, &shelf, Weight::Map, &mut loads);
        assert_eq!(loads, 1);
    }
}
