//! From the end of a file to an index that can be relied on.

use super::FIRST_CHUNK;
use super::error::ArrayRecordError as Error;
use super::messages::{MAGIC, Metadata, Postscript, VERSION, parse_entry};
use super::source::Source;
use crate::Limits;
use crate::riegeli::{BLOCK, ChunkDecoder, Records, can_begin};

/// One chunk of records, as the index describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Sum of the lengths of its records. Nothing depends on it, and nothing proves it but [`verify`](super::verify).
    pub decoded_size: u64,
    /// How many records it holds.
    pub records: u64,
}

/// The index of a file, all of it checked against itself.
#[derive(Debug)]
pub(super) struct Index {
    /// Offset and decoded size of each chunk; offsets increase and are where chunks can begin.
    chunks: Vec<(u64, u64)>,
    /// Records of every chunk but the last one, which has as many or fewer; 1 where there are none.
    pub(super) group: u64,
    pub(super) records: u64,
    /// Where the last chunk must end.
    pub(super) footer_offset: u64,
    pub(super) writer_options: Option<String>,
    pub(super) note: Option<Vec<u8>>,
}

impl Index {
    /// Reads and checks the end of a file of `source`.
    pub(super) fn read(
        source: &Source,
        prefetch: u64,
        decoder: &mut ChunkDecoder,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let len = source.len();
        if len < 2 * BLOCK || !len.is_multiple_of(BLOCK) {
            return Err(Error::FileSize { found: len });
        }
        let limit = len - BLOCK;
        let tail = source.tail(prefetch.max(BLOCK))?;
        let records = decoder.decode(tail.window(), limit, len).map_err(Error::Postscript)?;
        let footer_offset = footer_offset(&records, limit)?;
        if !(FIRST_CHUNK..limit).contains(&footer_offset) {
            return Err(Error::FooterOffset { limit, found: footer_offset });
        }
        let records = if footer_offset >= tail.window().start {
            decoder.decode(tail.window(), footer_offset, limit)
        } else {
            drop(tail);
            source
                .chunk(footer_offset, limit, limits)
                .and_then(|part| decoder.decode(part.window(), footer_offset, limit))
        };
        Self::parse(&records.map_err(Error::Footer)?, footer_offset)
    }

    /// Takes the records of the footer at `offset`.
    pub(super) fn parse(footer: &Records, offset: u64) -> Result<Self, Error> {
        let metadata = metadata(footer, offset)?;
        let entries = footer.len().saturating_sub(1);
        if metadata.chunks != entries as u64 {
            let (expected, found) = (metadata.chunks, entries as u64);
            return Err(Error::IndexCount { offset, expected, found });
        }
        let mut chunks = Vec::with_capacity(entries);
        let (mut group, mut sum, mut next) = (1, 0u64, FIRST_CHUNK);
        for (entry, bytes) in (0u64..).zip(footer.iter().skip(1)) {
            let (found, decoded_size, records) =
                parse_entry(bytes).map_err(|source| Error::IndexEntry { offset, entry, source })?;
            let at = found.filter(|at| (next..offset).contains(at) && can_begin(*at));
            let at =
                at.ok_or(Error::IndexOffset { offset, entry, allowed: next..offset, found })?;
            if entry == 0 {
                group = records.max(1);
            }
            let last = entry.saturating_add(1) == metadata.chunks;
            if records == 0 || records > group || (records < group && !last) {
                return Err(Error::IndexGroup { offset, entry, expected: group, found: records });
            }
            // A chunk has at least a byte for each record, so this also bounds how many there can be.
            next = at.saturating_add(records);
            sum = sum.saturating_add(records);
            chunks.push((at, decoded_size));
        }
        if next > offset {
            let entry = (entries as u64).saturating_sub(1);
            let found = chunks.last().map(|(at, _)| *at);
            return Err(Error::IndexOffset { offset, entry, allowed: FIRST_CHUNK..offset, found });
        }
        if sum != metadata.records {
            return Err(Error::IndexRecords { offset, expected: metadata.records, found: sum });
        }
        let Metadata { writer_options, note, .. } = metadata;
        Ok(Self { chunks, group, records: sum, footer_offset: offset, writer_options, note })
    }

    /// How many chunks.
    pub(super) fn len(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// Chunk `number`.
    pub(super) fn entry(&self, number: u64) -> Option<Entry> {
        let (offset, decoded_size) = self.chunk(number)?;
        let before = number.saturating_mul(self.group);
        let records = self.records.saturating_sub(before).min(self.group);
        Some(Entry { offset, decoded_size, records })
    }

    fn chunk(&self, number: u64) -> Option<(u64, u64)> {
        self.chunks.get(usize::try_from(number).ok()?).copied()
    }

    /// Where chunk `number` begins, and where it must end.
    pub(super) fn place(&self, number: u64) -> Option<(u64, u64)> {
        let (begin, _) = self.chunk(number)?;
        let next = self.chunk(number.checked_add(1)?);
        Some((begin, next.map_or(self.footer_offset, |(offset, _)| offset)))
    }
}

/// The offset that the first postscript states.
fn footer_offset(records: &Records, offset: u64) -> Result<u64, Error> {
    let invalid = |what, found: String| Error::PostscriptInvalid { offset, what, found };
    let first = records.get(0).ok_or_else(|| invalid("a message", "no record".into()))?;
    let postscript = Postscript::parse(first).map_err(|e| invalid("a message", e.to_string()))?;
    match postscript {
        Postscript { footer_offset: Some(footer), magic: Some(MAGIC) } => Ok(footer),
        Postscript { magic: Some(MAGIC), .. } => {
            Err(invalid("the offset of the footer", "none".into()))
        }
        Postscript { magic, .. } => {
            let found = magic.map_or_else(|| "none".into(), |magic| format!("{magic:#x}"));
            Err(invalid("magic 0x71930e704fdae05e", found))
        }
    }
}

/// What the first record of the footer at `offset` says.
pub(super) fn metadata(footer: &Records, offset: u64) -> Result<Metadata, Error> {
    let invalid = |found: String| Error::Metadata { offset, found };
    let first = footer.get(0).ok_or_else(|| invalid("no record".into()))?;
    let metadata = Metadata::parse(first).map_err(|e| invalid(e.to_string()))?;
    let metadata = metadata.ok_or_else(|| invalid("a message without any".into()))?;
    if metadata.version != VERSION {
        return Err(Error::Version { offset, found: metadata.version });
    }
    Ok(metadata)
}
