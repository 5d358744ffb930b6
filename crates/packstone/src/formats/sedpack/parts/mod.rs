//! What only this format has.

pub mod accept;
pub mod cast;
pub mod fb;
pub mod fields;
pub mod intent;
pub mod list;
pub mod merge;
pub mod names;
pub mod npz;
pub mod publish;
pub mod repair;
pub mod rotate;
pub mod shard;
pub mod tfrec;
pub mod tree;
pub mod workers;
