//! Finding the chunks of a file whose end is lost.

use std::sync::Arc;

use packstone_io::ReadAt;

use super::FIRST_CHUNK;
use super::index::{Entry, Index};
use super::messages::{MAGIC, Postscript};
use super::options::WriterOptions;
use super::source::Source;
use crate::Limits;
use crate::riegeli::{ChunkDecoder, ChunkError, ChunkKind, Compression, Placed, Records};

/// What is left of a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Salvaged {
    /// Chunks of records that can be read, from the first one on, so that an index can be made of them.
    pub entries: Vec<Entry>,
    /// How many bytes of the file they take, from its start; a new index goes there.
    pub end: u64,
    /// Options of the writer: those that the file states if its footer is whole, else what the chunks look like.
    pub options: WriterOptions,
    /// Why the chunk at [`end`](Self::end) does not count, where it is damaged.
    pub damage: Option<ChunkError>,
}

impl Salvaged {
    /// Records in all chunks.
    pub fn records(&self) -> u64 {
        self.entries.iter().map(|entry| entry.records).sum()
    }
}

/// Follows the chunks of a file from its start, decodes each one, and stops at the footer, at damage, or where chunks
/// are no groups of one size any more. A [`Placer`](super::Placer) can [go on](super::Placer::resume) from there.
pub fn salvage(file: &Arc<dyn ReadAt>, limits: Limits) -> Salvaged {
    let source = Source::Ranges(Arc::clone(file));
    let len = source.len();
    let mut decoder = ChunkDecoder::new(limits);
    let options = WriterOptions::default();
    let mut found = Salvaged { entries: Vec::new(), end: FIRST_CHUNK, options, damage: None };
    while found.end < len {
        match found.chunk(&source, len, &mut decoder, &limits) {
            Ok(Some(end)) => found.end = end,
            Ok(None) => break,
            Err(error) => {
                found.damage = Some(error);
                break;
            }
        }
    }
    found
}

impl Salvaged {
    /// Takes the next chunk; gives its end, or `None` where it does not belong to the others.
    fn chunk(
        &mut self,
        source: &Source,
        len: u64,
        decoder: &mut ChunkDecoder,
        limits: &Limits,
    ) -> Result<Option<u64>, ChunkError> {
        let bytes = source.chunk(self.end, len, limits)?;
        let placed = Placed::find(bytes.window(), self.end, len)?;
        if !matches!(placed.header.kind, ChunkKind::Simple | ChunkKind::Transposed) {
            placed.data(bytes.window(), decoder.pool())?;
            let padding = placed.header.kind == ChunkKind::Padding;
            self.options.pad_to_block_boundary |= padding && !self.entries.is_empty();
            return Ok(Some(placed.end));
        }
        let records = decoder.decode_placed(bytes.window(), &placed)?;
        if self.ends_with(&records) {
            return Ok(None);
        }
        let (offset, decoded_size) = (self.end, placed.header.decoded_size);
        let entry = Entry { offset, decoded_size, records: records.len() as u64 };
        let group = self.entries.first().map_or(entry.records, |first| first.records);
        let full = self.entries.last().is_none_or(|last| last.records == group);
        let size = u32::try_from(group).ok().filter(|size| i32::try_from(*size).is_ok());
        match size {
            Some(size) if full && (1..=group).contains(&entry.records) => {
                self.options.group_size = size;
            }
            _ => return Ok(None),
        }
        if self.entries.is_empty() {
            let data = placed.data(bytes.window(), decoder.pool())?;
            let byte = data.bytes().first().copied().unwrap_or(0);
            self.options.compression = Compression::usual(byte).unwrap_or_default();
        }
        self.entries.push(entry);
        Ok(Some(placed.end))
    }

    /// Whether these are the records of the footer of the chunks so far, or of a postscript.
    fn ends_with(&mut self, records: &Records) -> bool {
        if let Ok(index) = Index::parse(records, self.end)
            && (0..index.len()).map_while(|n| index.entry(n)).eq(self.entries.iter().copied())
        {
            let stated = index.writer_options.and_then(|text| text.parse().ok());
            self.options = stated.unwrap_or_else(|| self.options.clone());
            return true;
        }
        let postscript = records.get(0).and_then(|bytes| Postscript::parse(bytes).ok());
        postscript.is_some_and(|found| found.magic == Some(MAGIC))
    }
}
