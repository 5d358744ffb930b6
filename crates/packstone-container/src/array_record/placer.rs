//! Putting chunks into a file in order, and the index behind them.

use std::io::Write;

use super::error::WriteError;
use super::index::Entry;
use super::messages::{Metadata, Postscript, VERSION, put_entry};
use super::options::WriterOptions;
use super::salvage::Salvaged;
use crate::riegeli::{ChunkEncoder, ChunkWriter, Compression, EncodedChunk};

/// Puts chunks of records into a file in the order they come, without seeking. An unbuffered file wants a
/// [`BufWriter`](std::io::BufWriter) around it.
///
/// Dropped without [`finish`](Self::finish), it leaves a file without index, which no reader opens.
#[derive(Debug)]
pub struct Placer<W> {
    chunks: ChunkWriter<W>,
    options: WriterOptions,
    entries: Vec<Entry>,
    records: u64,
    note: Option<Vec<u8>>,
}

/// A finished file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Written<W> {
    /// The target; what it buffers is not flushed.
    pub out: W,
    /// Length of the file in bytes.
    pub len: u64,
    /// Records in it.
    pub records: u64,
}

impl<W: Write> Placer<W> {
    /// Starts a file at the present position of `out`.
    ///
    /// # Errors
    /// [`WriteError::Transpose`], [`WriteError::Io`].
    pub fn new(out: W, options: &WriterOptions) -> Result<Self, WriteError> {
        options.check()?;
        let chunks = ChunkWriter::new(out)?;
        Ok(Self::behind(chunks, options))
    }

    /// Goes on behind the chunks of a file that lost its end: `out` has the first [`Salvaged::end`] bytes of it.
    ///
    /// # Errors
    /// [`WriteError::Transpose`]; [`WriteError::Group`] where groups of another size were found.
    pub fn resume(out: W, options: &WriterOptions, salvaged: Salvaged) -> Result<Self, WriteError> {
        options.check()?;
        let chunks = ChunkWriter::resume(out, salvaged.end);
        let mut placer = Self::behind(chunks, options);
        for entry in salvaged.entries {
            placer.fits(entry.records)?;
            placer.note(entry);
        }
        Ok(placer)
    }

    fn behind(chunks: ChunkWriter<W>, options: &WriterOptions) -> Self {
        let options = options.clone();
        Self { chunks, options, entries: Vec::new(), records: 0, note: None }
    }

    /// Leaves a note in the footer, in a field of the metadata message that the original does not have and passes over.
    pub fn set_note(&mut self, note: Vec<u8>) {
        self.note = Some(note);
    }

    /// Bytes of the file so far.
    pub fn position(&self) -> u64 {
        self.chunks.position()
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn fits(&self, found: u64) -> Result<(), WriteError> {
        let expected = u64::from(self.options.group_size);
        let before = self.entries.last().map_or(expected, |entry| entry.records);
        if before < expected {
            return Err(WriteError::Group { expected, found: before });
        }
        if !(1..=expected).contains(&found) {
            return Err(WriteError::Group { expected, found });
        }
        Ok(())
    }

    fn note(&mut self, entry: Entry) {
        self.records = self.records.saturating_add(entry.records);
        self.entries.push(entry);
    }

    /// Puts a chunk at the end of the file.
    ///
    /// # Errors
    /// [`WriteError::Group`] where the chunk, or the one before it, is not one whole group of records: only the last
    /// chunk may have fewer. [`WriteError::Io`].
    pub fn place(&mut self, chunk: &EncodedChunk) -> Result<(), WriteError> {
        let header = chunk.header();
        self.fits(header.records)?;
        let offset = self.chunks.place(chunk)?;
        self.note(Entry { offset, decoded_size: header.decoded_size, records: header.records });
        if self.options.pad_to_block_boundary {
            self.chunks.pad_to_block()?;
        }
        Ok(())
    }

    /// Writes the index and the postscript.
    ///
    /// # Errors
    /// [`WriteError::Codec`], [`WriteError::Io`].
    pub fn finish(mut self) -> Result<Written<W>, WriteError> {
        let metadata = Metadata {
            version: VERSION,
            chunks: self.entries.len() as u64,
            records: self.records,
            writer_options: Some(self.options.stored()),
            note: self.note.take(),
        };
        let mut footer = metadata.encode();
        let mut ends = vec![footer.len()];
        for entry in &self.entries {
            put_entry(entry, &mut footer);
            ends.push(footer.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let records = starts.zip(&ends).map(|(start, end)| footer.get(start..*end));
        let records: Vec<&[u8]> = records.map(Option::unwrap_or_default).collect();
        let mut chunk = EncodedChunk::default();
        ChunkEncoder::new(self.options.compression).encode(&records, &mut chunk)?;
        let footer_offset = self.chunks.place(&chunk)?;
        self.chunks.pad_to_block()?;
        let postscript = Postscript::encode(footer_offset);
        ChunkEncoder::new(Compression::None).encode(&[&*postscript; 3], &mut chunk)?;
        self.chunks.place(&chunk)?;
        self.chunks.pad_to_block()?;
        let len = self.chunks.position();
        Ok(Written { out: self.chunks.into_inner(), len, records: self.records })
    }
}
