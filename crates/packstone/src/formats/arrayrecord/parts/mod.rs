//! What only this format has: files with their notes, records as frames of fields, the collection, salvage.

pub mod collection;
pub mod fault;
pub mod file;
pub mod frame;
pub mod repair;
