//! What only this format has: records and axes, the manifest's pages, annotations, views.

pub mod axes;
pub mod carrier;
pub mod catalog;
pub mod manifest;
pub mod notes;
pub mod payload;
pub mod pointer;
pub mod record;
pub mod reference;
pub mod rules;
pub mod snapshot;
pub mod text;
