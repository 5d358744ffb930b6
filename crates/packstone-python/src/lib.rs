//! `packstone._native`: the extension module of the Python package.
//!
//! ```text
//! packstone (python/packstone)   errors, reports and fields as plain typed classes
//!     └── _native (this crate)   Dataset, Collection, iterators, operations: thin, over the library
//! ```
//!
//! Values are NumPy arrays over [`buffer`], the one file here with unsafe code. Every read and every operation releases
//! the interpreter lock; long ones run in [`watch`], which listens for Ctrl-C.

use pyo3::prelude::*;

mod archives;
mod buffer;
mod collection;
mod columns;
mod course;
mod dataset;
mod dtypes;
mod failure;
mod fork;
mod iterate;
mod key;
mod keywords;
mod loader;
mod operations;
mod orders;
mod trees;
mod values;
mod watch;
mod writer;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::archives::{migrate, pack, unpack};
    #[pymodule_export]
    use super::buffer::Buffer;
    #[pymodule_export]
    use super::collection::{Collection, restore};
    #[pymodule_export]
    use super::dataset::Dataset;
    #[pymodule_export]
    use super::iterate::{Batches, Samples};
    #[pymodule_export]
    use super::loader::{Loader, resume};
    #[pymodule_export]
    use super::operations::{convert, diff, digest, open, verify};

    #[pymodule_export]
    use super::trees::{load_tree, save_tree};
    #[pymodule_export]
    use super::writer::{Writer, create};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
