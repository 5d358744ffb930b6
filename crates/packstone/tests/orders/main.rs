//! Orders, shares, states and plans: frozen vectors, statistics at fixed seeds, and what must hold for any of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation
)]

mod fake;
mod native;
mod plans;
mod shares;
mod states;
mod statistics;
mod vectors;
