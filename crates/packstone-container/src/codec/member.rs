//! Streams made of members: one loop for all codecs that finds where a member ends and what follows it.
//!
//! ```text
//! │ member │ [zeros] │ member │ … │ trailing │
//! ```
//! Whatever starts like a member is one, and must be whole. Anything else after a member is trailing: reported,
//! never decoded.

use super::{Codec, CodecError, Stream, Trailing, output::Output};

/// One member, or one skippable frame.
pub(super) struct Member {
    /// Compressed length in bytes, header and trailer included; never zero.
    pub(super) len: usize,
    /// What it holds.
    pub(super) content: Content,
}

pub(super) enum Content {
    /// Data whose length the header states, or not.
    Data { declared: Option<u64> },
    /// Bytes that are not data.
    Skipped,
}

/// What differs between the codecs.
pub(super) trait Members {
    /// The codec, for messages.
    const CODEC: Codec;
    /// Whether zeros may stand between members.
    const PADDED: bool;

    /// Whether `rest`, which is not empty, goes on with another member (or with the cut start of one).
    fn follows(rest: &[u8]) -> bool;

    /// Decodes the member at byte `at` of `src` to the end of `out`.
    fn member(&mut self, src: &[u8], at: usize, out: &mut Output<'_>)
    -> Result<Member, CodecError>;

    /// Decodes all members of `src`.
    fn members(&mut self, src: &[u8], out: &mut Output<'_>) -> Result<Stream, CodecError> {
        let mut at = 0;
        let mut members = 0;
        let mut declared_size = Some(0u64);
        loop {
            let member = self.member(src, at, out)?;
            at = at.saturating_add(member.len);
            if let Content::Data { declared } = member.content {
                members += 1;
                declared_size = declared_size.zip(declared).and_then(|(a, b)| a.checked_add(b));
            }
            let rest = src.get(at..).unwrap_or_default();
            let zeros = rest.iter().take_while(|&&b| b == 0).count();
            let skip = if Self::PADDED { zeros } else { 0 };
            match rest.get(skip..) {
                Some(next) if member.len > 0 && !next.is_empty() && Self::follows(next) => {
                    at += skip;
                }
                _ if members == 0 => return Err(CodecError::Empty { codec: Self::CODEC }),
                _ => {
                    let trailing =
                        Trailing { bytes: rest.len() as u64, zeros: zeros == rest.len() };
                    return Ok(Stream { members, trailing, declared_size, lzma_alone: false });
                }
            }
        }
    }
}

/// Whether `rest` starts with `magic`, or is a cut start of it.
pub(super) fn starts(rest: &[u8], magic: &[u8]) -> bool {
    let n = rest.len().min(magic.len());
    rest.get(..n) == magic.get(..n)
}

/// Checks that `magic` stands at byte `at`.
pub(super) fn expect(codec: Codec, src: &[u8], at: usize, magic: &[u8]) -> Result<(), CodecError> {
    let rest = src.get(at..).unwrap_or_default();
    if rest.starts_with(magic) {
        Ok(())
    } else if rest.is_empty() && at == 0 {
        Err(CodecError::Empty { codec })
    } else if starts(rest, magic) {
        Err(CodecError::Truncated { codec, at, len: src.len() })
    } else {
        Err(foreign(codec, src, at))
    }
}

/// The error for bytes at `at` that start no member.
pub(super) fn foreign(codec: Codec, src: &[u8], at: usize) -> CodecError {
    let first = src.iter().skip(at).take(6);
    CodecError::Header {
        codec,
        at,
        found: first.map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "),
    }
}

/// How far one step of a streaming library came.
pub(super) struct Step {
    pub(super) read: usize,
    pub(super) wrote: usize,
    pub(super) end: bool,
}

/// Feeds `src` from byte `from` on to a streaming library until its stream ends; returns how much that took.
///
/// `at` is where the member starts, for messages.
pub(super) fn pump(
    src: &[u8],
    at: usize,
    from: usize,
    codec: Codec,
    out: &mut Output<'_>,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Step, CodecError>,
) -> Result<usize, CodecError> {
    let input = src.get(from..).unwrap_or_default();
    let mut taken = 0;
    loop {
        let rest = input.get(taken..).unwrap_or_default();
        let Step { read, wrote, end } = step(rest, out.spare()?)?;
        taken = taken.saturating_add(read);
        out.advance(wrote)?;
        if end {
            return Ok(taken);
        }
        if read == 0 && wrote == 0 {
            return Err(if rest.is_empty() {
                CodecError::Truncated { codec, at, len: src.len() }
            } else {
                CodecError::Corrupt { codec, at, reason: "the decoder stops in the middle".into() }
            });
        }
    }
}
