//! From records to a chunk, without a place yet.

use packstone_io::AlignedBuf;

use super::compression::Compression;
use super::header::{ChunkHeader, ChunkKind};
use crate::codec::{CodecError, Encoder};
use crate::wire::{put_varint, varint_len};

/// A chunk that has no place yet: header and data without block headers.
#[derive(Debug)]
pub struct EncodedChunk {
    pub(super) header: ChunkHeader,
    pub(super) data: AlignedBuf,
}

impl Default for EncodedChunk {
    fn default() -> Self {
        Self { header: ChunkHeader::of(ChunkKind::Padding, &[], 0, 0), data: AlignedBuf::default() }
    }
}

impl EncodedChunk {
    /// The header.
    pub fn header(&self) -> &ChunkHeader {
        &self.header
    }
}

/// Makes simple chunks; keeps contexts and buffers between them. One per thread.
pub struct ChunkEncoder {
    compression: Compression,
    codecs: Encoder,
    /// Records joined, where there are several.
    joined: AlignedBuf,
    /// A compressed stream.
    stream: AlignedBuf,
    sizes: Vec<u8>,
    /// Lengths in front of streams.
    front: Vec<u8>,
}

impl ChunkEncoder {
    /// An encoder that compresses so.
    pub fn new(compression: Compression) -> Self {
        let (codecs, joined, stream, sizes, front) = Default::default();
        Self { compression, codecs, joined, stream, sizes, front }
    }

    /// Makes a chunk of `records` and puts it into `chunk`, whose memory is used again.
    ///
    /// Equal records and settings give equal bytes: the original's where nothing is compressed, and with Zstandard where
    /// the versions of its library agree.
    ///
    /// # Errors
    /// [`CodecError::Level`] and [`CodecError::Window`] for settings that do not exist, [`CodecError::Memory`] where
    /// there is no room.
    pub fn encode(
        &mut self,
        records: &[&[u8]],
        chunk: &mut EncodedChunk,
    ) -> Result<(), CodecError> {
        self.sizes.clear();
        let mut decoded = 0u64;
        for record in records {
            put_varint(record.len() as u64, &mut self.sizes);
            decoded = decoded.saturating_add(record.len() as u64);
        }
        let data = &mut chunk.data;
        data.clear();
        data.extend_from_slice(&[self.compression.byte()])?;
        self.front.clear();
        let longest = records.iter().map(|record| record.len()).max().unwrap_or(0);
        match self.compression.encoding(self.sizes.len(), 0) {
            None => {
                put_varint(self.sizes.len() as u64, &mut self.front);
                data.reserve(usize::try_from(decoded).unwrap_or(usize::MAX))?;
                data.extend_from_slice(&self.front)?;
                data.extend_from_slice(&self.sizes)?;
                records.iter().try_for_each(|record| data.extend_from_slice(record))?;
            }
            Some(encoding) => {
                self.codecs.encode(encoding, &self.sizes, &mut self.stream)?;
                // The length of the stream counts the length that it starts with.
                let stated = self.sizes.len() as u64;
                put_varint(varint_len(stated) + self.stream.len() as u64, &mut self.front);
                put_varint(stated, &mut self.front);
                data.extend_from_slice(&self.front)?;
                data.extend_from_slice(&self.stream)?;
                let joined = match records {
                    [one] => one,
                    several => {
                        self.joined.clear();
                        for record in several {
                            self.joined.extend_from_slice(record)?;
                        }
                        &*self.joined
                    }
                };
                let encoding = self.compression.encoding(joined.len(), longest).unwrap_or(encoding);
                self.codecs.encode(encoding, joined, &mut self.stream)?;
                self.front.clear();
                put_varint(decoded, &mut self.front);
                data.extend_from_slice(&self.front)?;
                data.extend_from_slice(&self.stream)?;
            }
        }
        let count = records.len() as u64;
        chunk.header = ChunkHeader::of(ChunkKind::Simple, &chunk.data, count, decoded);
        Ok(())
    }
}
