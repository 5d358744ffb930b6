//! packstone-cli
fn main() {}
