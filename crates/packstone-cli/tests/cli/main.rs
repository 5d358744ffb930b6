//! The program from outside: what it prints, and how it ends.

mod failures;
mod help;
mod reading;
mod support;
mod terminal;
mod verifying;
mod writing;
