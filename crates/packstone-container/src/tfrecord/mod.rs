//! TFRecord files and the protobuf messages that TensorFlow puts into them.
//!
//! ```text
//! record: length u64 | masked CRC-32C of those 8 bytes u32 | data | masked CRC-32C of data u32
//! data:   a tf.train.Example, see [`example`]; half floats are a TensorProto inside it, see [`tensor_proto`]
//! ```
//!
//! Everything borrows from the input. Compression of the whole file is the caller's.

pub mod example;
pub mod tensor_proto;

mod frame;

pub use frame::{Frame, FrameError, FrameErrorKind, Frames, write_frame};
