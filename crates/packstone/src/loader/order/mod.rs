//! Which sample comes at which position: one order a file.
//!
//! ```text
//! sequential   as stored
//! shuffled     every sample once, by a keyed permutation that needs no memory
//! blocks       every sample once, shards shuffled, then rows within some shards at a time
//! weighted     drawn by weight, with replacement
//! distinct     drawn by weight, without replacement
//! balanced     each value of a key equally often
//! indices      as the user lists them
//! mixture      several orders by ratio
//! native       as the format's own library draws
//! ```
//!
//! All random numbers are those of [`random`](crate::random). The numbers of an epoch come from a key of its own.

mod balanced;
mod blocks;
mod distinct;
mod identity;
mod indices;
mod mixture;
mod native;
mod permutation;
mod sequential;
mod shuffled;
mod weighted;
mod weights;

use packstone_io::Kind;

use super::codes;
use crate::error::{Error, Place};
use crate::model::canonical::numbers as digest;
use crate::random::nth;

pub use crate::order::{Drawn, Order};
pub use balanced::Balanced;
pub use blocks::{BlockQuality, Blocks};
pub use distinct::Distinct;
pub use identity::OrderId;
pub(super) use identity::cut;
pub use indices::Indices;
pub use mixture::{Mixture, Source, Stop};
pub use native::native;
pub use permutation::Permutation;
pub use sequential::Sequential;
pub use shuffled::Shuffled;
pub use weighted::Weighted;
pub use weights::Weights;

/// The key of an epoch of the order that is called `tag`.
fn key(tag: [u8; 8], seed: u64, epoch: u64) -> u64 {
    nth(nth(u64::from_be_bytes(tag), seed), epoch)
}

fn invalid(code: &'static str, message: String) -> Error {
    Error::new(Kind::Invalid, code, Place::default(), message)
}
