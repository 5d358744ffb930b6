//! Payloads on their way out of shards: views of the one shard that they lie in, or together in one buffer.
//!
//! ```text
//! one shard, stored      │·▒▒·▒▒▒·│                     where they lie
//! compressed, or apart   │·▒▒·│ │▒▒▒··│ ──▶ │▒▒│▒▒▒│     decoded or copied once, in the order of the samples
//! ```

use std::collections::HashMap;
use std::ops::Range;

use packstone_container::Limits;
use packstone_container::codec::{CodecError, decode_lz4_block};
use packstone_io::{AlignedBuf, Buf, Kind};

use super::super::codes;
use super::super::document::{Algo, ShardEntry};
use super::super::layout::LZ4_PREFIX;
use super::cache::Cache;
use super::maps::Stay;
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;

/// No LZ4 block gains more than 255 bytes with one.
const MAX_RATIO: u64 = 255;

/// The shards that samples lie in, each opened and looked at once.
pub(super) struct Shards<'c> {
    cache: &'c Cache,
    stay: Stay,
    verify: bool,
    opened: Vec<(&'c ShardEntry, Buf)>,
    places: HashMap<u64, usize>,
    last: Option<(u64, usize)>,
}

impl<'c> Shards<'c> {
    pub(super) fn new(cache: &'c Cache, stay: Stay, verify: bool) -> Self {
        Self { cache, stay, verify, opened: Vec::new(), places: HashMap::new(), last: None }
    }

    /// The place of a shard among those that were opened; it is opened where it is not.
    ///
    /// # Errors
    /// Those of [`Cache::look_at_shard`], [`Cache::shard`] and [`Cache::compare_checksums`].
    pub(super) fn place(&mut self, number: u64) -> Result<usize> {
        if let Some((_, place)) = self.last.filter(|(last, _)| *last == number) {
            return Ok(place);
        }
        let place = match self.places.get(&number) {
            Some(place) => *place,
            None => {
                self.cache.look_at_shard(number)?;
                let (entry, shard) = self.cache.shard(number, self.stay)?;
                if self.verify {
                    self.cache.compare_checksums(number, &shard)?;
                }
                self.opened.push((entry, shard));
                self.places.insert(number, self.opened.len() - 1);
                self.opened.len() - 1
            }
        };
        self.last = Some((number, place));
        Ok(place)
    }

    /// The bytes of an opened shard.
    pub(super) fn bytes(&self, place: usize) -> &[u8] {
        self.opened.get(place).map_or(&[], |(_, shard)| shard)
    }

    /// The payloads at `stored`, each in the shard at a place; `at` says where one is for messages.
    ///
    /// # Errors
    /// `lz4_damaged`, `lz4_length`; I/O faults.
    pub(super) fn payloads(
        &self,
        stored: Vec<(usize, Range<usize>)>,
        at: impl Fn(usize) -> Place,
        context: &ReadContext,
    ) -> Result<Payloads> {
        if let [(entry, shard)] = self.opened.as_slice()
            && entry.algo == Algo::None
        {
            let spans = stored.into_iter().map(|(_, span)| span).collect();
            return Ok(Payloads { bytes: shard.clone(), spans });
        }
        let room = |(place, span): &(usize, Range<usize>)| {
            let (entry, shard) = self.opened.get(*place)?;
            Some(match entry.algo {
                Algo::None => span.len() as u64,
                Algo::Lz4 => stated_length(shard.get(span.clone())?)?,
            })
        };
        let total = stored.iter().filter_map(room).fold(0, u64::saturating_add);
        let room = usize::try_from(total.min(context.limits.decoded_bytes)).unwrap_or(0);
        let mut out = context.pool.take(room)?;
        let mut spans = Vec::with_capacity(stored.len());
        for (number, (place, span)) in stored.into_iter().enumerate() {
            let start = out.len();
            let Some((entry, shard)) = self.opened.get(place) else { continue };
            match entry.algo {
                Algo::None => {
                    out.extend_from_buf(shard, span)?;
                }
                Algo::Lz4 => {
                    let left = context.limits.decoded_bytes.saturating_sub(start as u64);
                    let limits = context.limits.with_decoded_bytes(left);
                    let block = shard.get(span).unwrap_or_default();
                    decode_payload(block, &mut out, &limits)
                        .map_err(|error| error.at(at(number)))?;
                }
            }
            spans.push(start..out.len());
        }
        Ok(Payloads { bytes: out.freeze(), spans })
    }
}

/// What a block says that it becomes, believed as far as blocks of its size can.
pub(super) fn stated_length(stored: &[u8]) -> Option<u64> {
    let (len, block) = stored.split_first_chunk::<LZ4_PREFIX>()?;
    let most = (block.len() as u64).saturating_mul(MAX_RATIO);
    Some(u64::from(u32::from_le_bytes(*len)).min(most))
}

/// Payloads of samples in a buffer.
#[derive(Default)]
pub(super) struct Payloads {
    pub(super) bytes: Buf,
    pub(super) spans: Vec<Range<usize>>,
}

/// Why a compressed payload is none.
#[derive(Debug)]
pub enum PayloadError {
    /// It ends inside of the length in front of it; its bytes.
    NoLength(usize),
    /// The length in front of it is more than the block behind can become.
    Implausible {
        /// The length.
        stated: u64,
        /// What the block can become at most.
        most: u64,
    },
    /// The block is damaged, or not as long as stated.
    Block(CodecError),
}

impl PayloadError {
    /// The error at a place.
    pub fn at(self, place: Place) -> Error {
        let error = match self {
            Self::NoLength(found) => {
                let message = format!("expected a length of 4 bytes, found {found} bytes");
                return Error::new(Kind::Corrupt, codes::LZ4_DAMAGED, place, message);
            }
            Self::Implausible { stated, most } => {
                let message =
                    format!("expected at most {most} bytes of payload, found {stated} stated");
                return Error::new(Kind::Corrupt, codes::LZ4_LENGTH, place, message);
            }
            Self::Block(CodecError::Mismatch { expected, found, .. }) => {
                let message = format!("expected {expected} bytes of payload, found {found}");
                return Error::new(Kind::Corrupt, codes::LZ4_LENGTH, place, message);
            }
            Self::Block(error) => error,
        };
        Error::new(error.kind(), codes::LZ4_DAMAGED, place, error.to_string())
    }
}

/// Appends the content of one compressed payload to `out`.
///
/// # Errors
/// It is damaged, or longer or shorter than it says. The length is never believed beyond what the block can hold.
pub fn decode_payload(
    stored: &[u8],
    out: &mut AlignedBuf,
    limits: &Limits,
) -> Result<(), PayloadError> {
    let Some((len, block)) = stored.split_first_chunk::<LZ4_PREFIX>() else {
        return Err(PayloadError::NoLength(stored.len()));
    };
    let stated = u64::from(u32::from_le_bytes(*len));
    let most = (block.len() as u64).saturating_mul(MAX_RATIO);
    if stated > most {
        return Err(PayloadError::Implausible { stated, most });
    }
    decode_lz4_block(block, stated, out, limits).map_err(PayloadError::Block)
}
