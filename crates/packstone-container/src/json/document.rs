//! What a reader is asked for, and what it hands back.

use super::encoding::Encoding;
use super::value::Value;
use crate::Limits;

/// What a reader accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Bounds the size of the document and its nesting: `depth` arrays and objects may be open at once, at most 1024.
    pub limits: Limits,
    /// Bounds the number of values, each scalar and each container being one. Names are not counted.
    pub max_values: usize,
    /// Accepts `NaN`, `Infinity` and `-Infinity`, as Python writes them, and notes each.
    pub allow_nan: bool,
    /// Accepts a UTF-8 byte order mark, and notes it.
    pub allow_bom: bool,
    /// Accepts UTF-16 and UTF-32, byte order marks and bare surrogates, as Python's `json.loads` does with bytes, and notes
    /// them.
    pub any_encoding: bool,
    /// Refuses objects with two members of one name, instead of keeping the last value and noting it.
    pub refuse_duplicates: bool,
}

impl Default for ReadOptions {
    /// RFC 8259 with duplicate names noted; 64 Mi values.
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            max_values: 1 << 26,
            allow_nan: false,
            allow_bom: false,
            any_encoding: false,
            refuse_duplicates: false,
        }
    }
}

impl ReadOptions {
    /// The same options with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same options with another bound on the number of values.
    #[must_use]
    pub fn with_max_values(mut self, count: usize) -> Self {
        self.max_values = count;
        self
    }

    /// The same options, accepting or refusing `NaN` and infinities.
    #[must_use]
    pub fn with_nan(mut self, allow: bool) -> Self {
        self.allow_nan = allow;
        self
    }

    /// The same options, accepting or refusing a byte order mark.
    #[must_use]
    pub fn with_bom(mut self, allow: bool) -> Self {
        self.allow_bom = allow;
        self
    }

    /// The same options, accepting all encodings that Python accepts, or UTF-8 alone.
    #[must_use]
    pub fn with_any_encoding(mut self, allow: bool) -> Self {
        self.any_encoding = allow;
        self
    }

    /// The same options, refusing or noting duplicate names.
    #[must_use]
    pub fn with_refused_duplicates(mut self, refuse: bool) -> Self {
        self.refuse_duplicates = refuse;
        self
    }
}

/// A document as read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Document {
    /// The outermost value.
    pub value: Value,
    /// What was accepted but is not plain JSON, in the order in which it was found out; at most 256.
    pub notes: Vec<Note>,
    /// Notes beyond those.
    pub notes_left_off: usize,
}

/// Something that was accepted, but other readers may refuse or understand differently.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// What it is.
    pub kind: NoteKind,
    /// JSON path of the value; names longer than 64 characters are cut.
    pub path: String,
    /// Where, in bytes from the start of the document.
    pub offset: usize,
}

/// Kinds of [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// The member's name occurred before in this object. The last value is kept, at the place of the first.
    DuplicateKey,
    /// The value is `NaN`, `Infinity` or `-Infinity`.
    NonFinite,
    /// The document begins with a byte order mark, which is not part of the value.
    ByteOrderMark,
    /// The document is in another encoding; as UTF-8, that it has surrogates there, which UTF-8 forbids.
    Encoding(Encoding),
}
