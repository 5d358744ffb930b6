//! Layer 1 of packstone: where bytes live and how they are published.
//!
//! ```text
//! RelPath ──► Root (read, open, list) ──► Buf / ReadAt
//!        └──► RootMut (create, replace, lock) ──► Sink ──► temp file, fsync, rename, fsync of folder
//! ```
//!
//! A [`Root`] is one folder (or a folder in memory) and everything below it; no path leaves it. Reading never
//! creates, grows or touches a file. Writing shows a file only when it is complete.

mod buffer;
mod error;
mod mmap;
mod path;
mod pool;

pub use buffer::{AlignedBuf, Buf};
pub use error::{IoError, Kind};
pub use path::{PathError, RelPath};
pub use pool::{BufferPool, PooledBuf};
