//! packstone-testkit
