//! The only unsafe file of this crate: mapping a file for reading.
