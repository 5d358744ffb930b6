//! SafeTensors: named tensors in one buffer, described by a JSON header.
//!
//! ```text
//! u64 LE length of the header | header, padded with spaces | data, tensor after tensor
//! header: {"__metadata__":{"format":"pt"},"weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}
//! ```
//!
//! Offsets count from the end of the header. Values are little-endian and in C order.
//!
//! [`Header::parse`] believes nothing: tensors must tile the data, so that every byte belongs to exactly one of them, and
//! each must be as long as its type and shape say. The header may list them in any order and be padded with any white
//! space. [`SafeTensors`] hands out views of the buffer. [`Layout`] spells what the original library (0.5 to 0.8) spells,
//! byte by byte.
//!
//! Stricter than the original: no name may occur twice, also inside `__metadata__`, and an entry must be an object.

mod dtype;
mod error;
mod header;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use dtype::TensorType;
pub use error::SafeTensorsError;
pub use header::{Header, TensorInfo};
pub use read::SafeTensors;
pub use write::{Layout, Order, TensorSpec, serialize};

/// The member that holds texts about the file and is no tensor.
const METADATA: &str = "__metadata__";
