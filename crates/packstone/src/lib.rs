//! packstone
