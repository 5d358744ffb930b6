//! One folder and everything below it: what is read and written goes through here.

use std::sync::Arc;
use std::time::Duration;

use crate::buffer::Buf;
use crate::error::IoError;
use crate::path::RelPath;
use crate::read::ReadAt;

/// What a folder entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, a device, a socket or a pipe.
    Other,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, one path component.
    pub name: String,
    /// What it is, not followed through links.
    pub kind: EntryKind,
    /// Bytes, for files.
    pub len: u64,
}

/// The name of an entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name, one path component.
    pub name: String,
    /// What it is of, not followed through links.
    pub kind: EntryKind,
}

/// A file that grows by whole entries while its writer lives.
pub trait Journal: Send {
    /// Appends an entry; what a killed process appended stays.
    ///
    /// # Errors
    /// `Io`.
    fn append(&mut self, entry: &[u8]) -> Result<(), IoError>;
}

/// A file in the making: it gets its name when it is complete. Dropped before that, nothing of it stays.
pub trait Draft: Send {
    /// Appends to it.
    ///
    /// # Errors
    /// `Io`.
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError>;

    /// Puts it on the disk and gives it its name; an old file of that name is replaced and leaves its permissions.
    ///
    /// # Errors
    /// `Io`; then the old file stands.
    fn publish(self: Box<Self>) -> Result<(), IoError>;

    /// Puts it on the disk and gives it its name, which must be free.
    ///
    /// # Errors
    /// `Exists` where somebody has the name, also since the draft was started; `Io`. Then nothing of the draft stays.
    fn publish_new(self: Box<Self>) -> Result<(), IoError>;
}

/// A file without a name: written piece by piece, read back once it is complete, and gone with its owner, also where
/// that one is killed.
pub trait Scratch: Send {
    /// Appends to it.
    ///
    /// # Errors
    /// `Io`.
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError>;

    /// What was written.
    ///
    /// # Errors
    /// `Io`.
    fn read_back(self: Box<Self>) -> Result<Arc<dyn ReadAt>, IoError>;
}

/// A file that is changed in place, for formats whose files are memory maps of their users.
pub trait Edit: Send + Sync {
    /// Its length in bytes.
    ///
    /// # Errors
    /// `Io`.
    fn len(&self) -> Result<u64, IoError>;

    /// True for a file without bytes.
    ///
    /// # Errors
    /// `Io`.
    fn is_empty(&self) -> Result<bool, IoError> {
        Ok(self.len()? == 0)
    }

    /// Overwrites what is there from `offset` on; it does not grow the file.
    ///
    /// # Errors
    /// `Invalid` where the range ends past the file, `Io`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError>;

    /// Cuts the file or lets it grow with zeros, which take no place on the disk where it can leave holes.
    ///
    /// # Errors
    /// `Io`.
    fn set_len(&self, len: u64) -> Result<(), IoError>;

    /// Puts what was written on the disk.
    ///
    /// # Errors
    /// `Io`.
    fn sync(&self) -> Result<(), IoError>;
}

/// A readable folder. Paths are checked and stay below it, also through links.
pub trait Root: Send + Sync {
    /// How people call it: the path or address it was opened by.
    fn label(&self) -> String;

    /// The one file that this root shows, where the dataset is a file and no folder.
    fn sole_file(&self) -> Option<&RelPath> {
        None
    }

    /// Opens a file for positional reads.
    ///
    /// # Errors
    /// `NotFound`, `Denied` (leaves the root), `Invalid` (not a regular file), `Io`.
    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError>;

    /// Opens a file as [`Root::open`] does, for formats that allow no symbolic links: not even one that stays below.
    ///
    /// # Errors
    /// As for [`Root::open`], and `Denied` for a link on the way or in the place of the file.
    fn open_unlinked(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.open(path)
    }

    /// The whole content of a file.
    ///
    /// # Errors
    /// As for [`Root::open`].
    fn read(&self, path: &RelPath) -> Result<Buf, IoError> {
        self.open(path)?.read_all()
    }

