//! Which sample comes at a position of one epoch of a mixture.
//!
//! ```text
//! position ──▶ block, slot ──▶ source, its own position ──▶ pass, place in the pass ──▶ sample
//! ```

use std::sync::Arc;

use super::super::{Drawn, Permutation};
use super::Source;
use super::blocks::Blocks;
use crate::error::Result;
use crate::random::nth;

/// A source in one epoch.
#[derive(Debug)]
struct Part {
    drawn: Arc<dyn Drawn>,
    /// What brings the positions of a second pass and those after it into another order.
    again: Permutation,
    /// The first sample of its dataset.
    first: u64,
}

/// One epoch of a mixture.
#[derive(Debug)]
pub(super) struct Epoch {
    sources: Vec<Part>,
    blocks: Blocks,
    key: u64,
}

impl Epoch {
    /// The epoch `epoch` of all sources, mixed under `key`.
    ///
    /// # Errors
    /// Those of [`Order::epoch`](super::Order::epoch).
    pub(super) fn new(mixed: &[Source], blocks: Blocks, epoch: u64, key: u64) -> Result<Self> {
        let (mut sources, mut first) = (Vec::new(), 0u64);
        for source in mixed {
            let drawn = source.order.epoch(epoch)?;
            sources.push(Part { drawn, again: Permutation::new(source.order.len(), 0)?, first });
            first = first.saturating_add(source.samples);
        }
        Ok(Self { sources, blocks, key })
    }
}

impl Drawn for Epoch {
    fn at(&self, position: u64) -> Option<u64> {
        let blocks = &self.blocks;
        if position >= blocks.len {
            return None;
        }
        let block = position.checked_div(blocks.all.len())?;
        let (parts, slots) = match block < blocks.whole {
            true => (&blocks.ratios, blocks.all),
            false => (&blocks.rest, blocks.last),
        };
        let slot = slots.with_key(nth(self.key, block)).at(position - block * blocks.all.len())?;
        let at = parts.partition_point(|end| *end <= slot);
        let start = |ends: &[u64]| at.checked_sub(1).map_or(Some(0), |at| ends.get(at).copied());
        let ratio = blocks.ratios.get(at)? - start(&blocks.ratios)?;
        let place = block.checked_mul(ratio)?.checked_add(slot - start(parts)?)?;
        let source = self.sources.get(at)?;
        let (pass, place) =
            (place.checked_div(source.again.len())?, place.checked_rem(source.again.len())?);
        let place = match pass {
            0 => place,
            _ => source.again.with_key(nth(nth(!self.key, at as u64), pass)).at(place)?,
        };
        source.first.checked_add(source.drawn.at(place)?)
    }
}
