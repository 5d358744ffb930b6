//! The commands: one verb a file.

pub(crate) mod annotate;
pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod digest;
pub(crate) mod dump;
pub(crate) mod formats;
pub(crate) mod head;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod migrate;
pub(crate) mod pack;
pub(crate) mod plan;
pub(crate) mod refresh;
pub(crate) mod repair;
pub(crate) mod select;
pub(crate) mod state;
pub(crate) mod unpack;
pub(crate) mod verify;
pub(crate) mod view;
