//! `docs/findings.md` explains every code that the sources have, and no other.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use packstone::formats::sedpack::codes;

/// The first halves of codes.
use packstone::registry::FORMATS;

/// The first words of codes, besides the names of formats.
const ROOMS: [&str; 10] =
    ["io", "model", "expr", "ops", "format", "exec", "cli", "site", "datasetrt", "loader"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources(folder: &Path, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            // What comes after is test code, with codes of its own.
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            out.push(text.to_owned());
        }
    }
}

fn is_code(text: &str) -> bool {
    let word = |w: &str| {
        !w.is_empty()
            && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let known =
        |room: &str| ROOMS.contains(&room) || FORMATS.iter().any(|format| format.id() == room);
    text.split_once('/').is_some_and(|(room, what)| known(room) && word(what))
}

/// Every text literal of the sources that is a code.
fn in_sources() -> BTreeSet<String> {
    let mut texts = Vec::new();
    for krate in ["packstone", "packstone-cli", "packstone-python"] {
        sources(&repository().join("crates").join(krate).join("src"), &mut texts);
    }
    let mut found = BTreeSet::new();
    for text in texts {
        let code_lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code_lines {
            found.extend(
                line.split('"').skip(1).step_by(2).filter(|t| is_code(t)).map(str::to_owned),
            );
        }
    }
    found
}

/// The rows of the page by code: the cells behind it.
fn in_page() -> BTreeMap<String, Vec<String>> {
    let page = std::fs::read_to_string(repository().join("docs/findings.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> =
            line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        let code = cells[0].trim_matches('`').to_owned();
        assert!(rows.insert(code, cells[1..].to_vec()).is_none(), "{line} is there twice");
    }
    rows
}

#[test]
fn every_code_is_explained_and_no_other() {
    let (sources, page) = (in_sources(), in_page());
    let explained: BTreeSet<String> = page.keys().cloned().collect();
    let missing: Vec<_> = sources.difference(&explained).collect();
    assert!(missing.is_empty(), "docs/findings.md does not explain {missing:?}");
    let gone: Vec<_> = explained.difference(&sources).collect();
    assert!(gone.is_empty(), "docs/findings.md explains {gone:?}, which no source has");
    assert!(codes::ALL.iter().all(|code| explained.contains(*code)));
    assert!(explained.len() >= codes::ALL.len() + 25);
}

#[test]
fn every_row_says_kind_meaning_example_and_repair() {
    let kinds = [
        "not_found",
        "exists",
        "denied",
        "conflict",
        "unsupported",
        "invalid",
        "corrupt",
        "limit",
        "io",
        "cancelled",
        "error",
        "warning",
        "info",
    ];
    for (code, cells) in in_page() {
        assert_eq!(cells.len(), 4, "{code} has {} cells", cells.len() + 1);
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{code} has an empty cell");
        let first = cells[0].to_lowercase();
        let first = first.split([' ', ',', ';']).next().unwrap_or_default();
        assert!(kinds.contains(&first), "{code} begins with {first:?}, which is no kind");
        assert!(cells[2].starts_with('`') && cells[2].ends_with('`'), "{code} has no example");
    }
}

#[test]
fn every_listed_code_is_used() {
    use packstone::formats::{arrayrecord, datasetrt, sds, tensordict};
    for (folder, format, all) in [
        ("formats", "sedpack", codes::ALL),
        ("formats", "tensordict", tensordict::codes::ALL),
        ("formats", "datasetrt", datasetrt::codes::ALL),
        ("formats", "sds", sds::codes::ALL),
        ("formats", "arrayrecord", arrayrecord::codes::ALL),
        (".", "loader", packstone::loader::codes::ALL),
    ] {
        let mut texts = Vec::new();
        let folder = repository().join("crates/packstone/src").join(folder).join(format);
        sources(&folder, &mut texts);
        let listed = texts.iter().find(|text| text.contains("macro_rules! codes")).unwrap();
        let start = format!(" = \"{format}/");
        let names = listed.lines().filter_map(|line| line.trim().split_once(start.as_str()));
        let mut count = 0;
        for (name, _) in names {
            let used = texts.iter().any(|text| text.contains(&format!("codes::{name}")));
            assert!(used, "no source uses codes::{name} of {format}");
            count += 1;
        }
        assert_eq!(count, all.len());
    }
}
