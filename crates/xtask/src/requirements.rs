//! The requirements tables of `docs/requirements/` and the tests that they name.
//!
//! Each page opens with a line that gives its numbers, and has one table:
//!
//! ```text
//! ids: SED-001..SED-140
//!
//! | ID      | Requirement | Shown by                                                      |
//! |---------|-------------|---------------------------------------------------------------|
//! | SED-001 | …           | `sedpack/reader.rs::opens`, `tests/python/test_x.py::test_y`  |
//! | SED-002 | …           | not testable: nothing here has a big-endian host              |
//! ```
//!
//! Every number has exactly one row. A row names tests, or says why nothing can show it here. A
//! named test exists: the file part is the end of a path in this repository, and the function is
//! a test in it that is not ignored. `(open)` marks a row whose test is still to be written, and
//! is an error like any other gap.

mod sources;
mod table;

use std::fs;
use std::path::Path;

use crate::Outcome;
use sources::Sources;
use table::{Row, Shown};

/// Checks every page and prints what was counted.
pub(crate) fn run(root: &Path) -> Outcome {
    let sources = Sources::load(root)?;
    let mut problems = Vec::new();
    let mut rows = 0;
    for (name, text) in pages(root)? {
        let found = table::parse(&text).map_err(|problem| format!("{name}: {problem}"))?;
        rows += found.rows.len();
        problems.extend(check(&found, &sources).into_iter().map(|line| format!("{name}: {line}")));
    }
    if problems.is_empty() {
        println!("{rows} requirements, each shown by a test or excused");
        Ok(())
    } else {
        Err(format!("{} gaps in the requirements:\n  {}", problems.len(), problems.join("\n  ")))
    }
}

/// The Markdown pages of `docs/requirements/` by name.
fn pages(root: &Path) -> Result<Vec<(String, String)>, String> {
    let folder = root.join("docs/requirements");
    let entries = fs::read_dir(&folder).map_err(|error| format!("docs/requirements: {error}"))?;
    let mut pages = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("docs/requirements: {error}"))?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            pages.push((name, text));
        }
    }
    if pages.is_empty() {
        return Err("docs/requirements: expected at least one page, found none".to_owned());
    }
    pages.sort();
    Ok(pages)
}

/// All gaps of one page, in the order of its rows, missing numbers last.
fn check(table: &table::Table, sources: &Sources) -> Vec<String> {
    let mut problems = Vec::new();
    let mut missing = table.expected_ids();
    for Row { id, shown } in &table.rows {
        match missing.iter().position(|expected| expected == id) {
            Some(at) => drop(missing.remove(at)),
            None if table.expected_ids().contains(id) => {
                problems.push(format!("{id} has a second row"));
            }
            None => problems.push(format!("{id} is outside of the page's numbers")),
        }
        match shown {
            Shown::Nothing => problems.push(format!("{id} names no test and no reason")),
            Shown::Open => problems.push(format!("{id} is open")),
            Shown::NotTestable => {}
            Shown::By(tests) => problems.extend(
                tests
                    .iter()
                    .filter_map(|test| sources.find(test).err())
                    .map(|problem| format!("{id}: {problem}")),
            ),
        }
    }
    problems.extend(missing.into_iter().map(|id| format!("{id} has no row")));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str =
        "#[test]\nfn opens() {}\n#[test]\n#[ignore]\nfn sleeps() {}\nfn helper() {}\n";
    const PYTHON: &str = "def test_reads(path):\n    pass\n";

    fn problems(rows: &str) -> Vec<String> {
        let sources =
            Sources::of([("crates/a/src/reader.rs", RUST), ("tests/python/test_x.py", PYTHON)]);
        let page = format!("ids: A-1..A-2\n\n| ID | What | Shown by |\n|---|---|---|\n{rows}");
        check(&table::parse(&page).unwrap(), &sources)
    }

    #[test]
    fn this_repository_has_no_gap() {
        if let Err(gaps) = run(&crate::repository()) {
            panic!("{gaps}");
        }
    }

    #[test]
    fn a_complete_page_passes() {
        let rows = "| A-1 | x | `reader.rs::opens`, `tests/python/test_x.py::test_reads` |\n\
                    | A-2 | x | not testable: no such host |\n";
        assert_eq!(problems(rows), [""; 0]);
    }

    #[test]
    fn each_gap_is_named() {
        let second = "| A-2 | x | `reader.rs::opens` |\n";
        for (row, problem) in [
            ("", "A-1 has no row"),
            ("| A-1 | x | |\n", "A-1 names no test and no reason"),
            ("| A-1 | x | reader.rs::opens |\n", "A-1 names no test and no reason"),
            ("| A-1 | x | not testable: |\n", "A-1 names no test and no reason"),
            ("| A-1 | x | (open) |\n", "A-1 is open"),
            ("| A-1 | x | `reader.rs::opens`, (open) |\n", "A-1 is open"),
            ("| A-1 | x | `reader.rs::shuts` |\n", "A-1: no test `shuts` in reader.rs"),
            ("| A-1 | x | `reader.rs::helper` |\n", "A-1: `helper` in reader.rs is no test"),
            ("| A-1 | x | `reader.rs::sleeps` |\n", "A-1: `sleeps` in reader.rs is ignored"),
            ("| A-1 | x | `eader.rs::opens` |\n", "A-1: no source file eader.rs"),
            ("| A-1 | x | `opens` |\n", "A-1: expected `file::test`, found `opens`"),
        ] {
            assert_eq!(problems(&format!("{row}{second}")), [problem], "{row}");
        }
        let twice = format!("| A-1 | x | `reader.rs::opens` |\n{second}{second}");
        assert_eq!(problems(&twice), ["A-2 has a second row"]);
        let outside = "| A-1 | x | `reader.rs::opens` |\n| A-3 | x | `reader.rs::opens` |\n";
        assert_eq!(
            problems(&format!("{outside}{second}")),
            ["A-3 is outside of the page's numbers"]
        );
    }
}
