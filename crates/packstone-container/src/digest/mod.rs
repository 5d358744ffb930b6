//! Digests and checksums.
