//! Files that grow while samples come: those of a folder in place, those of an archive in one nameless file.
//!
//! ```text
//! folder    a.memmap ◄─ appended    b.memmap ◄─ appended      a file is open only while it is written to
//! archive   scratch: a a b a b b …                            put in order when the archive is packed
//! ```
//!
//! Small pieces are gathered, so memory is bounded by the number of files, not by the number of samples.

use std::sync::Arc;

use packstone_io::{Buf, Kind, ReadAt, RelPath, RootMut, Scratch};

use super::super::codes;
use super::stage::Stage;
use crate::error::{Error, Place, Result};

/// Memory for pieces of all files, about.
const MEMORY: usize = 64 << 20;
/// Pieces of one file are gathered up to at least and at most this size.
const PIECE: (usize, usize) = (4 << 10, 1 << 20);

/// A file that grows.
#[derive(Debug)]
pub struct Growing {
    path: RelPath,
    gathered: Vec<u8>,
    /// Bytes that are written.
    len: u64,
    made: bool,
    /// Where the pieces of a file of an archive are.
    pieces: Vec<(u64, u64)>,
}

impl Growing {
    /// A file that will be at `path` in the tree, and made when its first byte comes.
    pub fn new(path: RelPath) -> Self {
        Self { path, gathered: Vec::new(), len: 0, made: false, pieces: Vec::new() }
    }

    /// Its path in the tree.
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Bytes that it has.
    pub fn len(&self) -> u64 {
        self.len.saturating_add(self.gathered.len() as u64)
    }

    /// True where it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where files grow.
pub enum Ground {
    /// In a folder.
    Folder(Stage),
    /// In a nameless file beside the archive to come.
    Archive(Pit),
}

/// A nameless file with the pieces of all files of an archive.
pub struct Pit {
    root: Arc<dyn RootMut>,
    scratch: Option<Box<dyn Scratch>>,
    len: u64,
}

impl Pit {
    /// A nameless file, made when the first piece comes.
    pub fn new(root: Arc<dyn RootMut>) -> Self {
        Self { root, scratch: None, len: 0 }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(u64, u64)> {
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            none => none.insert(self.root.scratch()?),
        };
        scratch.write(bytes)?;
        let piece = (self.len, bytes.len() as u64);
        self.len = self.len.saturating_add(piece.1);
        Ok(piece)
    }

    /// The pieces, to be read.
    ///
    /// # Errors
    /// `Io`.
    pub fn read_back(self) -> Result<Buf> {
        match self.scratch {
            Some(scratch) => {
                let file: Arc<dyn ReadAt> = scratch.read_back()?;
                Ok(file.read_all()?)
            }
            None => Ok(Buf::default()),
        }
    }
}

/// Files that grow together.
pub struct Growth {
    /// Where they grow.
    pub ground: Ground,
    /// How much of each is gathered before it is written.
    piece: usize,
}

impl Growth {
    /// So many files that grow in one place.
    pub fn new(ground: Ground, files: usize) -> Self {
        let piece = MEMORY.checked_div(files).unwrap_or(MEMORY).clamp(PIECE.0, PIECE.1);
        Self { ground, piece }
    }

