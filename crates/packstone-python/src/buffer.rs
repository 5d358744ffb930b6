//! Bytes of a batch as Python sees them, and bytes of Python as the library sees them: the buffer protocol.
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
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyOverflowError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// The alignment in bytes of the largest elements that machines load at once.
const LARGEST: usize = 16;

/// Bytes for `memoryview`, `numpy.frombuffer` and `torch.frombuffer`, read-only where not said otherwise; `len` is their
/// number.
#[pyclass(frozen, module = "packstone._native")]
pub(crate) struct Buffer {
    bytes: Buf,
    access: Access,
}

/// Who may look at the bytes of a buffer, or change them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// They are a file's, or those of others too.
    Shared,
    /// They are ordinary memory that nobody else looks at.
    Own,
    /// The same, and whoever asks may write.
    Writable,
}

impl Buffer {
    /// A buffer over `bytes`, whose elements take `size` bytes each. Copies only what does not start where such elements
    /// may, which happens in maps of files that align nothing.
    /// `own` says that the bytes are those of a batch which was copied together for this caller alone.
    pub(crate) fn aligned(bytes: Buf, size: usize, own: bool) -> Result<Self, IoError> {
        // A power of two that divides the size, and is no more than any machine asks for.
        let unit = (size & size.wrapping_neg()).clamp(1, LARGEST);
        if bytes.as_ptr().addr().is_multiple_of(unit) {
            let access = if own { Access::Own } else { Access::Shared };
            return Ok(Self { bytes, access });
        }
        let mut copy = AlignedBuf::with_capacity(bytes.len())?;
        copy.extend_from_slice(&bytes)?;
        Ok(Self { bytes: copy.into(), access: Access::Own })
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.bytes.len()
    }

    /// The same bytes to be written to, where that changes no file and no other value; else none. Whoever asks is the
    /// only one who looks at them from then on.
    fn _writable(&self) -> Option<Self> {
        let own = self.access != Access::Shared;
        own.then(|| Self { bytes: self.bytes.clone(), access: Access::Writable })
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
        let Self { bytes, access } = slf.get();
        let read_only = c_int::from(*access != Access::Writable);
        let len = isize::try_from(bytes.len())
            .map_err(|_| PyOverflowError::new_err("expected fewer bytes"))?;
        let start = bytes.as_ptr().cast::<c_void>().cast_mut();
        // SAFETY: `view` is not null and the interpreter's own. `start` and `len` are those of a live slice that never
        // moves while `slf` lives: the class is frozen, and `Buf` does not reallocate. The call stores a new reference to
        // `slf` in the view, so that the bytes outlive it, and refuses, as told by `read_only`, every request to write.
        // Where it does not refuse, the bytes lie in memory of the process that was written to when the batch was made
        // (a heap block or an anonymous map, never a file), no two values of the batch share any of them, and the library
        // reads them no more: it has handed the batch out.
        let status =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, read_only, flags) };
        match status {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// The bytes of an array of `uint8`, without a copy: whoever gives them changes them no more until the call is over.
pub(crate) fn held(object: &Bound<'_, PyAny>) -> PyResult<Buf> {
    let buffer = PyBuffer::<u8>::get(object)?;
    if !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err("expected bytes one after another, found gaps"));
    }
    Ok(if buffer.len_bytes() == 0 { Buf::default() } else { Buf::from_owner(Held(buffer)) })
}

/// Memory of a Python object, which lives as long as this.
struct Held(PyBuffer<u8>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the exporter keeps the memory where it is until the buffer is released, which happens when `self` is
        // dropped. It is `len_bytes` long, at least one, and has no gaps, as was checked. Python code that writes to the
        // array at the same time breaks what `held` asks of its caller, as with any reader of an array.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }
}
