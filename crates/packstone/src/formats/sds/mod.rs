//! SignalDataset.

pub mod codes;
pub mod document;
pub mod layout;
pub mod options;
pub mod parts;
