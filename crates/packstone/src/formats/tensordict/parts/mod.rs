//! What only this format has.

pub mod class;
pub mod collections;
pub mod dates;
pub mod fields;
pub mod files;
pub mod folder;
pub mod index;
pub mod leaf;
pub mod listing;
pub mod mapping;
pub mod names;
pub mod nested;
pub mod node;
pub mod outputs;
pub mod pack;
pub mod pick;
pub mod pickles;
pub mod rewrite;
pub mod save;
pub mod stack;
pub mod stage;
pub mod store;
pub mod tree;
pub mod view;
