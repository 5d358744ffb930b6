//! Folders and files inside of an archive.

use std::sync::Arc;

use packstone_container::zip::{Entry, Method};
use packstone_io::{AlignedBuf, Buf};

use super::super::super::layout::LEAF;
use super::super::node::Source;
use super::super::spill;
use super::super::store::{Elements, Folder, Item, Slot, Weight, fits, join};
use super::shared::{STREAM_FROM, Shared};
use crate::error::Result;

/// A folder inside of an archive.
pub(super) struct Inside {
    pub(super) shared: Arc<Shared>,
    pub(super) path: Box<str>,
    pub(super) items: Vec<Item>,
}

impl Folder for Inside {
    fn path(&self) -> &str {
        &self.path
    }

    fn items(&self) -> &[Item] {
        &self.items
    }

    fn document(&self, item: &Item, most: u64) -> Result<Buf> {
        fits(item.len.unwrap_or(0), most, &self.path, item)?;
        self.shared.decode(&self.shared.entry(item.number)?, item.number)
    }

    fn file(self: Arc<Self>, at: usize, Elements { align, .. }: Elements) -> Arc<dyn Source> {
        let item = self.items.get(at).map(|item| (item.number, item.len.unwrap_or(0)));
        let (number, len) = item.unwrap_or((usize::MAX, 0));
        let align = if align.is_power_of_two() { align } else { 1 };
        Arc::new(ArchiveFile { folder: self, at, number, len, align, slot: Slot::default() })
    }
}

struct ArchiveFile {
    folder: Arc<Inside>,
    at: usize,
    number: usize,
    len: u64,
    align: usize,
    slot: Slot,
}

impl std::fmt::Debug for ArchiveFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path(), self.len)
    }
}

impl ArchiveFile {
    fn name(&self) -> &str {
        self.folder.items.get(self.at).map(|item| item.name.as_str()).unwrap_or_default()
    }

    /// Leaves that are stored as they are have checksums that nobody looks at while reading.
    fn is_plain(&self, entry: &Entry) -> bool {
        entry.method() == Method::Stored && self.name().ends_with(LEAF)
    }
}

impl Source for ArchiveFile {
    fn path(&self) -> String {
        join(&self.folder.path, self.name())
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn locate(&self) -> Result<()> {
        self.folder.shared.entry(self.number).map(drop)
    }

    fn is_aligned(&self) -> bool {
        let Ok(entry) = self.folder.shared.entry(self.number) else { return true };
        !self.is_plain(&entry) || entry.range().start.is_multiple_of(self.align as u64)
    }

    fn open(&self) -> Result<Buf> {
        let (shared, number) = (&self.folder.shared, self.number);
        let entry = shared.entry(number)?;
        if self.is_plain(&entry) {
            let view = entry.view(&shared.bytes).map_err(|e| shared.fault(e, number))?;
            if view.as_ptr().align_offset(self.align) == 0 {
                return Ok(view);
            }
            return self.slot.get_or_load(&shared.shelf, || {
                if shared.spills(self.len) {
                    let copy = spill::spill(&self.path(), |out| out(&view))?;
                    return Ok((copy, Weight::Spilled(self.len)));
                }
                let mut copy = AlignedBuf::with_capacity(view.as_ref().len())?;
                copy.extend_from_slice(&view)?;
                Ok((Buf::from(copy), Weight::Bytes(self.len)))
            });
        }
        self.slot.get_or_load(&shared.shelf, || {
            if shared.spills(self.len) {
                let decoded = spill::spill(&self.path(), |out| shared.stream(&entry, number, out))?;
                return Ok((decoded, Weight::Spilled(self.len)));
            }
            Ok((shared.decode(&entry, number)?, Weight::Bytes(self.len)))
        })
    }

    fn packed(&self) -> Option<u32> {
        let many = self.len >= STREAM_FROM && self.slot.get().is_none();
        let entry = self.folder.shared.entry(self.number).ok().filter(|_| many)?;
        (entry.method() != Method::Stored).then(|| entry.crc32())
    }

    fn stream(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let entry = self.folder.shared.entry(self.number)?;
        match self.slot.get() {
            Some(bytes) => sink(&bytes),
            None if entry.method() != Method::Stored => {
                self.folder.shared.stream(&entry, self.number, sink)
            }
            None => sink(&self.open()?),
        }
    }

    fn verify(&self) -> Result<()> {
        let entry = self.folder.shared.entry(self.number)?;
        if !self.is_plain(&entry) {
            return Ok(());
        }
        entry
            .check_crc(&self.folder.shared.bytes)
            .map_err(|e| self.folder.shared.fault(e, self.number))
    }
}
