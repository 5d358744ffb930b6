//! TensorDict memory maps: a folder or archive a tree, a file a tensor.
//!
//! ```text
//! meta.json              keys, shapes, dtypes of the leaves, class; marks the dataset
//! obs.memmap             a leaf: elements in C order, little-endian, no header
//! nt.memmap              a nested tensor: its parts one after another …
//! nt.shape.memmap        … and their sizes, 64-bit integers
//! next/meta.json …       a nested collection: a tensordict, a lazy stack, a value that is no tensor, …
//! x.tdz                  all of this as a zip file
//! ```

pub mod codes;
pub mod document;
pub mod layout;
pub mod options;
pub mod parts;
pub mod schema;
