//! SignalDataset.

pub mod codes;
pub mod document;
pub mod layout;
pub mod options;
pub mod parts;
pub mod reader;

/// The format's name.
const ID: &str = "sds";
