//! Compressed streams, whole buffer to whole buffer.
//!
//! ```text
//! &[u8] ──► Decoder ──► AlignedBuf (exactly the decoded bytes) + Stream (what the container looked like)
//! &[u8] ──► Encoder ──► AlignedBuf (one member, with the settings that Sedpack writes)
//! ```
//!
//! | codec | members joined | then, after the last one | checked |
//! | --- | --- | --- | --- |
//! | gzip | yes, zeros between them skipped | reported | CRC-32, length, header CRC |
//! | zlib | one only | reported | Adler-32 |
//! | bzip2 | yes | reported | CRC |
//! | xz | yes, zeros between them skipped | reported | whatever the stream stores |
//! | LZ4 frame, Zstandard | yes, skippable frames skipped | reported | checksums where present, content size |
//! | brotli | one only | reported | nothing |
//! | Snappy, raw | one only | damage: only the length says where the end is | length |
//!
//! LZ4 blocks without a frame, whose length somebody else keeps, have functions of their own.
//!
//! A cut member is an error wherever it is cut, and so is an empty input. Decoded bytes are bounded by
//! [`Limits::decoded_bytes`](crate::Limits), and memory grows with what was really decoded: a size stated in a header
//! is believed only where the compressed bytes could hold it.

mod brotli;
mod bzip2;
mod decoder;
mod deflate;
mod encoder;
mod error;
mod gzip;
mod lz4;
mod lz4_block;
mod member;
mod output;
mod snappy;
mod xz;
mod zlib;
mod zstd;

#[cfg(test)]
mod tests;

pub use decoder::Decoder;
pub use encoder::{Encoder, Encoding, GzipHeader};
pub use error::CodecError;
pub use lz4_block::{Lz4BlockEncoder, decode_lz4_block};
pub use zlib::looks_like_zlib;

/// A kind of compressed stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Stored as is.
    None,
    /// gzip, RFC 1952.
    Gzip,
    /// zlib, RFC 1950.
    Zlib,
    /// Raw DEFLATE, RFC 1951.
    Deflate,
    /// bzip2.
    Bzip2,
    /// xz; the older `.lzma` is decoded too.
    Xz,
    /// LZ4 frames.
    Lz4Frame,
    /// Zstandard, RFC 8878.
    Zstd,
    /// Brotli, RFC 7932, with or without large windows.
    Brotli,
    /// A raw block of Snappy.
    Snappy,
}

impl Codec {
    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Deflate => "deflate",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lz4Frame => "lz4",
            Self::Zstd => "zstd",
            Self::Brotli => "brotli",
            Self::Snappy => "snappy",
        }
    }
}

impl std::fmt::Display for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a decoded stream looked like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stream {
    /// Members or frames with data, skippable frames not counted; at least 1.
    pub members: u64,
    /// What follows the last member.
    pub trailing: Trailing,
    /// Sum of the decoded sizes that the headers state, where all of them state one: LZ4, Zstandard and Snappy
    /// only.
    pub declared_size: Option<u64>,
    /// xz was asked for, and this is the older `.lzma` container, which has no checksum.
    pub lzma_alone: bool,
}

/// Bytes after the last member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailing {
    /// How many.
    pub bytes: u64,
    /// Whether all of them are zero (or there are none).
    pub zeros: bool,
}

impl Stream {
    /// One member and nothing else.
    fn single() -> Self {
        let trailing = Trailing { bytes: 0, zeros: true };
        Self { members: 1, trailing, declared_size: None, lzma_alone: false }
    }
}
