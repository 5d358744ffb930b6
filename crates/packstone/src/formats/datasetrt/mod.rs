//! DatasetRT: caches of samples with a metadata table.

pub mod codes;
pub mod parts;
