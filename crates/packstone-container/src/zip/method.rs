//! How payloads are stored.

use std::fmt;

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// As it is (0).
    Stored,
    /// Raw deflate (8).
    Deflate,
    /// bzip2 (12).
    Bzip2,
    /// Raw LZMA behind a header with its properties (14).
    Lzma,
    /// Any other method, by its number: 93 is Zstandard, 95 xz.
    Other(u16),
}

impl From<u16> for Method {
    fn from(code: u16) -> Self {
        match code {
            0 => Method::Stored,
            8 => Method::Deflate,
            12 => Method::Bzip2,
            14 => Method::Lzma,
            other => Method::Other(other),
        }
    }
}

impl Method {
    /// The number in the headers.
    pub fn code(self) -> u16 {
        match self {
            Method::Stored => 0,
            Method::Deflate => 8,
            Method::Bzip2 => 12,
            Method::Lzma => 14,
            Method::Other(code) => code,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Stored => f.write_str("stored"),
            Method::Deflate => f.write_str("deflate"),
            Method::Bzip2 => f.write_str("bzip2"),
            Method::Lzma => f.write_str("LZMA"),
            Method::Other(code) => write!(f, "compression method {code}"),
        }
    }
}
