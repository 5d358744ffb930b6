//! Strict, lossless JSON.
