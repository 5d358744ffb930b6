//! ZIP archives.
