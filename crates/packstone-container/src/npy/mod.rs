//! NumPy `.npy` arrays: the header, its literal, and the way to little-endian C order.
//!
//! ```text
//! 93 "NUMPY" | major minor | length u16 (1.0) or u32 (2.0, 3.0) | text, spaces, "\n" | data
//! text: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }        data starts at a multiple of 64
//! ```
//!
//! The text is a Python literal; [`Header::parse`] reads the three keys in any order and spacing and evaluates nothing.
//! Object arrays are pickles and structured types are not columns: both are refused by name. [`write_header`] spells and
//! pads as NumPy does, including the room it leaves for the first axis to grow.

mod error;
mod header;
mod item;
mod literal;
mod order;

pub use error::NpyError;
pub use header::{Header, write_header};
pub use item::Item;
pub use order::{swap_bytes, to_c_order, to_little_endian_c_order};
