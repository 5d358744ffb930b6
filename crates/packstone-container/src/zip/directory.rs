//! The central directory, with the entries left where they are until they are asked for.

use super::entry::Entry;
use super::local::Local;
use super::{CENTRAL_LEN, Method, Record, ZipError, end, name, wide};
use crate::Limits;

/// The central directory of an archive: what is in it, found in the last bytes of the file.
///
/// Opening reads no local header, so it costs the same over a gigabyte as over a megabyte. [`locate`](Self::locate)
/// then holds one entry against its local header and its neighbours. What the directory says of an entry is believed
/// over what the local header says, as CPython's `zipfile` does; [`Archive`](super::Archive) believes neither alone.
#[derive(Debug)]
pub struct Directory {
    pub(super) records: Vec<Record>,
    /// Positions in `records`, sorted by name.
    pub(super) by_name: Vec<usize>,
    /// For each record the position of the one whose local header comes next in the file.
    after: Vec<Option<usize>>,
    /// Where the directory starts and entries end.
    pub(super) start: u64,
    prefix: u64,
    trailing: u64,
    comment: std::ops::Range<usize>,
}

impl Directory {
    /// Reads the directory of `bytes`, a whole archive file.
    ///
    /// # Errors
    /// [`ZipError`] where the directory is damaged, contradicts itself, or exceeds `limits.entries`.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, ZipError> {
        let end = end::find(bytes)?;
        if end.count > limits.entries {
            let (limit, found) = (limits.entries, end.count);
            return Err(ZipError::Limit { what: "archive entries", limit, found });
        }
        let directory = bytes.get(..end.directory.end).unwrap_or_default();
        let room = wide(end.directory.len() / CENTRAL_LEN);
        if end.count > room {
            return Err(ZipError::Count { expected: end.count, found: room });
        }
        let mut records = Vec::with_capacity(usize::try_from(end.count).unwrap_or_default());
        let mut at = end.directory.start;
        while at < directory.len() {
            let (record, next) = Record::parse(directory, at, end.prefix)?;
            if wide(records.len()) == end.count {
                return Err(ZipError::Count { expected: end.count, found: end.count + 1 });
            }
            records.push(record);
            at = next;
        }
        if wide(records.len()) != end.count {
            return Err(ZipError::Count { expected: end.count, found: wide(records.len()) });
        }
        Ok(Self {
            by_name: by_name(&records),
            after: following(&records),
            records,
            start: wide(end.directory.start),
            prefix: end.prefix,
            trailing: end.trailing,
            comment: end.comment,
        })
    }

    /// The records, in the order of the directory.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The position of the record of that name; failing that, of the unflagged one whose raw name is `name` in UTF-8.
    ///
    /// # Errors
    /// [`ZipError::Duplicate`] where there are two.
    pub fn find(&self, name: &str) -> Result<Option<usize>, ZipError> {
        match self.named(name)? {
            Some(at) => Ok(Some(at)),
            None => {
                let misread = self.named(&name::from_cp437(name.as_bytes()))?;
                Ok(misread.filter(|at| self.is_unflagged(*at)))
            }
        }
    }

    fn is_unflagged(&self, at: usize) -> bool {
        self.records.get(at).is_some_and(|record| record.unflagged_name().is_some())
    }

    fn name_of(&self, at: usize) -> &str {
        self.records.get(at).map(Record::name).unwrap_or_default()
    }

    /// The one record whose name, as it was read, is `name`.
    fn named(&self, name: &str) -> Result<Option<usize>, ZipError> {
        let first = self.by_name.partition_point(|at| self.name_of(*at) < name);
        let mut same = self.by_name.iter().skip(first).take_while(|at| self.name_of(**at) == name);
        match (same.next(), same.next()) {
            (_, Some(_)) => Err(ZipError::Duplicate { name: name.to_owned() }),
            (found, None) => Ok(found.copied()),
        }
    }

    /// The positions of all records whose names begin with `prefix`, in either reading, sorted by name.
    pub fn under(&self, prefix: &str) -> impl Iterator<Item = usize> + '_ {
        // In ASCII both readings are one; then the second search must find nothing.
        let misread = Some(name::from_cp437(prefix.as_bytes())).filter(|_| !prefix.is_ascii());
        let unflagged = misread
            .into_iter()
            .flat_map(move |misread| self.starting(misread).filter(|at| self.is_unflagged(*at)));
        self.starting(prefix.to_owned()).chain(unflagged)
    }

    fn starting(&self, prefix: String) -> impl Iterator<Item = usize> + '_ {
        let first = self.by_name.partition_point(|at| self.name_of(*at) < prefix.as_str());
        let rest = self.by_name.iter().skip(first).copied();
        rest.take_while(move |at| self.name_of(*at).starts_with(&prefix))
    }

    /// The positions of all records whose name occurs more than once, sorted by name.
    pub fn duplicates(&self) -> impl Iterator<Item = usize> + '_ {
        self.by_name
            .chunk_by(|a, b| self.name_of(*a) == self.name_of(*b))
            .filter(|same| same.len() > 1)
            .flatten()
            .copied()
    }

    /// Finds the payload of the entry at position `index`, which must lie between its local header and the next
    /// entry's.
    ///
    /// `bytes` is the file that was parsed.
    ///
    /// # Errors
    /// [`ZipError`] where the entry needs a password, has no local header or one with another name, or shares bytes
    /// with another entry or the directory.
    pub fn locate(&self, bytes: &[u8], index: usize) -> Result<Entry, ZipError> {
        let (record, local) = self.local(bytes, index)?;
        Ok(Entry { record: record.clone(), data_offset: local.data_offset })
    }

    /// Holds method, CRC-32 and sizes in the local header of the entry at position `index` against the directory.
    ///
    /// # Errors
    /// As [`locate`](Self::locate); [`ZipError::LocalField`], [`ZipError::LocalCrc`] or [`ZipError::Zip64Extra`] where
    /// they differ.
    pub fn compare_local(&self, bytes: &[u8], index: usize) -> Result<(), ZipError> {
        let (record, local) = self.local(bytes, index)?;
        local.compare(record)
    }

    pub(super) fn local<'a>(
        &self,
        bytes: &'a [u8],
        index: usize,
    ) -> Result<(&Record, Local<'a>), ZipError> {
        let missing =
            ZipError::Count { expected: wide(index) + 1, found: wide(self.records.len()) };
        let record = self.records.get(index).ok_or(missing)?;
        let name = || record.name.clone();
        if record.is_encrypted() {
            return Err(ZipError::Encrypted { name: name() });
        }
        if record.method == Method::Stored {
            record.compare_len("data", record.len, record.compressed_len)?;
        }
        let local = Local::of(record, bytes, self.start)?;
        let end = local.data_offset.saturating_add(record.compressed_len);
        if end > self.start {
            return Err(ZipError::Outside { name: name(), end, limit: self.start });
        }
        let next = self.after.get(index).copied().flatten().and_then(|at| self.records.get(at));
        match next {
            Some(next) if end > next.header_offset => Err(ZipError::Overlap {
                first: name(),
                second: next.name.clone(),
                offset: next.header_offset,
            }),
            _ => Ok((record, local)),
        }
    }

    /// Bytes before the archive, which no entry uses.
    pub fn prefix_len(&self) -> u64 {
        self.prefix
    }

    /// Bytes after the archive comment.
    pub fn trailing_len(&self) -> u64 {
        self.trailing
    }

    /// Where the archive comment stands in the file.
    pub fn comment_range(&self) -> std::ops::Range<usize> {
        self.comment.clone()
    }
}

fn by_name(records: &[Record]) -> Vec<usize> {
    let mut named: Vec<(&str, usize)> =
        records.iter().enumerate().map(|(at, record)| (record.name(), at)).collect();
    named.sort_unstable();
    named.into_iter().map(|(_, at)| at).collect()
}

/// Which record's local header follows each record's in the file.
fn following(records: &[Record]) -> Vec<Option<usize>> {
    let mut starts: Vec<(u64, usize)> =
        records.iter().enumerate().map(|(at, record)| (record.header_offset, at)).collect();
    starts.sort_unstable();
    let mut after = vec![None; records.len()];
    for pair in starts.windows(2) {
        if let [(_, at), (_, next)] = pair
            && let Some(slot) = after.get_mut(*at)
        {
            *slot = Some(*next);
        }
    }
    after
}
