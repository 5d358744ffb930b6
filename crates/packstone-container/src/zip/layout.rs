//! Where entries will stand in an archive that is yet to be written.

use super::{EntryOptions, WriteError, Writer};

/// An entry to come.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// Its name.
    pub name: &'a str,
    /// Bytes of its content.
    pub len: u64,
    /// Bytes that stand in the file; for a stored entry as many.
    pub compressed_len: u64,
    /// How it will be written.
    pub options: EntryOptions,
}

/// Where an entry will stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where its local header starts.
    pub header_offset: u64,
    /// Where its payload starts.
    pub data_offset: u64,
}

/// An archive to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The entries, in the order in which they were planned.
    pub entries: Vec<Placed>,
    /// Where the central directory will start.
    pub directory_offset: u64,
    /// Bytes of the whole archive.
    pub len: u64,
}

impl Layout {
    /// Lays out an archive that a [`Writer`] will make of `entries`, in this order.
    ///
    /// # Errors
    /// [`WriteError`] where a name is too long or taken, or the method is one that cannot be written.
    pub fn plan<'a>(entries: impl IntoIterator<Item = Planned<'a>>) -> Result<Self, WriteError> {
        let mut writer = Writer::new(std::io::sink());
        let mut placed = Vec::new();
        for entry in entries {
            let Planned { name, len, compressed_len, options } = entry;
            placed.push(writer.place(name, 0, len, compressed_len, options)?);
        }
        let directory_offset = writer.position();
        let len = directory_offset + writer.write_end()?;
        Ok(Self { entries: placed, directory_offset, len })
    }
}
