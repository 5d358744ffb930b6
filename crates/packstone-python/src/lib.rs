//! `packstone._native`: the extension module of the Python package.
//!
//! ```text
//! packstone (python/packstone)   errors, reports and fields as plain typed classes
//!     └── _native (this crate)   Dataset, Collection, iterators, operations: thin, over the library
//! ```
//!
//! Values are NumPy arrays over [`buffer`], metadata columns of Arrow through [`arrow`]; no other file has unsafe code. Every read and every operation releases
//! the interpreter lock; long ones run in [`watch`], which listens for Ctrl-C.

use pyo3::prelude::*;

mod archives;
mod arrow;
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
mod mend;
mod metadata;
mod operations;
mod orders;
mod parts;
mod program;
mod signal;
mod trees;
mod values;
mod watch;
mod writer;

// PyO3 would say that it runs without the interpreter lock; nobody tested that.
#[pymodule(gil_used = true)]
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
    use super::mend::{formats, merge, refresh, repair};
    #[pymodule_export]
    use super::metadata::Metadata;
    #[pymodule_export]
    use super::operations::{convert, diff, digest, open, reopen, verify};
    #[pymodule_export]
    use super::parts::{Parts, create_parts, resume as resume_parts};
    #[pymodule_export]
    use super::program::run;
    #[pymodule_export]
    use super::signal::{annotate, view};
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
