//! What only this format has.

pub mod cast;
pub mod fb;
pub mod fields;
pub mod list;
pub mod npz;
pub mod shard;
pub mod tfrec;
pub mod tree;
