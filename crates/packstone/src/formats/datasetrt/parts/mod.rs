//! What only DatasetRT has.

pub mod cache;
pub mod check;
pub mod descriptor;
pub mod encode;
pub mod float;
pub mod identity;
pub mod index;
pub mod joint;
pub mod journal;
pub mod maps;
pub mod migrate;
pub mod read;
pub mod record;
pub mod repair;
pub mod resume;
pub mod rows;
pub mod runs;
pub mod shards;
pub mod site;
pub mod stage;
pub mod tensors;
pub mod values;
