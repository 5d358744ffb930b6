//! What only this format has.

pub mod class;
pub mod index;
pub mod names;
pub mod node;
pub mod view;
