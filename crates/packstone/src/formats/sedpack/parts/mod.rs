//! What only this format has.

pub mod fields;
pub mod list;
pub mod tree;
