//! Chunks of records taken apart by their fields: read, never written.
//!
//! ```text
//! data   = │ compression u8 │ length of header varint │ header │ bucket │ bucket │ … │ transitions │
//! header = │ buckets varint │ buffers varint │ stored length of each bucket │ length of each buffer │
//!          │ nodes varint │ tag of each node │ next of each node │ a byte of each varint node │
//!          │ buffer of each node that reads one │ first node │          all numbers are varints
//! ```
//!
//! The buckets, decompressed and joined, are cut into buffers; each node of a [`machine`] puts a piece of a record, its
//! bytes from its buffer, in front of what is there already, so that records come out from the last to the first. Every
//! stream is compressed on its own.

mod backward;
mod machine;
mod plan;

use packstone_io::AlignedBuf;

use super::decode::{ChunkDecoder, compression, counted, inflate, too_long};
use super::error::ChunkErrorKind;
use super::header::ChunkHeader;
use super::records::Records;
use crate::codec::{Codec, CodecError, Decoder};
use backward::Backward;
use plan::Plan;

/// What is wrong with transposed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransposedError {
    /// The header ends too early, or a number in it is too large.
    #[error("expected {0} in the header")]
    Header(&'static str),
    /// Bytes follow the header.
    #[error("expected the end of the header, found {0} bytes more")]
    HeaderEnd(u64),
    /// Buffers and buckets do not fit each other or the data.
    #[error("expected {what}, found {found} bytes")]
    Buffers {
        /// What was expected.
        what: &'static str,
        /// What is there instead.
        found: u64,
    },
    /// A node has a tag or subtype that means nothing.
    #[error("expected a tag with a meaning, found {tag:#x} in node {node}")]
    Tag {
        /// The node.
        node: u32,
        /// Its tag.
        tag: u32,
    },
    /// A node, buffer or jump that is not there.
    #[error("expected {what} below {limit}, found {found}")]
    Index {
        /// What is named.
        what: &'static str,
        /// How many there are.
        limit: u64,
        /// The one named.
        found: u64,
    },
    /// Nodes that follow each other for ever.
    #[error("expected an end to the nodes after node {0}, found a cycle")]
    Cycle(u32),
    /// The machine runs on without making records.
    #[error("expected records of {0} bytes by now, found a machine that goes on without an end")]
    Idle(u64),
    /// A buffer ends within a value.
    #[error("expected {0} in a buffer, found its end")]
    Value(&'static str),
    /// Submessages that do not match, or a record within one.
    #[error("expected submessages to end before they start and records outside of them")]
    Nesting,
    /// Records have another number or length than announced.
    #[error("expected {what} {expected}, found {found}")]
    Records {
        /// What was counted.
        what: &'static str,
        /// As announced.
        expected: u64,
        /// As found.
        found: u64,
    },
}

/// Buffers for decoding, used again for every chunk.
#[derive(Default)]
pub(super) struct Transposed {
    /// The decompressed buckets, joined.
    content: AlignedBuf,
    /// The decompressed transitions.
    transitions: AlignedBuf,
}

pub(super) fn decode(
    decoder: &mut ChunkDecoder,
    header: &ChunkHeader,
    data: &[u8],
) -> Result<Records, ChunkErrorKind> {
    let ChunkDecoder { codecs, pool, limits, scratch, transposed } = decoder;
    let Transposed { content, transitions } = transposed;
    let (codec, rest) = compression(data)?;
    let (front, rest) = counted(rest, "a header of transposed data within its chunk")?;
    let front = stream(codecs, codec, "header", front, limits.document_bytes, scratch)?;
    let (plan, rest) = Plan::parse(front, rest, header, limits)?;
    content.clear();
    let mut bucket_ends = Vec::with_capacity(plan.buckets.len());
    let mut bucket = AlignedBuf::default();
    for stored in &plan.buckets {
        let left = plan.content.saturating_sub(content.len() as u64);
        let bytes = stream(codecs, codec, "bucket", stored, left, &mut bucket).map_err(surplus)?;
        content.extend_from_slice(bytes)?;
        bucket_ends.push(content.len());
    }
    let buffers = plan.cut(&bucket_ends)?;
    let transitions =
        stream(codecs, codec, "transitions", rest, limits.decoded_bytes, transitions)?;
    let out = Backward::new(pool, header.decoded_size, plan.content)?;
    machine::run(&plan, content, buffers, transitions, header, out)
}

/// A bucket was allowed as many bytes as the buffers still need.
fn surplus(kind: ChunkErrorKind) -> ChunkErrorKind {
    let what = "buckets without bytes of no buffer";
    too_long(&kind).map_or(kind, |found| TransposedError::Buffers { what, found }.into())
}

/// A stream of at most `most` bytes, decompressed into `out` where it is compressed.
fn stream<'b>(
    codecs: &mut Decoder,
    codec: Codec,
    name: &'static str,
    bytes: &'b [u8],
    most: u64,
    out: &'b mut AlignedBuf,
) -> Result<&'b [u8], ChunkErrorKind> {
    if codec != Codec::None {
        inflate(codecs, codec, name, bytes, most, out)?;
        return Ok(out);
    }
    if bytes.len() as u64 > most {
        let source = Box::new(CodecError::Limit { codec, limit: most });
        return Err(ChunkErrorKind::Stream { stream: name, source });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
