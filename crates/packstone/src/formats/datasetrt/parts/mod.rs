//! What only DatasetRT has.

pub mod cache;
pub mod check;
pub mod descriptor;
pub mod float;
pub mod identity;
pub mod index;
pub mod joint;
pub mod maps;
pub mod read;
pub mod record;
pub mod runs;
pub mod site;
pub mod tensors;
pub mod values;
