//! The one entrance to encoding, and the settings that the originals write.

use packstone_io::AlignedBuf;

use super::deflate::Deflate;
use super::member::Step;
use super::{Codec, CodecError, brotli, bzip2, gzip, lz4, snappy, xz, zlib, zstd};

/// A codec with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    codec: Codec,
    level: i32,
    gzip_header: GzipHeader,
    window_log: Option<u32>,
    unsized_frame: bool,
}

/// Whose gzip header to write; the modification time is always 0, so that equal data gives equal files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GzipHeader {
    /// Python's: the extra flags tell the level (2 for 9 and above, 4 for 1, else 0), the system is unknown (255).
    #[default]
    Python,
    /// TensorFlow's: no extra flags, Unix.
    TensorFlow,
}

impl Encoding {
    /// The settings that Sedpack writes in its own shards.
    ///
    /// gzip level 9, zlib 6 (header `78 9c`), raw DEFLATE 6, bzip2 9, xz preset 6 with CRC-64, LZ4 frames of 64 KiB
    /// blocks with content size (independent if one block, else linked) and no checksums, Zstandard 3 with content
    /// size and no checksum. What Sedpack has not: brotli 6, Snappy.
    pub fn new(codec: Codec) -> Self {
        let level = match codec {
            Codec::None | Codec::Lz4Frame | Codec::Snappy => 0,
            Codec::Gzip | Codec::Bzip2 => 9,
            Codec::Zlib | Codec::Deflate | Codec::Xz | Codec::Brotli => 6,
            Codec::Zstd => 3,
        };
        let gzip_header = GzipHeader::Python;
        Self { codec, level, gzip_header, window_log: None, unsized_frame: false }
    }

    /// gzip as TensorFlow writes around TFRecord files: level 6 and its own header.
    pub fn tensorflow_gzip() -> Self {
        let gzip_header = GzipHeader::TensorFlow;
        Self { gzip_header, level: 6, ..Self::new(Codec::Gzip) }
    }

    /// The same settings with another level: DEFLATE and its wrappers 1 to 12, bzip2 1 to 9, xz 0 to 9, Zstandard
    /// -131072 to 22 (0 stands for 3), brotli 0 to 11; none, LZ4 and Snappy have 0 only. A level outside is an error when encoding.
    #[must_use]
    pub fn with_level(mut self, level: i32) -> Self {
        self.level = level;
        self
    }

    /// The same settings with a window of two to the power of `log` bytes: Zstandard 10 to 31, brotli 10 to 30. Other
    /// codecs have no window to choose: an error when encoding, as is a logarithm outside.
    #[must_use]
    pub fn with_window_log(mut self, log: u32) -> Self {
        self.window_log = Some(log);
        self
    }

    /// The same settings as if the length of the data were unknown when it starts: Zstandard then states no content
    /// size. Other codecs do what they always do.
    #[must_use]
    pub fn with_unsized_frame(mut self) -> Self {
        self.unsized_frame = true;
        self
    }

    /// The codec.
    pub fn codec(self) -> Codec {
        self.codec
    }

    /// The level.
    pub fn level(self) -> i32 {
        self.level
    }

    fn check(self) -> Result<(), CodecError> {
        let (min, max) = match self.codec {
            Codec::None | Codec::Lz4Frame | Codec::Snappy => (0, 0),
            Codec::Gzip | Codec::Zlib | Codec::Deflate => Deflate::LEVELS,
            Codec::Bzip2 => bzip2::LEVELS,
            Codec::Xz => xz::LEVELS,
            Codec::Zstd => zstd::LEVELS,
            Codec::Brotli => brotli::LEVELS,
        };
        let codec = self.codec;
        if !(min..=max).contains(&self.level) {
            return Err(CodecError::Level { codec, min, max, found: self.level });
        }
        let (min, max) = match codec {
            Codec::Zstd => zstd::WINDOWS,
            Codec::Brotli => brotli::WINDOWS,
            _ => (0, 0),
        };
        match self.window_log {
            Some(found) if max == 0 || !(min..=max).contains(&found) => {
                Err(CodecError::Window { codec, min, max, found })
            }
            _ => Ok(()),
        }
    }
}

/// A reusable encoder: keeps the contexts of the libraries between streams. One per thread.
#[derive(Default)]
pub struct Encoder {
    deflate: Deflate,
    zstd: zstd::Encode,
    snappy: snappy::Encode,
}

impl Encoder {
    /// An encoder without contexts; they are made when first needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Encodes `src` as one member, so that `out` holds exactly that. After an error `out` is empty.
    ///
    /// Equal settings and data give equal bytes.
    ///
    /// # Errors
    /// [`CodecError::Level`], [`CodecError::Window`], or [`CodecError::Memory`] where the result finds no room.
    pub fn encode(
        &mut self,
        encoding: Encoding,
        src: &[u8],
        out: &mut AlignedBuf,
    ) -> Result<(), CodecError> {
        out.clear();
        let Encoding { codec, level, gzip_header, window_log, unsized_frame } = encoding;
        let result = encoding.check().and_then(|()| match codec {
            Codec::None => Ok(out.extend_from_slice(src)?),
            Codec::Gzip => gzip::encode(&mut self.deflate, level, gzip_header, src, out),
            Codec::Zlib => zlib::encode(&mut self.deflate, level, src, out),
            Codec::Deflate => self.deflate.raw(codec, level, src, out),
            Codec::Bzip2 => bzip2::encode(level, src, out),
            Codec::Xz => xz::encode(level, src, out),
            Codec::Lz4Frame => lz4::encode(src, out),
            Codec::Zstd if window_log.is_none() && !unsized_frame => {
                zstd::encode(&mut self.zstd, level, src, out)
            }
            Codec::Zstd => {
                let frame = zstd::Frame { level, window_log, sized: !unsized_frame };
                zstd::encode_as(&mut self.zstd, frame, src, out)
            }
            Codec::Brotli => brotli::encode(level, window_log, src, out),
            Codec::Snappy => snappy::encode(&mut self.snappy, src, out),
        });
        if result.is_err() {
            out.clear();
        }
        result
    }

    /// Encodes `src` as raw DEFLATE data, as a ZIP entry holds it: [`encode`](Self::encode) with [`Codec::Deflate`].
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn deflate_raw(
        &mut self,
        src: &[u8],
        level: i32,
        out: &mut AlignedBuf,
    ) -> Result<(), CodecError> {
        self.encode(Encoding::new(Codec::Deflate).with_level(level), src, out)
    }
}

/// Feeds `src` to a streaming library and appends its output to `out` until its stream ends.
pub(super) fn drain(
    codec: Codec,
    src: &[u8],
    out: &mut AlignedBuf,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Step, CodecError>,
) -> Result<(), CodecError> {
    const ROOM: usize = 64 << 10;
    let (mut taken, mut filled) = (0, out.len());
    loop {
        if filled == out.len() {
            out.reserve(ROOM)?;
            out.set_len(out.capacity())?;
        }
        let spare = out.get_mut(filled..).unwrap_or_default();
        let Step { read, wrote, end } = step(src.get(taken..).unwrap_or_default(), spare)?;
        taken += read;
        filled += wrote;
        if end {
            out.truncate(filled);
            return Ok(());
        }
        if read == 0 && wrote == 0 {
            return Err(CodecError::Library { codec, reason: "no progress".into() });
        }
    }
}
