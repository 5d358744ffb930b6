//! From a chunk in its file to its records.

use packstone_io::{AlignedBuf, BufferPool};

use super::compression::Compression;
use super::error::{ChunkError, ChunkErrorKind};
use super::frame::{Placed, Window};
use super::header::{ChunkHeader, ChunkKind};
use super::records::Records;
use super::simple;
use super::transposed::{self, Transposed};
use crate::Limits;
use crate::codec::{Codec, CodecError, Decoder};
use crate::wire;

/// Buffers that a decoder keeps for records while nobody reads them.
const BUFFERS: usize = 4;

/// Decodes chunks and keeps contexts and buffers between them. One per thread.
pub struct ChunkDecoder {
    pub(super) codecs: Decoder,
    pub(super) pool: BufferPool,
    pub(super) limits: Limits,
    /// Sizes of records, or what a transposed chunk needs besides its output.
    pub(super) scratch: AlignedBuf,
    pub(super) transposed: Transposed,
}

impl ChunkDecoder {
    /// A decoder with buffers of its own.
    pub fn new(limits: Limits) -> Self {
        Self::with_pool(limits, BufferPool::new(BUFFERS))
    }

    /// A decoder whose records lie in buffers of `pool`, which several may share.
    pub fn with_pool(limits: Limits, pool: BufferPool) -> Self {
        let (codecs, scratch, transposed) = Default::default();
        Self { codecs, pool, limits, scratch, transposed }
    }

    /// Where records and gathered data get their memory from.
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// Finds, checks and decodes the chunk that begins at byte `begin` of the file and ends by byte `limit`.
    ///
    /// Kinds without records give none. Records of an uncompressed chunk that no block header interrupts are slices of
    /// the window; others lie in a buffer of the pool.
    ///
    /// # Errors
    /// [`ChunkError`]
    pub fn decode(
        &mut self,
        window: Window<'_>,
        begin: u64,
        limit: u64,
    ) -> Result<Records, ChunkError> {
        let placed = Placed::find(window, begin, limit)?;
        self.decode_placed(window, &placed)
    }

    /// The same for a chunk that was found already.
    ///
    /// # Errors
    /// [`ChunkError`]
    pub fn decode_placed(
        &mut self,
        window: Window<'_>,
        placed: &Placed,
    ) -> Result<Records, ChunkError> {
        self.records(window, placed).map_err(|kind| match kind {
            Failure::Placed(error) => error,
            Failure::Data(kind) => ChunkError { chunk: placed.begin, kind },
        })
    }

    fn records(&mut self, window: Window<'_>, placed: &Placed) -> Result<Records, Failure> {
        let header = &placed.header;
        match header.kind {
            ChunkKind::Simple | ChunkKind::Transposed => self.allows(header)?,
            _ if header.records == 0 => return Ok(Records::default()),
            other => {
                let (kind, records) = (other.byte(), header.records);
                return Err(ChunkErrorKind::Type { kind, records }.into());
            }
        }
        let data = placed.data(window, &self.pool).map_err(Failure::Placed)?;
        Ok(match header.kind {
            ChunkKind::Simple => simple::decode(self, header, data)?,
            _ => transposed::decode(self, header, data.bytes())?,
        })
    }

    fn allows(&self, header: &ChunkHeader) -> Result<(), ChunkErrorKind> {
        let Limits { decoded_bytes, entries, .. } = self.limits;
        for (what, limit, found) in [
            ("records in a chunk", entries, header.records),
            ("bytes of records in a chunk", decoded_bytes, header.decoded_size),
            ("bytes of data in a chunk", decoded_bytes, header.data_size),
        ] {
            if found > limit {
                return Err(ChunkErrorKind::Limit { what, limit, found });
            }
        }
        Ok(())
    }
}

/// A failure that knows its chunk already, or does not.
enum Failure {
    Placed(ChunkError),
    Data(ChunkErrorKind),
}

impl From<ChunkErrorKind> for Failure {
    fn from(kind: ChunkErrorKind) -> Self {
        Self::Data(kind)
    }
}

/// The compression of a chunk and what follows its byte.
pub(super) fn compression(data: &[u8]) -> Result<(Codec, &[u8]), ChunkErrorKind> {
    let (byte, rest) = data.split_first().ok_or(ChunkErrorKind::NoData)?;
    let codec = Compression::codec(*byte).ok_or(ChunkErrorKind::Compression(*byte))?;
    Ok((codec, rest))
}

/// A stream that went over a limit which stands for another fault: how many bytes it has at least.
pub(super) fn too_long(kind: &ChunkErrorKind) -> Option<u64> {
    match kind {
        ChunkErrorKind::Stream { source, .. } => match **source {
            CodecError::Limit { limit, .. } => Some(limit.saturating_add(1)),
            _ => None,
        },
        _ => None,
    }
}

/// The stream at the start of `bytes`, its length in front of it, and what follows it.
pub(super) fn counted<'a>(
    bytes: &'a [u8],
    what: &'static str,
) -> Result<(&'a [u8], &'a [u8]), ChunkErrorKind> {
    let found = bytes.len() as u64;
    let (len, rest) =
        wire::split_varint(bytes).map_err(|_| ChunkErrorKind::Sizes { what, found })?;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    rest.split_at_checked(len).ok_or(ChunkErrorKind::Sizes { what, found: len as u64 })
}

/// Decodes a compressed stream of at most `most` bytes. The length that it states is passed over: the original does not
/// look at it either.
pub(super) fn inflate(
    codecs: &mut Decoder,
    codec: Codec,
    stream: &'static str,
    bytes: &[u8],
    most: u64,
    out: &mut AlignedBuf,
) -> Result<(), ChunkErrorKind> {
    let what = "the length of a compressed stream";
    let found = bytes.len() as u64;
    let (_, body) = wire::split_varint(bytes).map_err(|_| ChunkErrorKind::Sizes { what, found })?;
    let limits = Limits::default().with_decoded_bytes(most);
    codecs
        .decode_one(codec, body, out, &limits)
        .map_err(|source| ChunkErrorKind::Stream { stream, source: Box::new(source) })
}
