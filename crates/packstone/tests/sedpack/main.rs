//! Sedpack against the real library's bytes: good ones, bad ones, and our own.

mod golden;
