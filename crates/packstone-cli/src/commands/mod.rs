//! The commands: one verb a file.

pub(crate) mod completions;
pub(crate) mod dump;
pub(crate) mod formats;
pub(crate) mod head;
pub(crate) mod inspect;
pub(crate) mod man;
