//! How the streams of a chunk are compressed.

use crate::codec::{Codec, Encoding};

/// The window of Zstandard where none is named.
const ZSTD_WINDOW: u32 = 20;
/// The shortest stream that Zstandard is given in pieces, and hence without content size.
const PIECES_FROM: usize = 4096;

/// How the streams of a chunk are compressed, with the settings for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// Brotli.
    Brotli {
        /// 0 to 11.
        level: i32,
        /// Logarithm of the window in bytes, 10 to 30; 22 where none is named.
        window_log: Option<u32>,
    },
    /// Zstandard.
    Zstd {
        /// -131072 to 22; 0 stands for 3.
        level: i32,
        /// Logarithm of the window in bytes, 10 to 31; 20 where none is named.
        window_log: Option<u32>,
    },
    /// Snappy.
    Snappy,
}

impl Default for Compression {
    fn default() -> Self {
        Self::Zstd { level: 3, window_log: None }
    }
}

impl Compression {
    /// The byte in the file.
    pub fn byte(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Brotli { .. } => b'b',
            Self::Zstd { .. } => b'z',
            Self::Snappy => b's',
        }
    }

    /// The compression of a byte in the file, with the usual settings.
    pub fn usual(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::None,
            b'b' => Self::Brotli { level: 6, window_log: None },
            b'z' => Self::default(),
            b's' => Self::Snappy,
            _ => return None,
        })
    }

    /// The codec of a byte in the file.
    pub(super) fn codec(byte: u8) -> Option<Codec> {
        Self::usual(byte).map(|compression| match compression {
            Self::None => Codec::None,
            Self::Brotli { .. } => Codec::Brotli,
            Self::Zstd { .. } => Codec::Zstd,
            Self::Snappy => Codec::Snappy,
        })
    }

    /// How a stream of `len` bytes is encoded that the original gets in pieces of which the longest has `longest` bytes;
    /// `None` where it is stored.
    ///
    /// The original gives Zstandard short streams at once, and the frame then states its content size. A long one
    /// comes in pieces, and so does one of exactly 4096 bytes, if it is all one piece.
    pub(super) fn encoding(self, len: usize, longest: usize) -> Option<Encoding> {
        match self {
            Self::None => None,
            Self::Snappy => Some(Encoding::new(Codec::Snappy)),
            Self::Brotli { level, window_log } => {
                let encoding = Encoding::new(Codec::Brotli).with_level(level);
                Some(window_log.map_or(encoding, |log| encoding.with_window_log(log)))
            }
            Self::Zstd { level, window_log } => {
                let window_log = window_log.unwrap_or(ZSTD_WINDOW);
                let encoding =
                    Encoding::new(Codec::Zstd).with_level(level).with_window_log(window_log);
                let pieces = len > PIECES_FROM || longest >= PIECES_FROM;
                Some(if pieces { encoding.with_unsized_frame() } else { encoding })
            }
        }
    }

    /// The window that is written into the options of a file; `None` where none is.
    pub(crate) fn stated_window_log(self) -> Option<u32> {
        match self {
            Self::Zstd { window_log, .. } => Some(window_log.unwrap_or(ZSTD_WINDOW)),
            Self::Brotli { window_log, .. } => window_log,
            Self::None | Self::Snappy => None,
        }
    }
}
