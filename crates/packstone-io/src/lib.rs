//! Layer 1 of packstone: where bytes live and how they are published.
//!
//! ```text
//! RelPath ─► Root (open, read, list) ─► Buf / ReadAt
//!       └──► RootMut (create, replace, lock) ─► temporary sibling, sync, rename, sync of the folder
//! ```
//!
//! A [`Root`] is one folder (or a folder in memory) and everything below it; no path leaves it. Reading never
//! creates, grows or touches a file. Writing shows a file only when it is complete.

mod adapters;
mod backing;
mod buffer;
pub mod conformance;
mod error;
mod local;
mod memory;
mod mmap;
mod path;
mod pool;
mod read;
mod root;

pub use adapters::{CountingRoot, FaultyRoot, SoleFile};
pub use buffer::{AlignedBuf, Buf, touch};
pub use error::{IoError, Kind};
pub use local::{LOCK_FILE, LocalRoot, TEMPORARY};
pub use memory::MemoryRoot;
pub use path::{PathError, RelPath};
pub use pool::{BufferPool, PooledBuf};
pub use read::ReadAt;
pub use root::{Draft, Edit, Entry, EntryKind, Journal, Name, Root, RootMut, Scratch};
