//! Tables as Arrow's C structures in capsules, which every library that speaks Arrow takes without knowing this one.
//!
//! ```text
//! capsule "arrow_schema"          ArrowSchema: a struct of the columns
//! capsule "arrow_array_stream"    ArrowArrayStream ─▶ one ArrowArray of all rows ─▶ Arc<Exported> ─▶ columns
//! ```
//!
//! Values are not copied: buffers point into the columns, and each structure keeps them alive until it is released, by its
//! reader or, where nobody took it, by the capsule.

// The C data interface is a contract about raw pointers; no other file of the extension but `buffer` touches any.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use packstone_container::arrow_table::{Column, Table, Values};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

// Words of bits are handed out as bytes.
const _: () = assert!(cfg!(target_endian = "little"), "bits are handed out as they lie in memory");

/// Says that a column may hold nulls.
const NULLABLE: i64 = 2;
/// What a stream answers that cannot go on.
const EINVAL: c_int = 22;

/// The columns of a table, ready to be pointed at.
#[derive(Debug)]
pub(crate) struct Exported {
    rows: i64,
    columns: Vec<ExportedColumn>,
}

#[derive(Debug)]
struct ExportedColumn {
    name: CString,
    column: Arc<Column>,
    /// Where texts begin and the last one ends.
    offsets: Vec<i64>,
    json: bool,
    nulls: i64,
}

impl Exported {
    /// The columns of `table`, of which those marked in `json` hold JSON; `rows` counts also where there are none.
    pub(crate) fn new(table: &Table, json: &[bool], rows: u64) -> Option<Self> {
        let columns = table.columns().enumerate().map(|(at, (name, column))| {
            // C ends texts at a zero, so names show it as its picture.
            let name = CString::new(name.replace('\0', "\u{2400}")).ok()?;
            let offsets = match column.values() {
                Values::Utf8(texts) => {
                    let ends = texts.ends().iter().map(|end| i64::try_from(*end).ok());
                    std::iter::once(Some(0)).chain(ends).collect::<Option<_>>()?
                }
                _ => Vec::new(),
            };
            let nulls = i64::try_from(column.nulls()).ok()?;
            let json = json.get(at).copied().unwrap_or(false);
            Some(ExportedColumn { name, column: Arc::clone(column), offsets, json, nulls })
        });
        Some(Self { rows: i64::try_from(rows).ok()?, columns: columns.collect::<Option<_>>()? })
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = std::borrow::Cow<'_, str>> {
        self.columns.iter().map(|column| column.name.to_string_lossy())
    }
}

/// The types of the columns in a capsule.
pub(crate) fn schema<'py>(py: Python<'py>, table: &Exported) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, Schema::table(table), c"arrow_schema")
}

/// The rows in a capsule.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    table: &Arc<Exported>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, Stream::new(table), c"arrow_array_stream")
}

/// Arrow's `ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// What the pointers of a [`Schema`] lead to.
struct SchemaHold {
    name: CString,
    metadata: Vec<u8>,
    /// Made by `Box::into_raw`, one each.
    children: Vec<*mut Schema>,
}

// SAFETY: the pointers lead to memory that the structure alone owns, or to static text.
unsafe impl Send for Schema {}

impl Schema {
    fn new(format: &'static CStr, name: CString, metadata: Vec<u8>, children: Vec<Self>) -> Self {
        let children: Vec<*mut Self> =
            children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let n_children = i64::try_from(children.len()).unwrap_or(0);
        let mut hold = Box::new(SchemaHold { name, metadata, children });
        Self {
            format: format.as_ptr(),
            name: hold.name.as_ptr(),
            metadata: match hold.metadata.is_empty() {
                true => ptr::null(),
                false => hold.metadata.as_ptr().cast(),
            },
            flags: NULLABLE,
            n_children,
            children: hold.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(hold).cast(),
        }
    }

    fn table(table: &Exported) -> Self {
        let children = table.columns.iter().map(|column| {
            let format = match column.column.values() {
                Values::Bool(_) => c"b",
                Values::Int64(_) => c"l",
                Values::UInt64(_) => c"L",
                Values::Float64(_) => c"g",
                Values::Utf8(_) => c"U",
            };
            let metadata = match column.json {
                true => about(&[
                    ("ARROW:extension:name", "arrow.json"),
                    ("ARROW:extension:metadata", ""),
                ]),
                false => Vec::new(),
            };
            Self::new(format, column.name.clone(), metadata, Vec::new())
        });
        let mut whole = Self::new(c"+s", CString::default(), Vec::new(), children.collect());
        whole.flags = 0;
        whole
    }
}

/// Pairs of texts as Arrow spells what is said about a column.
fn about(pairs: &[(&str, &str)]) -> Vec<u8> {
    let count = |count: usize| i32::try_from(count).unwrap_or(0).to_le_bytes();
    let mut out = count(pairs.len()).to_vec();
    for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
        out.extend(count(text.len()));
        out.extend_from_slice(text.as_bytes());
    }
    out
}

