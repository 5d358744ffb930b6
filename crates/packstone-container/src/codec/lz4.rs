//! LZ4 frames, decoded block by block straight into the result.
//!
//! ```text
//! frame: │04 22 4d 18│FLG│BD│[content size u64] [dictionary u32]│HC│ blocks │0 u32│[xxh32 of the content]│
//! block: │size u32, top bit: stored as is│ data │[xxh32 of the data]│                         little-endian
//! FLG:   7-6 version 01 · 5 independent · 4 block checksums · 3 content size · 2 content checksum · 0 dictionary
//! BD:    6-4 largest block: 4 = 64 KiB, 5 = 256 KiB, 6 = 1 MiB, 7 = 4 MiB
//! ```
//! HC is the second byte of the xxh32 of FLG to dictionary. A linked block refers back to up to 64 KiB of the frame's
//! content before it. Frames are joined and skippable frames skipped, as in [`super::zstd`].

use std::io::Write;

use lz4_flex::block::{DecompressError, decompress_into, decompress_into_with_dict};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use packstone_io::AlignedBuf;
use twox_hash::XxHash32;

use super::member::{Content, Member, Members, expect, starts};
use super::output::{Append, Output};
use super::zstd::{skip, skippable};
use super::{Codec, CodecError, Stream};

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const CODEC: Codec = Codec::Lz4Frame;
/// How far a linked block can reach back.
const WINDOW: usize = 64 << 10;
/// No LZ4 block gains more than 255 bytes with one.
const MAX_RATIO: u64 = 255;
/// Room past the largest block, where the decoder may copy in whole vectors.
const SLACK: usize = 64;

pub(super) fn decode(src: &[u8], out: &mut Output<'_>) -> Result<Stream, CodecError> {
    Lz4.members(src, out)
}

struct Lz4;

impl Members for Lz4 {
    const CODEC: Codec = CODEC;
    const PADDED: bool = false;

    fn follows(rest: &[u8]) -> bool {
        starts(rest, &MAGIC) || skippable(rest)
    }

    fn member(
        &mut self,
        src: &[u8],
        at: usize,
        out: &mut Output<'_>,
    ) -> Result<Member, CodecError> {
        if skippable(src.get(at..).unwrap_or_default()) {
            return skip(CODEC, src, at);
        }
        expect(CODEC, src, at, &MAGIC)?;
        let mut reader = Reader { src, at, next: at.saturating_add(MAGIC.len()) };
        let header = Header::read(&mut reader)?;
        let first = out.filled();
        if let Some(size) = header.content_size {
            let len = out.allows(size)?;
            if size <= (src.len() as u64).saturating_mul(MAX_RATIO) {
                // With room for one block more, the last blocks need no new buffer.
                out.reserve(len.saturating_add(header.largest_block).saturating_add(SLACK))?;
            }
        }
        while header.block(&mut reader, first, out)? {}
        let content = out.since(first);
        if let Some(size) = header.content_size {
            reader.check("content size", size, content.len() as u64)?;
        }
        if header.content_checksum {
            let stored = reader.u32()?;
            reader.check("content xxh32", stored.into(), XxHash32::oneshot(0, content).into())?;
        }
        let content = Content::Data { declared: header.content_size };
        Ok(Member { len: reader.next - at, content })
    }
}

/// The input, and how far it was read.
struct Reader<'a> {
    src: &'a [u8],
    /// Where the frame starts, for messages.
    at: usize,
    next: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], CodecError> {
        let end = self.next.checked_add(len);
        let bytes = end.and_then(|end| self.src.get(self.next..end));
        let bytes = bytes.ok_or(CodecError::Truncated {
            codec: CODEC,
            at: self.at,
            len: self.src.len(),
        })?;
        self.next += len;
        Ok(bytes)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        Ok(self.take(N)?.first_chunk().copied().unwrap_or([0; N]))
    }

    fn u32(&mut self) -> Result<u32, CodecError> {
        Ok(u32::from_le_bytes(self.chunk()?))
    }

    fn corrupt(&self, reason: String) -> CodecError {
        CodecError::Corrupt { codec: CODEC, at: self.at, reason }
    }

    fn check(&self, what: &'static str, expected: u64, found: u64) -> Result<(), CodecError> {
        if expected == found {
            return Ok(());
        }
        Err(CodecError::Mismatch { codec: CODEC, at: self.at, what, expected, found })
    }
}

