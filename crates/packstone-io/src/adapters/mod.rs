//! Roots around roots: counting what is read, failing on purpose.

mod counting;
mod faulty;

pub use counting::CountingRoot;
pub use faulty::FaultyRoot;
