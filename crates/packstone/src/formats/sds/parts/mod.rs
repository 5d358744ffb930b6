//! What only this format has: records and axes, the manifest's pages, annotations, views.

pub mod annotate;
pub mod annotations;
pub mod axes;
pub mod batch;
pub mod carrier;
pub mod catalog;
pub mod checks;
pub mod collection;
pub mod encode;
pub mod index;
pub mod manifest;
pub mod notes;
pub mod own;
pub mod payload;
pub mod pointer;
pub mod publish;
pub mod record;
pub mod reference;
pub mod rules;
pub mod sample;
pub mod shards;
pub mod snapshot;
pub mod store;
pub mod text;
pub mod view;
pub mod write;
