//! The central directory, and every entry held against its neighbours.
//!
//! ```text
//! central record: signature, made u16, needed u16, flags u16, method u16, time u16, date u16, crc u32, compressed u32,
//!                 len u32, name u16, extra u16, comment u16, disk u16, internal u16, external u32, offset u32,
//!                 name, extra, comment
//! ```

use super::entry::Entry;
use super::{
    CENTRAL, CENTRAL_LEN, FLAG_ENCRYPTED, FLAG_UTF8, ZipError, end, extra::Zip64, name, u16_at,
    u32_at, wide,
};
use crate::Limits;

/// The entries of an archive, in the order of its central directory.
#[derive(Debug)]
pub struct Archive {
    entries: Vec<Entry>,
    /// Positions in `entries`, sorted by name.
    by_name: Vec<usize>,
    prefix: u64,
    trailing: u64,
}

impl Archive {
    /// Reads the directory of `bytes`, a whole archive file, and holds all local headers against it.
    ///
    /// # Errors
    /// [`ZipError`] where the structure is damaged, contradicts itself, or exceeds `limits.entries`.
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
        let limit = wide(end.directory.start);
        let mut entries = Vec::new();
        let mut at = end.directory.start;
        while at < directory.len() {
            let (record, next) = Record::parse(directory, at)?;
            if wide(entries.len()) == end.count {
                return Err(ZipError::Count { expected: end.count, found: end.count + 1 });
            }
            entries.push(record.entry(end.prefix)?.locate(bytes, limit)?);
            at = next;
        }
        if wide(entries.len()) != end.count {
            return Err(ZipError::Count { expected: end.count, found: wide(entries.len()) });
        }
        apart(&entries)?;
        let by_name = index(&entries)?;
        Ok(Self { entries, by_name, prefix: end.prefix, trailing: end.trailing })
    }

    /// The entries, in the order of the central directory.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of that name; failing that, the unflagged entry whose raw name is `name` in UTF-8.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.named(name).or_else(|| {
            let unflagged = name::from_cp437(name.as_bytes());
            self.named(&unflagged).filter(|e| e.raw_name() == name.as_bytes())
        })
    }

    fn named(&self, name: &str) -> Option<&Entry> {
        let name_of = |&i: &usize| self.entries.get(i).map(Entry::name);
        let at = self.by_name.binary_search_by(|i| name_of(i).cmp(&Some(name))).ok()?;
        self.entries.get(*self.by_name.get(at)?)
    }

    /// Bytes before the archive, which no entry uses.
    pub fn prefix_len(&self) -> u64 {
        self.prefix
    }

    /// Bytes after the archive comment.
    pub fn trailing_len(&self) -> u64 {
        self.trailing
    }
}

/// Sorts by name and refuses a name that occurs twice.
fn index(entries: &[Entry]) -> Result<Vec<usize>, ZipError> {
    let mut by_name: Vec<(&str, usize)> =
        entries.iter().enumerate().map(|(i, e)| (e.name(), i)).collect();
    by_name.sort_unstable();
    match by_name.windows(2).find_map(|w| match w {
        [(a, _), (b, _)] if a == b => Some(*a),
        _ => None,
    }) {
        Some(twice) => Err(ZipError::Duplicate { name: twice.to_owned() }),
        None => Ok(by_name.into_iter().map(|(_, i)| i).collect()),
    }
}

/// Refuses entries that share bytes.
fn apart(entries: &[Entry]) -> Result<(), ZipError> {
    let mut by_start: Vec<&Entry> = entries.iter().collect();
    by_start.sort_unstable_by_key(|e| e.header_offset());
    for pair in by_start.windows(2) {
        if let [a, b] = pair
            && a.range().end > b.header_offset()
        {
            return Err(ZipError::Overlap {
                first: a.name().to_owned(),
                second: b.name().to_owned(),
                offset: b.header_offset(),
            });
        }
    }
    Ok(())
}

/// One central record, fields as they stand.
struct Record<'a> {
    at: u64,
    flags: u16,
    method: u16,
    crc32: u32,
    compressed: u32,
    len: u32,
    disk: u16,
    offset: u32,
    name: &'a [u8],
    extra: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the record at `at`; returns where the next one starts.
    fn parse(directory: &'a [u8], at: usize) -> Result<(Self, usize), ZipError> {
        let offset = wide(at);
        let what = "central record";
        let cut = ZipError::Truncated { what, offset };
        match u32_at(directory, at) {
            Some(CENTRAL) => {}
            Some(found) => return Err(ZipError::Signature { what, offset, found }),
            None => return Err(cut),
        }
        Self::fields(directory.get(at..).unwrap_or_default(), offset)
            .map(|(record, len)| (record, at.saturating_add(len)))
            .ok_or(cut)
    }

    fn fields(bytes: &'a [u8], at: u64) -> Option<(Self, usize)> {
        let name_len = usize::from(u16_at(bytes, 28)?);
        let extra_len = usize::from(u16_at(bytes, 30)?);
        let comment_len = usize::from(u16_at(bytes, 32)?);
        let (_, rest) = bytes.split_at_checked(CENTRAL_LEN)?;
        let (name, rest) = rest.split_at_checked(name_len)?;
        let (extra, rest) = rest.split_at_checked(extra_len)?;
        let rest = rest.get(comment_len..)?;
        let record = Record {
            at,
            flags: u16_at(bytes, 8)?,
            method: u16_at(bytes, 10)?,
            crc32: u32_at(bytes, 16)?,
            compressed: u32_at(bytes, 20)?,
            len: u32_at(bytes, 24)?,
            disk: u16_at(bytes, 34)?,
            offset: u32_at(bytes, 42)?,
            name,
            extra,
        };
        Some((record, bytes.len() - rest.len()))
    }

    /// The entry this record describes, its payload not located yet.
    fn entry(&self, prefix: u64) -> Result<Entry, ZipError> {
        let mut zip64 = Zip64::new(self.extra);
        let mut widen = |field, value| {
            zip64.widen(value).ok_or(ZipError::Zip64Extra { field, offset: self.at })
        };
        let len = widen("size", self.len)?;
        let compressed_len = widen("compressed size", self.compressed)?;
        let offset = widen("offset", self.offset)?;
        let utf8_name = self.flags & FLAG_UTF8 != 0;
        let (name, raw_name) = if utf8_name || self.name.is_ascii() {
            let text = std::str::from_utf8(self.name);
            (text.map_err(|_| ZipError::Name { offset: self.at })?.to_owned(), None)
        } else {
            (name::from_cp437(self.name), Some(self.name.into()))
        };
        // 0xffff defers to the zip64 block, where the disk is the last value and never needed.
        if self.disk != 0 && self.disk != u16::MAX {
            return Err(ZipError::MultiDisk);
        }
        if self.flags & FLAG_ENCRYPTED != 0 {
            return Err(ZipError::Encrypted { name });
        }
        Ok(Entry {
            name,
            raw_name,
            utf8_name,
            method: self.method.into(),
            flags: self.flags,
            crc32: self.crc32,
            compressed_len,
            len,
            header_offset: offset.saturating_add(prefix),
            data_offset: 0,
        })
    }
}

#[cfg(test)]
mod tests;
