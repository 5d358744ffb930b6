//! Putting chunks one after another, with block headers where they fall.

use std::io::{self, Write};

use super::block::{self, BLOCK};
use super::encode::EncodedChunk;
use super::hasher;
use super::header::{ChunkHeader, ChunkKind, LEN};

const ZEROS: [u8; 4096] = [0; 4096];

/// Writes the chunks of a file in order, without seeking. Pieces are small: an unbuffered file wants a
/// [`BufWriter`](io::BufWriter) around it.
#[derive(Debug)]
pub struct ChunkWriter<W> {
    out: W,
    at: u64,
}

impl<W: Write> ChunkWriter<W> {
    /// Starts a file at the present position of `out`, with its signature.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self::resume(out, 0);
        let header = ChunkHeader::of(ChunkKind::Signature, &[], 0, 0);
        writer.put_chunk(&header, |_, _| Ok(()))?;
        Ok(writer)
    }

    /// Goes on where `at` bytes of whole chunks are written already.
    pub fn resume(out: W, at: u64) -> Self {
        Self { out, at }
    }

    /// Bytes of the file so far; where the next chunk begins.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Puts `chunk` at the end of the file and says where it begins.
    ///
    /// # Errors
    /// Those of `out`; a part of the chunk may be written then.
    pub fn place(&mut self, chunk: &EncodedChunk) -> io::Result<u64> {
        let begin = self.at;
        self.put_chunk(&chunk.header, |writer, span| writer.put(&chunk.data, span))?;
        Ok(begin)
    }

    /// Fills up to the next block with a chunk of zeros, to the one after that where no chunk fits; does nothing at the
    /// start of a block.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn pad_to_block(&mut self) -> io::Result<()> {
        let left = self.at.wrapping_neg() % BLOCK;
        if left == 0 {
            return Ok(());
        }
        let data_size = match left.checked_sub(LEN as u64) {
            Some(size) => size,
            None => left + BLOCK - block::HEADER - LEN as u64,
        };
        let mut hasher = hasher();
        zeros(data_size, |piece| {
            hasher.update(piece);
            Ok(())
        })?;
        let header = ChunkHeader {
            data_size,
            data_hash: hasher.finish(),
            kind: ChunkKind::Padding,
            records: 0,
            decoded_size: 0,
        };
        self.put_chunk(&header, |writer, span| zeros(data_size, |piece| writer.put(piece, span)))
    }

    /// Gives the target back; what it buffers is not flushed.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn put_chunk(
        &mut self,
        header: &ChunkHeader,
        data: impl FnOnce(&mut Self, Span) -> io::Result<()>,
    ) -> io::Result<()> {
        let begin = self.at;
        let size = header.data_size.saturating_add(LEN as u64);
        let end = block::chunk_end(begin, size, header.records);
        let span = Span { begin, end: end.ok_or(io::ErrorKind::FileTooLarge)? };
        self.put(&header.encode(), span)?;
        data(self, span)?;
        while self.at < span.end {
            self.interrupt(span)?;
            let left = (span.end - self.at).min(block::to_next(self.at));
            zeros(left, |piece| self.put(piece, span))?;
        }
        Ok(())
    }

    /// Writes the block header that stands here, if one does.
    fn interrupt(&mut self, span: Span) -> io::Result<()> {
        if self.at.is_multiple_of(BLOCK) {
            self.out.write_all(&block::header(self.at, span.begin, span.end))?;
            self.at += block::HEADER;
        }
        Ok(())
    }

    /// Writes `bytes` of the chunk at `span`, with the block headers that fall between them.
    fn put(&mut self, mut bytes: &[u8], span: Span) -> io::Result<()> {
        while !bytes.is_empty() {
            self.interrupt(span)?;
            let room = usize::try_from(block::to_next(self.at)).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.out.write_all(now)?;
            self.at += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }
}

/// Where a chunk begins and ends.
#[derive(Clone, Copy)]
struct Span {
    begin: u64,
    end: u64,
}

/// Gives `count` zeros in pieces.
fn zeros(count: u64, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut left = count;
    while left > 0 {
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        each(ZEROS.get(..len).unwrap_or_default())?;
        left -= len as u64;
    }
    Ok(())
}
