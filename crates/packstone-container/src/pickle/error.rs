//! Why a pickle was refused.

use super::Opcode;

/// A pickle that cannot be read, or that holds more than plain data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
#[non_exhaustive]
pub struct PickleError {
    /// Where the instruction stands, in bytes from the start of the pickle.
    pub offset: usize,
    /// Why.
    pub kind: PickleErrorKind,
}

/// Why a pickle was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickleErrorKind {
    /// The pickle is larger than [`Limits::document_bytes`](crate::Limits::document_bytes).
    #[error("expected a pickle of at most {limit} bytes, found {found}")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
        /// The size in bytes.
        found: u64,
    },
    /// It ends before its STOP.
    #[error("expected an opcode, found the end of the pickle")]
    NoStop,
    /// It ends within an argument.
    #[error("expected the argument of {opcode}, found the end of the pickle")]
    Truncated {
        /// The opcode.
        opcode: Opcode,
    },
    /// No protocol has this opcode.
    #[error("expected an opcode, found {found:#04x}")]
    Unknown {
        /// The byte.
        found: u8,
    },
    /// A protocol that is newer than 5.
    #[error("expected a protocol up to 5, found {found}")]
    Protocol {
        /// The protocol.
        found: u8,
    },
    /// A frame reaches past the end.
    #[error("expected a frame of at most {most} bytes, found {found}")]
    Frame {
        /// Bytes left in the pickle.
        most: u64,
        /// Bytes announced.
        found: u64,
    },
    /// An argument is not what the opcode takes.
    #[error("expected {expected} as the argument of {opcode}, found something else")]
    Argument {
        /// The opcode.
        opcode: Opcode,
        /// What it takes.
        expected: &'static str,
    },
    /// The opcode needs more values than there are on the stack, or since the last mark.
    #[error("expected more values for {opcode}, found too few on the stack")]
    Underflow {
        /// The opcode.
        opcode: Opcode,
    },
    /// The opcode needs a mark.
    #[error("expected a mark for {opcode}, found none on the stack")]
    NoMark {
        /// The opcode.
        opcode: Opcode,
    },
    /// The memo has no such value.
    #[error("expected value {index} in the memo, found none")]
    NotInMemo {
        /// Its number.
        index: u64,
    },
    /// The opcode changes another kind of value.
    #[error("expected {expected} for {opcode}, found something else on the stack")]
    Target {
        /// The opcode.
        opcode: Opcode,
        /// What it changes.
        expected: &'static str,
    },
    /// Something else than one value is left where the pickle stops.
    #[error("expected one value at STOP, found more on the stack")]
    Leftover,
    /// The opcode imports, calls or asks for something outside of the pickle.
    #[error(
        "expected plain data, found {opcode}{}",
        .global.as_ref().map(|name| format!(" of {name:?}")).unwrap_or_default()
    )]
    Refused {
        /// The opcode.
        opcode: Opcode,
        /// Module and name, where the opcode names a global.
        global: Option<String>,
    },
    /// A dict or set has a key that Python cannot hash.
    #[error("expected a key that can be hashed, found {found}")]
    Unhashable {
        /// What it is instead, with its article.
        found: &'static str,
    },
    /// A value contains itself.
    #[error("expected a tree, found a value that contains itself")]
    Cycle,
    /// Containers nest deeper than [`Limits::depth`](crate::Limits::depth).
    #[error("expected nesting of at most {limit} levels, found more")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// More than packstone will take on.
    #[error("expected at most {limit} {what}, found more")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}
