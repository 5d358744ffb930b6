//! Compressed payloads, decoded to exactly the announced length.
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

/// Decodes `raw` to the end of `out`, which is empty.
pub(super) fn payload(record: &Record, raw: &[u8], out: &mut AlignedBuf) -> Result<(), ZipError> {
    let damage =
        || ZipError::Damaged { name: record.name.clone(), method: record.method, decoded: 0 };
    match record.method {
        Method::Deflate => {
            let (announced, most) =
                (record.len, record.compressed_len.saturating_mul(DEFLATE_RATIO));
            if announced > most {
                return Err(ZipError::Implausible { name: record.name.clone(), most, announced });
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
        method => Err(ZipError::Unsupported { name: record.name.clone(), method }),
    }
}

/// Feeds `raw` to a library until its stream ends, which it must do with the last byte of both sides.
///
/// A stream that is not `marked` has no end of its own: it gives as many bytes as are announced, and might give more,
/// made from the bits that are left over.
fn pump(
    record: &Record,
    raw: &[u8],
    what: &'static str,
    marked: bool,
    out: &mut AlignedBuf,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Option<Step>,
) -> Result<(), ZipError> {
    let (mut taken, mut decoded) = (0, 0);
    let damage = |decoded| {
        let (name, method) = (record.name.clone(), record.method);
        ZipError::Damaged { name, method, decoded }
    };
    let excess = usize::from(marked);
    while marked || decoded < record.len {
        let filled = usize::try_from(decoded).map_err(|_| damage(decoded))?;
        if filled == out.len() {
            // One byte more than announced, so that a longer stream shows itself.
            let most = usize::try_from(record.len).unwrap_or(usize::MAX).saturating_add(excess);
            out.set_len(filled.saturating_mul(2).max(FIRST_ROOM).min(most))?;
        }
        let input = usize::try_from(taken).ok().and_then(|n| raw.get(n..)).unwrap_or_default();
        let output = out.get_mut(filled..).unwrap_or_default();
        let Step { read, wrote, end } = step(input, output).ok_or_else(|| damage(decoded))?;
        taken += read;
        decoded += wrote;
        if end || decoded > record.len {
            break;
        }
        if read == 0 && wrote == 0 {
            return Err(damage(decoded));
        }
    }
    record.compare_len("data", record.len, decoded)?;
    if marked {
        record.compare_len(what, wide(raw.len()), taken)?;
    }
    out.truncate(usize::try_from(decoded).unwrap_or_default());
    Ok(())
}
