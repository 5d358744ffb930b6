//! Python's pickles, looked at and never executed.
//!
//! ```text
//! pickle  [PROTO version] { opcode [argument] }* STOP          [trailing bytes]
//!         a program for a machine with a stack, marks on it, and a memo of numbered values
//! ```
//!
//! A pickle can name any function of any module and have it called. Nothing here does that:
//!
//! - [`scan`] runs the stack with placeholders in place of values and tells which globals a pickle names and whether it
//!   calls anything;
//! - [`decode`] builds None, booleans, numbers, text, bytes, lists, tuples, dicts and sets, for protocols 0 to 5, and
//!   refuses everything else by the name of its opcode;
//! - [`classes`] writes pickles of the four container classes that trees of tensordict are described with.
//!
//! Both readers take time and memory in proportion to the pickle: no length is believed, values that the memo shares
//! stay shared, and what they would expand to is bounded.

mod classes;
mod decode;
mod error;
mod integer;
mod opcode;
mod program;
mod scan;
mod stack;
mod text;
mod tree;
mod value;

#[cfg(test)]
mod tests;

pub use classes::{Class, classes};
pub use decode::{Decoded, decode};
pub use error::{PickleError, PickleErrorKind};
pub use opcode::Opcode;
pub use scan::{Global, Scan, scan};
pub use value::Value;

/// Opcodes of one pickle, and values that one pickle may stand for once nothing is shared.
///
/// An opcode takes tens of bytes here where the pickle has one.
const MAX_VALUES: u64 = 1 << 23;
