//! Golden data: datasets that the original libraries wrote, with what must be read from them.

use std::path::{Path, PathBuf};

use packstone_container::Limits;
use packstone_container::json::{self, ReadOptions, Value};

/// One golden dataset.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The dataset.
    pub data: PathBuf,
    /// `expected.json` or `expected_error.json`.
    pub expected: Value,
}

/// The folder of a format's golden data.
pub fn golden_folder(format: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("tests/golden").join(format).canonicalize().expect("golden data is in the repository")
}

fn cases(folder: &Path, expectation: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join(expectation).is_file())
        .map(|path| {
            let bytes = std::fs::read(path.join(expectation)).unwrap();
            let limits = Limits::default();
            let options = ReadOptions::default().with_limits(limits).with_nan(true);
            Case {
                name: path.file_name().unwrap().to_string_lossy().into_owned(),
                data: data_of(&path),
                expected: json::read(&bytes, &options).unwrap().value,
            }
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// The dataset of a case: a folder, or an archive.
fn data_of(case: &Path) -> PathBuf {
    let archive = case.join("data.tdz");
    if archive.is_file() { archive } else { case.join("data") }
}

/// The good cases of a format, sorted by name.
pub fn good_cases(format: &str) -> Vec<Case> {
    cases(&golden_folder(format), "expected.json")
}

/// The bad cases of a format, sorted by name.
pub fn bad_cases(format: &str) -> Vec<Case> {
    cases(&golden_folder(format).join("bad"), "expected_error.json")
}
