//! Sedpack `fb` shards: a FlatBuffer of examples, each a list of byte vectors.
//!
//! ```text
//! u32 root ─► Shard { examples: [Example] } ─► Example { attributes: [Attribute] } ─► Attribute { attribute_bytes: [ubyte] }
//! table  = i32 back to its vtable, fields        vtable = u16 size, u16 table size, u16 offset of field 0 (0: absent)
//! vector = u32 count, elements                   offset = u32 forward from where it stands
//! ```
//!
//! No identifier, no size prefix, no types: the dataset's schema gives names and dtypes by position. [`read`] checks
//! every offset in one pass and notes where each value lies; [`write`] gives the bytes that the original gives.

mod read;
mod write;

pub use read::{FlatError, Index, read, read_rows};
pub use write::write;