    /// Appends bytes to a file.
    ///
    /// # Errors
    /// `Io`.
    pub fn append(&mut self, file: &mut Growing, bytes: &[u8]) -> Result<()> {
        if file.gathered.len().saturating_add(bytes.len()) < self.piece {
            file.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush(file)?;
        if bytes.len() < self.piece {
            file.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.write(file, bytes)
    }

    /// Writes what is gathered.
    ///
    /// # Errors
    /// `Io`.
    pub fn flush(&mut self, file: &mut Growing) -> Result<()> {
        let gathered = std::mem::take(&mut file.gathered);
        if !gathered.is_empty() {
            self.write(file, &gathered)?;
            // The memory serves again.
            file.gathered = gathered;
            file.gathered.clear();
        }
        Ok(())
    }

    /// Makes a file where there is none yet, also without a byte.
    ///
    /// # Errors
    /// `Io`.
    pub fn make(&mut self, file: &mut Growing) -> Result<()> {
        if !file.made
            && let Ground::Folder(stage) = &mut self.ground
        {
            stage.create(&file.path, b"")?;
        }
        file.made = true;
        Ok(())
    }

    fn write(&mut self, file: &mut Growing, bytes: &[u8]) -> Result<()> {
        self.make(file)?;
        let end = file.len.saturating_add(bytes.len() as u64);
        match &mut self.ground {
            Ground::Folder(stage) => {
                let edit = stage.root().edit(&stage.path(&file.path))?;
                edit.set_len(end)?;
                edit.write_at(file.len, bytes)?;
            }
            Ground::Archive(pit) => file.pieces.push(pit.write(bytes)?),
        }
        file.len = end;
        Ok(())
    }

    /// Writes what is gathered and gives the memory back.
    ///
    /// # Errors
    /// `Io`.
    pub fn close(&mut self, file: &mut Growing) -> Result<()> {
        self.flush(file)?;
        file.gathered = Vec::new();
        Ok(())
    }
}

impl Growing {
    /// The pieces of a file of an archive, out of what [`Pit::read_back`] gave.
    ///
    /// # Errors
    /// `truncated_leaf` where the nameless file has become shorter, which nobody else can do.
    pub fn pieces(&self, all: &Buf) -> Result<Vec<Buf>> {
        let bound = |n: u64| usize::try_from(n).ok();
        let piece = |(start, len): &(u64, u64)| {
            let range = bound(*start)?..bound(start.checked_add(*len)?)?;
            all.slice(range)
        };
        let pieces: Option<Vec<Buf>> = self.pieces.iter().map(piece).collect();
        pieces.ok_or_else(|| {
            let message = "expected what was written before, found less";
            let place = Place::file(&self.path);
            Error::new(Kind::Corrupt, codes::TRUNCATED_LEAF, place, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use packstone_io::{MemoryRoot, Root};

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    /// Pieces of three files, taking turns, of lengths around the size that is gathered.
    fn pieces() -> impl Iterator<Item = (usize, Vec<u8>)> {
        (0..60usize).map(|n| (n % 3, vec![u8::try_from(n).unwrap(); n * 977 % 9000]))
    }

    fn grown(ground: Ground) -> (Growth, Vec<Growing>) {
        // So many files that little of each is gathered.
        let mut growth = Growth::new(ground, 1 << 20);
        let mut files: Vec<Growing> =
            ["a", "b", "c"].iter().map(|name| Growing::new(path(name))).collect();
        for (file, bytes) in pieces() {
            growth.append(&mut files[file], &bytes).unwrap();
        }
        files.iter_mut().for_each(|file| growth.close(file).unwrap());
        (growth, files)
    }

    fn want() -> Vec<Vec<u8>> {
        let mut want = vec![Vec::new(); 3];
        pieces().for_each(|(file, bytes)| want[file].extend(bytes));
        want
    }

    #[test]
    fn files_of_a_folder_are_appended_to() {
        let memory = MemoryRoot::new();
        let root: Arc<dyn RootMut> = Arc::new(memory.clone());
        let stage = Stage::begin(&root, &RelPath::root(), false).unwrap();
        let (growth, files) = grown(Ground::Folder(stage));
        let Ground::Folder(stage) = growth.ground else { panic!("a folder") };
        stage.finish(b"{}").unwrap();
        for (file, want) in files.iter().zip(want()) {
            assert_eq!(memory.read(file.path()).unwrap().to_vec(), want);
            assert_eq!(file.len(), want.len() as u64);
        }
    }

    #[test]
    fn files_of_an_archive_are_put_in_order_out_of_one() {
        let root: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
        let (growth, files) = grown(Ground::Archive(Pit::new(root)));
        let Ground::Archive(pit) = growth.ground else { panic!("an archive") };
        let all = pit.read_back().unwrap();
        for (file, want) in files.iter().zip(want()) {
            let pieces = file.pieces(&all).unwrap();
            assert!(pieces.len() > 1);
            assert_eq!(pieces.iter().flat_map(|piece| piece.to_vec()).collect::<Vec<_>>(), want);
        }
        assert!(files[0].pieces(&Buf::default()).is_err());
    }
}
