//! One folder a format, all with the same rooms.

pub mod arrayrecord;
pub mod datasetrt;
pub mod sds;
pub mod sedpack;
pub mod tensordict;