struct Header {
    linked: bool,
    block_checksums: bool,
    content_checksum: bool,
    content_size: Option<u64>,
    largest_block: usize,
}

impl Header {
    fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let start = reader.next;
        let [flg, bd] = reader.chunk()?;
        let flag = |bit: u8| flg & 1 << bit != 0;
        let content_size = if flag(3) { Some(u64::from_le_bytes(reader.chunk()?)) } else { None };
        let dictionary = if flag(0) { Some(reader.u32()?) } else { None };
        let described = reader.src.get(start..reader.next).unwrap_or_default();
        let [_, expected, ..] = XxHash32::oneshot(0, described).to_le_bytes();
        let [stored] = reader.chunk()?;
        reader.check("header checksum", stored.into(), expected.into())?;
        if flg >> 6 != 1 || flag(1) || bd & 0x8f != 0 || bd >> 4 < 4 {
            return Err(reader.corrupt(format!("unknown descriptor {flg:#04x} {bd:#04x}")));
        }
        if dictionary.is_some() {
            let (at, what) = (reader.at, "a dictionary");
            return Err(CodecError::Unsupported { codec: CODEC, at, what });
        }
        Ok(Self {
            linked: !flag(5),
            block_checksums: flag(4),
            content_checksum: flag(2),
            content_size,
            largest_block: 1 << (8 + 2 * (bd >> 4)),
        })
    }

    /// Decodes one block of the frame whose content starts at byte `first` of `out`; false at the end mark.
    fn block(
        &self,
        reader: &mut Reader<'_>,
        first: usize,
        out: &mut Output<'_>,
    ) -> Result<bool, CodecError> {
        let word = reader.u32()?;
        if word == 0 {
            return Ok(false);
        }
        let stored = word >> 31 == 1;
        let size = usize::try_from(word & 0x7fff_ffff).unwrap_or(usize::MAX);
        if size > self.largest_block {
            let largest = self.largest_block;
            return Err(reader
                .corrupt(format!("expected a block of {largest} bytes at most, found {size}")));
        }
        let start = reader.next;
        let data = reader.take(size)?;
        if self.block_checksums {
            let stored = reader.u32()?;
            reader.check("block xxh32", stored.into(), XxHash32::oneshot(0, data).into())?;
        }
        out.reserve(self.largest_block + SLACK)?;
        let (content, spare) = out.split();
        let most = spare.len().min(self.largest_block + SLACK);
        let full = most < self.largest_block;
        let room = spare.get_mut(..most).unwrap_or_default();
        let decoded = if stored {
            match room.get_mut(..size) {
                Some(room) => {
                    room.copy_from_slice(data);
                    Ok(size)
                }
                None => return Err(out.too_much()),
            }
        } else if self.linked && content.len() > first {
            let from = content.len().saturating_sub(WINDOW).max(first);
            decompress_into_with_dict(data, room, content.get(from..).unwrap_or_default())
        } else {
            decompress_into(data, room)
        };
        match decoded {
            Ok(len) if len <= self.largest_block => out.advance(len).map(|()| true),
            Err(DecompressError::OutputTooSmall { .. }) if full => Err(out.too_much()),
            Ok(_) => {
                Err(reader.corrupt(format!("the block at byte {start} is larger than stated")))
            }
            Err(e) => Err(reader.corrupt(format!("the block at byte {start}: {e}"))),
        }
    }
}

/// Appends `src` to `out` as one frame: 64 KiB blocks, content size, no checksums, linked where there are several.
pub(super) fn encode(src: &[u8], out: &mut AlignedBuf) -> Result<(), CodecError> {
    const BLOCK: usize = 64 << 10;
    let mode = if src.len() <= BLOCK { BlockMode::Independent } else { BlockMode::Linked };
    // The C library takes a content size of zero for an unknown one and leaves it out.
    let size = Some(src.len() as u64).filter(|&size| size > 0);
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(mode).content_size(size);
    let library =
        |e: &dyn std::fmt::Display| CodecError::Library { codec: CODEC, reason: e.to_string() };
    // A block that would grow is stored, so this is the most there can be.
    out.reserve(src.len().saturating_add(src.len() / BLOCK * 4).saturating_add(64))?;
    let mut encoder = FrameEncoder::with_frame_info(info, Append(out));
    encoder.write_all(src).map_err(|e| library(&e))?;
    encoder.finish().map_err(|e| library(&e))?;
    Ok(())
}
