//! Raw LZMA behind the header that ZIP puts before it.
//!
//! ```text
//! version of the SDK u8 u8, length of the properties u16, properties: lc + 9·(lp + 5·pb) u8, dictionary u32, stream
//! ```

use std::io;

use liblzma::stream::{Action, Filters, LzmaOptions, Status, Stream};

const PROPERTIES_LEN: usize = 5;
/// Dictionaries are never smaller.
const LEAST_DICTIONARY: u32 = 4096;
/// SDK 9.4, as CPython's `zipfile` says, and the properties of preset 6: lc 3, lp 0, pb 2, 8 MiB.
pub(super) const HEADER: [u8; 9] = [9, 4, 5, 0, 0x5d, 0, 0, 0x80, 0];
const PRESET: u32 = 6;

/// The properties and the stream of a payload.
pub(super) fn split(payload: &[u8]) -> Option<(&[u8; PROPERTIES_LEN], &[u8])> {
    let ([_, _, len @ ..], rest) = payload.split_first_chunk::<4>()?;
    (usize::from(u16::from_le_bytes(*len)) == PROPERTIES_LEN)
        .then(|| rest.split_first_chunk())
        .flatten()
}

/// A decoder for a stream that gives `len` bytes.
///
/// It takes memory for the whole dictionary at once; what lies beyond `len` would serve nothing.
pub(super) fn decoder(properties: &[u8; PROPERTIES_LEN], len: u64) -> Option<Stream> {
    let [coding, dictionary @ ..] = *properties;
    let most = u32::try_from(len).unwrap_or(u32::MAX).max(LEAST_DICTIONARY);
    let [a, b, c, d] = u32::from_le_bytes(dictionary).min(most).to_le_bytes();
    let mut filters = Filters::new();
    filters.lzma1_properties(&[coding, a, b, c, d]).ok()?;
    Stream::new_raw_decoder(&filters).ok()
}

/// An encoder of a stream with an end marker; [`HEADER`] goes in front.
pub(super) struct Encoder(Stream);

impl Encoder {
    /// Starts a stream.
    pub(super) fn new() -> io::Result<Self> {
        let mut filters = Filters::new();
        filters.lzma1(&LzmaOptions::new_preset(PRESET).map_err(io::Error::other)?);
        Stream::new_raw_encoder(&filters).map(Self).map_err(io::Error::other)
    }

    /// One step: bytes read and written, and whether the stream has ended.
    pub(super) fn step(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        last: bool,
    ) -> io::Result<(u64, u64, bool)> {
        let stream = &mut self.0;
        let before = (stream.total_in(), stream.total_out());
        let action = if last { Action::Finish } else { Action::Run };
        let status = stream.process(input, output, action).map_err(io::Error::other)?;
        let (read, wrote) = (stream.total_in() - before.0, stream.total_out() - before.1);
        Ok((read, wrote, status == Status::StreamEnd))
    }
}
