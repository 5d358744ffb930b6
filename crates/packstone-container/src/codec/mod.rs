//! Compressed streams.
