//! Archives that tensordict and other programs wrote, and archives made to mislead.

mod golden;
mod hostile;
mod large;
mod refreshing;
mod rewriting;

use std::path::PathBuf;

use super::{Directory, EntryOptions, Padding};
use crate::Limits;
use crate::json::{ReadOptions, Value};

/// The time of all golden archives: 2024-01-02 03:04:06.
const MODIFIED: u32 = 0x5822_1883;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tensordict")
}

/// A golden archive, good or `bad/…`.
fn golden(case: &str) -> Vec<u8> {
    std::fs::read(folder().join(case).join("data.tdz")).unwrap()
}

fn expected(case: &str) -> Value {
    let bytes = std::fs::read(folder().join(case).join("expected.json")).unwrap();
    crate::json::read(&bytes, &ReadOptions::default().with_nan(true)).unwrap().value
}

/// The names of all good archives.
fn archives() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let archives = entries.filter(|entry| entry.path().join("data.tdz").is_file());
    let mut names: Vec<_> =
        archives.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn parse(bytes: &[u8]) -> Directory {
    Directory::parse(bytes, &Limits::default()).unwrap()
}

/// How tensordict writes a stored or compressed file.
fn tensordict() -> EntryOptions {
    EntryOptions::default().with_modified(MODIFIED).with_mode(0o644)
}

/// How tensordict writes a stored leaf.
fn leaf() -> EntryOptions {
    tensordict().with_padding(Some(Padding { id: 0x6474, to: 64 }))
}
