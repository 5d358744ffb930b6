//! Compressed payloads, decoded to exactly the announced length: into a buffer, or through a window.
//!
//! ```text
//! deflate: the stream      bzip2: the stream      LZMA: version u16, 5 u16, properties 5, the stream [end marker]
//! ```

use bzip2::{Decompress as Bunzip2, Status as BunzipStatus};
use flate2::{Decompress as Inflate, FlushDecompress, Status as InflateStatus};
use liblzma::stream::{Action, Status as LzmaStatus};
use packstone_io::AlignedBuf;

use super::{FLAG_LZMA_END, Method, Record, ZipError, lzma, wide};

/// The most bytes that one byte of a deflate stream can stand for: a match of 258 bytes in two bits.
const DEFLATE_RATIO: u64 = 1032;

/// Room to start with. More is made only after this much was really decoded.
const FIRST_ROOM: usize = 256 << 10;

/// How far one step of a library came.
struct Step {
    read: u64,
    wrote: u64,
    end: bool,
}

/// Takes decoded bytes.
pub(super) trait Output {
    /// How it can fail.
    type Error: From<ZipError>;

    /// Room, which is not empty, for what follows `decoded` bytes; there will be `most` in all, or fewer.
    fn room(&mut self, decoded: u64, most: u64) -> Result<&mut [u8], ZipError>;

    /// Takes the first `len` bytes of the room.
    fn take(&mut self, len: usize) -> Result<(), Self::Error>;
}

/// All of it stays: the buffer grows with what was really decoded.
impl Output for AlignedBuf {
    type Error = ZipError;

    fn room(&mut self, decoded: u64, most: u64) -> Result<&mut [u8], ZipError> {
        let [filled, most] = [decoded, most].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        if filled == self.len() {
            // What came to a part already may come to all, and from then on nothing has to move.
            let next = if filled >= most / 8 { most } else { filled.saturating_mul(2) };
            self.set_len(next.max(FIRST_ROOM).min(most))?;
        }
        Ok(self.get_mut(filled..).unwrap_or_default())
    }

    fn take(&mut self, _: usize) -> Result<(), ZipError> {
        Ok(())
    }
}

/// It goes on to somebody else, a window at a time, and nothing stays.
pub(super) struct Passing<'a, E> {
    pub(super) window: &'a mut [u8],
    pub(super) sink: &'a mut dyn FnMut(&[u8]) -> Result<(), E>,
}

impl<E: From<ZipError>> Output for Passing<'_, E> {
    type Error = E;

    fn room(&mut self, decoded: u64, most: u64) -> Result<&mut [u8], ZipError> {
        let left = usize::try_from(most.saturating_sub(decoded)).unwrap_or(usize::MAX);
        let len = left.min(self.window.len());
        Ok(self.window.get_mut(..len).unwrap_or_default())
    }

    fn take(&mut self, len: usize) -> Result<(), E> {
        (self.sink)(self.window.get(..len).unwrap_or_default())
    }
}

/// Decodes `raw` into `out`, which is empty; gives the number of bytes.
pub(super) fn payload<O: Output>(
    record: &Record,
    raw: &[u8],
    out: &mut O,
) -> Result<u64, O::Error> {
    let damage =
        || ZipError::Damaged { name: record.name.clone(), method: record.method, decoded: 0 };
    match record.method {
        Method::Deflate => {
            let (announced, most) =
                (record.len, record.compressed_len.saturating_mul(DEFLATE_RATIO));
            if announced > most {
                let name = record.name.clone();
                return Err(ZipError::Implausible { name, most, announced }.into());
            }
            let mut stream = Inflate::new(false);
            pump(record, raw, "deflate stream", true, out, |input, output| {
                let before = (stream.total_in(), stream.total_out());
                let status = stream.decompress(input, output, FlushDecompress::None).ok()?;
                let (read, wrote) = (stream.total_in() - before.0, stream.total_out() - before.1);
                Some(Step { read, wrote, end: status == InflateStatus::StreamEnd })
            })
        }
        Method::Bzip2 => {
            let mut stream = Bunzip2::new(false);
            pump(record, raw, "bzip2 stream", true, out, |input, output| {
                let before = (stream.total_in(), stream.total_out());
                let status = stream.decompress(input, output).ok()?;
                let (read, wrote) = (stream.total_in() - before.0, stream.total_out() - before.1);
                Some(Step { read, wrote, end: status == BunzipStatus::StreamEnd })
            })
        }
        Method::Lzma => {
            let (properties, raw) = lzma::split(raw).ok_or_else(damage)?;
            let mut stream = lzma::decoder(properties, record.len).ok_or_else(damage)?;
            let marked = record.flags & FLAG_LZMA_END != 0;
            pump(record, raw, "LZMA stream", marked, out, |input, output| {
                let before = (stream.total_in(), stream.total_out());
                let status = stream.process(input, output, Action::Run).ok()?;
                let (read, wrote) = (stream.total_in() - before.0, stream.total_out() - before.1);
                Some(Step { read, wrote, end: status == LzmaStatus::StreamEnd })
            })
        }
        method => Err(ZipError::Unsupported { name: record.name.clone(), method }.into()),
    }
}

/// Feeds `raw` to a library until its stream ends, which it must do with the last byte of both sides.
///
/// A stream that is not `marked` has no end of its own: it gives as many bytes as are announced, and might give more,
/// made from the bits that are left over.
fn pump<O: Output>(
    record: &Record,
    raw: &[u8],
    what: &'static str,
    marked: bool,
    out: &mut O,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Option<Step>,
) -> Result<u64, O::Error> {
    let (mut taken, mut decoded) = (0, 0);
    let damage = |decoded| {
        let (name, method) = (record.name.clone(), record.method);
        ZipError::Damaged { name, method, decoded }
    };
    // One byte more than announced, so that a longer stream shows itself.
    let most = record.len.saturating_add(u64::from(marked));
    while marked || decoded < record.len {
        let input = usize::try_from(taken).ok().and_then(|n| raw.get(n..)).unwrap_or_default();
        let output = out.room(decoded, most)?;
        let Step { read, wrote, end } = step(input, output).ok_or_else(|| damage(decoded))?;
        taken += read;
        decoded += wrote;
        if decoded <= record.len {
            out.take(usize::try_from(wrote).map_err(|_| damage(decoded))?)?;
        }
        if end || decoded > record.len {
            break;
        }
        if read == 0 && wrote == 0 {
            return Err(damage(decoded).into());
        }
    }
    record.compare_len("data", record.len, decoded)?;
    if marked {
        record.compare_len(what, wide(raw.len()), taken)?;
    }
    Ok(decoded)
}
