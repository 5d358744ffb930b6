//! Writing records one after another.

use std::io::Write;

use packstone_io::AlignedBuf;

use super::encoder::Encoder;
use super::error::WriteError;
use super::options::WriterOptions;
use super::placer::{Placer, Written};
use crate::riegeli::EncodedChunk;

/// Writes a file on one thread: collects groups of records, encodes and places them.
///
/// Dropped without [`finish`](Self::finish), it leaves a file without index, which no reader opens.
pub struct Writer<W> {
    encoder: Encoder,
    placer: Placer<W>,
    group_size: usize,
    /// The records of the group that is not full yet, joined, and where each one ends.
    joined: AlignedBuf,
    ends: Vec<usize>,
    chunk: EncodedChunk,
}

impl<W: Write> Writer<W> {
    /// Starts a file at the present position of `out`.
    ///
    /// # Errors
    /// [`WriteError::Transpose`], [`WriteError::Io`].
    pub fn new(out: W, options: &WriterOptions) -> Result<Self, WriteError> {
        Ok(Self {
            encoder: Encoder::new(options)?,
            placer: Placer::new(out, options)?,
            group_size: usize::try_from(options.group_size).unwrap_or(usize::MAX),
            joined: AlignedBuf::default(),
            ends: Vec::new(),
            chunk: EncodedChunk::default(),
        })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// [`WriteError::Codec`], [`WriteError::Io`]; the file is of no use after one.
    pub fn write(&mut self, record: &[u8]) -> Result<(), WriteError> {
        if self.group_size == 1 {
            self.encoder.encode(&[record], &mut self.chunk)?;
            return self.placer.place(&self.chunk);
        }
        self.joined.extend_from_slice(record)?;
        self.ends.push(self.joined.len());
        if self.ends.len() < self.group_size {
            return Ok(());
        }
        self.group()
    }

    /// Appends a chunk that an [`Encoder`] with the same options made elsewhere.
    ///
    /// # Errors
    /// [`WriteError::Group`] after a group that is not full, and as for [`Placer::place`].
    pub fn place(&mut self, chunk: &EncodedChunk) -> Result<(), WriteError> {
        if !self.ends.is_empty() {
            let (expected, found) = (self.group_size as u64, self.ends.len() as u64);
            return Err(WriteError::Group { expected, found });
        }
        self.placer.place(chunk)
    }

    /// Leaves a note in the footer, see [`Placer::set_note`].
    pub fn set_note(&mut self, note: Vec<u8>) {
        self.placer.set_note(note);
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.placer.records().saturating_add(self.ends.len() as u64)
    }

    fn group(&mut self) -> Result<(), WriteError> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let records = starts.zip(&self.ends).map(|(start, end)| self.joined.get(start..*end));
        let records: Vec<&[u8]> = records.map(Option::unwrap_or_default).collect();
        self.encoder.encode(&records, &mut self.chunk)?;
        self.joined.clear();
        self.ends.clear();
        self.placer.place(&self.chunk)
    }

    /// Writes what is left of a group, the index and the postscript.
    ///
    /// # Errors
    /// [`WriteError::Codec`], [`WriteError::Io`].
    pub fn finish(mut self) -> Result<Written<W>, WriteError> {
        if !self.ends.is_empty() {
            self.group()?;
        }
        self.placer.finish()
    }
}
