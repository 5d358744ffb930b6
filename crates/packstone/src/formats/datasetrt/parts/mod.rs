//! What only DatasetRT has.

pub mod cache;
pub mod float;
pub mod index;
pub mod joint;
pub mod maps;
pub mod read;
pub mod record;
pub mod runs;
pub mod site;
