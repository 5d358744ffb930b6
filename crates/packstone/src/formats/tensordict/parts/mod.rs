//! What only this format has.

pub mod archive;
pub mod class;
pub mod collections;
pub mod field;
pub mod fields;
pub mod flat;
pub mod folder;
pub mod index;
pub mod leaf;
pub mod leaves;
pub mod listing;
pub mod mapping;
pub mod names;
pub mod nested;
pub mod node;
pub mod pick;
pub mod pickles;
pub mod show;
pub mod stack;
pub mod store;
pub mod tensor;
pub mod tree;
pub mod values;
pub mod view;
