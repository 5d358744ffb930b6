//! `cargo xtask lint`: layout, clippy, and the requirements tables.

use std::path::Path;

use crate::{Outcome, requirements, stage};

pub(crate) fn run(root: &Path) -> Outcome {
    stage::run("rustfmt", &mut stage::cargo(root, &["fmt", "--all", "--check"]))?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    stage::run("clippy", &mut stage::cargo(root, &clippy))?;
    stage::timed("requirements", || requirements::run(root))
}
