//! Bytes of a batch as Python sees them: the buffer protocol over shared, immutable memory.
//!
//! ```text
//! numpy.ndarray ── base ──▶ Buffer ── Buf ──▶ file map, decoded shard or pooled buffer
//! ```
//!
//! The last array that looks at the memory lets go of it. Nothing is copied and nothing can be written.

// The buffer protocol is a contract about raw pointers; this file is the only one of the extension that touches it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use packstone_io::{AlignedBuf, Buf, IoError};
use pyo3::exceptions::{PyBufferError, PyOverflowError};
use pyo3::ffi;
use pyo3::prelude::*;

/// The alignment in bytes of the largest elements that machines load at once.
const LARGEST: usize = 16;

/// Read-only bytes for `memoryview`, `numpy.frombuffer` and `torch.frombuffer`; `len` is their number.
#[pyclass(frozen, module = "packstone._native")]
pub(crate) struct Buffer(Buf);

impl Buffer {
    /// A buffer over `bytes`, whose elements take `size` bytes each. Copies only what does not start where such elements
    /// may, which happens in maps of files that align nothing.
    pub(crate) fn aligned(bytes: Buf, size: usize) -> Result<Self, IoError> {
        // A power of two that divides the size, and is no more than any machine asks for.
        let unit = (size & size.wrapping_neg()).clamp(1, LARGEST);
        if bytes.as_ptr().addr().is_multiple_of(unit) {
            return Ok(Self(bytes));
        }
        let mut copy = AlignedBuf::with_capacity(bytes.len())?;
        copy.extend_from_slice(&bytes)?;
        Ok(Self(copy.into()))
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Fills `view` with the address and length of the bytes.
    ///
    /// # Safety
    /// Called by the interpreter alone, with a view to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("expected a view to fill, found none"));
        }
        let bytes = &slf.get().0;
        let len = isize::try_from(bytes.len())
            .map_err(|_| PyOverflowError::new_err("expected fewer bytes"))?;
        let start = bytes.as_ptr().cast::<c_void>().cast_mut();
        // SAFETY: `view` is not null and the interpreter's own. `start` and `len` are those of a live slice that never
        // moves or changes while `slf` lives: the class is frozen, and `Buf` is immutable and does not reallocate. The
        // call stores a new reference to `slf` in the view, so that the bytes outlive it, and refuses, as told by
        // `readonly`, every request to write.
        let status = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) };
        match status {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