/// # Safety
/// Called once, with a structure that [`Schema::new`] made, wherever it was moved to.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: the pointer is that of a live structure. Its private data is the box that `Schema::new` gave away, and
    // nobody else took it, for whoever releases says so in `release`. Children are boxes of the same kind; dropped, they
    // release what nobody moved out of them.
    unsafe {
        let Some(schema) = schema.as_mut() else { return };
        schema.release = None;
        let hold = Box::from_raw(schema.private_data.cast::<SchemaHold>());
        hold.children.iter().for_each(|child| drop(Box::from_raw(*child)));
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released yet.
            unsafe { release(self) }
        }
    }
}

/// Arrow's `ArrowArray`.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// What the pointers of an [`Array`] lead to.
struct ArrayHold {
    buffers: Vec<*const c_void>,
    /// Made by `Box::into_raw`, one each.
    children: Vec<*mut Array>,
    /// What the buffers point into.
    _table: Arc<Exported>,
}

impl Array {
    fn new(
        table: &Arc<Exported>,
        nulls: i64,
        buffers: Vec<*const c_void>,
        children: Vec<Self>,
    ) -> Self {
        let children: Vec<*mut Self> =
            children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let counted = |count: usize| i64::try_from(count).unwrap_or(0);
        let (n_buffers, n_children) = (counted(buffers.len()), counted(children.len()));
        let mut hold = Box::new(ArrayHold { buffers, children, _table: Arc::clone(table) });
        Self {
            length: table.rows,
            null_count: nulls,
            offset: 0,
            n_buffers,
            n_children,
            buffers: hold.buffers.as_mut_ptr(),
            children: hold.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(hold).cast(),
        }
    }

    fn column(table: &Arc<Exported>, column: &ExportedColumn) -> Self {
        let validity = match column.column.validity() {
            Some(bits) => bits.words().as_ptr().cast(),
            None => ptr::null(),
        };
        let mut buffers: Vec<*const c_void> = vec![validity];
        match column.column.values() {
            Values::Bool(bits) => buffers.push(bits.words().as_ptr().cast()),
            Values::Int64(values) => buffers.push(values.as_ptr().cast()),
            Values::UInt64(values) => buffers.push(values.as_ptr().cast()),
            Values::Float64(values) => buffers.push(values.as_ptr().cast()),
            Values::Utf8(texts) => {
                buffers.push(column.offsets.as_ptr().cast());
                buffers.push(texts.text().as_ptr().cast());
            }
        }
        Self::new(table, column.nulls, buffers, Vec::new())
    }

    fn table(table: &Arc<Exported>) -> Self {
        let children = table.columns.iter().map(|column| Self::column(table, column)).collect();
        Self::new(table, 0, vec![ptr::null()], children)
    }
}

/// # Safety
/// Called once, with a structure that [`Array::new`] made, wherever it was moved to.
unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as for `release_schema`.
    unsafe {
        let Some(array) = array.as_mut() else { return };
        array.release = None;
        let hold = Box::from_raw(array.private_data.cast::<ArrayHold>());
        hold.children.iter().for_each(|child| drop(Box::from_raw(*child)));
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released yet.
            unsafe { release(self) }
        }
    }
}

/// Arrow's `ArrowArrayStream`.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// What a [`Stream`] hands out.
struct StreamHold {
    table: Arc<Exported>,
    over: bool,
}

// SAFETY: the private data is a box that the structure alone owns, of what is `Send`.
unsafe impl Send for Stream {}

impl Stream {
    fn new(table: &Arc<Exported>) -> Self {
        let hold = Box::new(StreamHold { table: Arc::clone(table), over: false });
        Self {
            get_schema: Some(stream_schema),
            get_next: Some(stream_next),
            get_last_error: Some(stream_error),
            release: Some(release_stream),
            private_data: Box::into_raw(hold).cast(),
        }
    }
}

/// # Safety
/// Called with a live stream of [`Stream::new`], by one thread at a time, as the interface asks.
unsafe fn held<'s>(stream: *mut Stream) -> Option<&'s mut StreamHold> {
    // SAFETY: the private data is that of `Stream::new` until the stream is released.
    unsafe { stream.as_mut()?.private_data.cast::<StreamHold>().as_mut() }
}

/// # Safety
/// As for [`held`]; `out` may be written to.
unsafe extern "C" fn stream_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: as the caller grants. What `out` held before is not dropped, for it need not be a schema yet.
    unsafe {
        let Some(hold) = held(stream).filter(|_| !out.is_null()) else { return EINVAL };
        ptr::write(out, Schema::table(&hold.table));
    }
    0
}

/// # Safety
/// As for [`held`]; `out` may be written to.
unsafe extern "C" fn stream_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as for `stream_schema`. A released array ends the stream.
    unsafe {
        let Some(hold) = held(stream).filter(|_| !out.is_null()) else { return EINVAL };
        match std::mem::replace(&mut hold.over, true) {
            false => ptr::write(out, Array::table(&hold.table)),
            true => ptr::write_bytes(out, 0, 1),
        }
    }
    0
}

/// # Safety
/// Called with any stream.
unsafe extern "C" fn stream_error(_stream: *mut Stream) -> *const c_char {
    ptr::null()
}

/// # Safety
/// Called once, with a stream of [`Stream::new`], wherever it was moved to.
unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: as for `release_schema`.
    unsafe {
        let Some(stream) = stream.as_mut() else { return };
        stream.release = None;
        drop(Box::from_raw(stream.private_data.cast::<StreamHold>()));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released yet.
            unsafe { release(self) }
        }
    }
}