    /// The length of a file in bytes.
    ///
    /// # Errors
    /// As for [`Root::open`].
    fn len(&self, path: &RelPath) -> Result<u64, IoError> {
        Ok(self.open(path)?.len())
    }

    /// The entries of a folder, sorted by name. Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// As for [`Root::open`].
    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError>;

    /// The same without lengths, which of thousands of files cost more than all the rest.
    ///
    /// # Errors
    /// As for [`Root::open`].
    fn names(&self, folder: &RelPath) -> Result<Vec<Name>, IoError> {
        let name = |Entry { name, kind, .. }| Name { name, kind };
        Ok(self.list(folder)?.into_iter().map(name).collect())
    }
}

/// A writable folder.
///
/// New files appear under their name only when complete. [`RootMut::create`] leaves syncing to
/// [`RootMut::persist`], so that many files can go to the disk while more are made; [`RootMut::replace`] is durable
/// when it returns.
pub trait RootMut: Root {
    /// Writes a file that must not exist yet.
    ///
    /// # Errors
    /// `Exists`, `Denied`, `Io`; then nothing is left under `path`.
    fn create(&self, path: &RelPath, content: &[u8]) -> Result<(), IoError>;

    /// Writes files, replacing old ones. All of them are staged and synced first and then renamed one right after the
    /// other in the order given, so that the last one can be the one that makes the others count.
    ///
    /// # Errors
    /// `Denied`, `Io`; where staging fails, all old contents stand.
    fn replace(&self, files: &[(RelPath, Vec<u8>)]) -> Result<(), IoError>;

    /// Starts a file that is written piece by piece, for those that do not fit memory.
    ///
    /// # Errors
    /// `Denied`, `Io`.
    fn draft(&self, path: &RelPath) -> Result<Box<dyn Draft>, IoError>;

    /// Starts a file without a name beside the files of this root, for what does not fit memory and is no file yet.
    ///
    /// # Errors
    /// `Denied`, `Io`.
    fn scratch(&self) -> Result<Box<dyn Scratch>, IoError>;

    /// Opens an existing file to change it in place.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `Io`.
    fn edit(&self, path: &RelPath) -> Result<Box<dyn Edit>, IoError>;

    /// Gives a file or folder another name, which must be free, and puts both names on the disk.
    ///
    /// # Errors
    /// `NotFound`, `Exists`, `Denied`, `Io`.
    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), IoError>;

    /// Lets two files or folders swap their names in one step, and puts both on the disk.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `Unsupported` where the file system cannot, `Io`.
    fn exchange(&self, one: &RelPath, other: &RelPath) -> Result<(), IoError>;

    /// Starts a journal: a new file that grows by whole entries and stays locked while its writer lives.
    ///
    /// # Errors
    /// `Exists`, `Denied`, `Io`.
    fn journal(&self, path: &RelPath) -> Result<Box<dyn Journal>, IoError>;

    /// True where a living writer holds the journal at `path`.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn journal_is_held(&self, path: &RelPath) -> Result<bool, IoError>;

    /// Makes a folder and its parents; one that exists is fine.
    ///
    /// # Errors
    /// `Denied`, `Io`.
    fn create_folder(&self, path: &RelPath) -> Result<(), IoError>;

    /// Puts a created file, or a folder with the names in it, on the disk.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn persist(&self, path: &RelPath) -> Result<(), IoError>;

    /// Puts everything that was written so far on the disk, in one go: for many small files that is far less work than
    /// [`RootMut::persist`] for each.
    ///
    /// # Errors
    /// `Io`.
    fn persist_all(&self) -> Result<(), IoError>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `Io`.
    fn remove(&self, path: &RelPath) -> Result<(), IoError>;

    /// Removes a folder that has nothing in it.
    ///
    /// # Errors
    /// `NotFound`, `Io` where something is in it.
    fn remove_folder(&self, path: &RelPath) -> Result<(), IoError>;

    /// Takes the one writer's lock of this root, waiting at most `patience`. A dead process holds no lock.
    ///
    /// # Errors
    /// `Conflict` when somebody else holds it all that time.
    fn lock(&self, patience: Duration) -> Result<Box<dyn Send>, IoError>;
}
