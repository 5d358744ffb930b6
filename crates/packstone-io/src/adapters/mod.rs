//! Roots around roots: one file of a folder, counting what is read, failing on purpose.

mod counting;
mod faulty;
mod sole;

pub use counting::CountingRoot;
pub use faulty::FaultyRoot;
pub use sole::SoleFile;
