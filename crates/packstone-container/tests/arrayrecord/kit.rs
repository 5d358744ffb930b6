//! Golden files, what the real library reads from them, and damage by recipe.

use std::path::PathBuf;
use std::sync::Arc;

use packstone_container::array_record::{ArrayRecordError, Finding, Reader, ReaderOptions, verify};
use packstone_container::digest::{hex, sha256};
use packstone_container::json::{self, ReadOptions, Value};
use packstone_container::{Limits, array_record};
use packstone_io::{Buf, ReadAt};
use packstone_testkit::golden_folder;

/// A golden file with what the real library says of it.
pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    expected: Value,
}

fn folder() -> PathBuf {
    golden_folder("arrayrecord")
}

pub(crate) fn json(path: &std::path::Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    json::read(&bytes, &ReadOptions::default()).unwrap().value
}

fn names(folder: PathBuf, extension: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(extension).map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

impl Golden {
    pub(crate) fn all() -> Vec<Self> {
        let all: Vec<Self> =
            names(folder(), ".arrayrecord").iter().map(|name| Self::named(name)).collect();
        assert_eq!(all.len(), 22);
        all
    }

    pub(crate) fn named(name: &str) -> Self {
        let bytes = std::fs::read(folder().join(format!("{name}.arrayrecord"))).unwrap();
        let expected = json(&folder().join(format!("{name}.expected.json")));
        Self { name: name.to_owned(), bytes, expected }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.expected.get(name).and_then(Value::as_str).unwrap()
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        self.expected.get(name).and_then(Value::as_u64).unwrap()
    }

    pub(crate) fn numbers(&self, name: &str) -> Vec<u64> {
        let list = self.expected.get(name).and_then(Value::as_array).unwrap();
        list.iter().map(|number| number.as_u64().unwrap()).collect()
    }

    pub(crate) fn real(&self, name: &str) -> Option<&Value> {
        self.expected.get("real").unwrap().get(name)
    }

    pub(crate) fn reader(&self) -> Reader {
        open(&self.bytes).unwrap()
    }

    pub(crate) fn records(&self) -> Vec<Buf> {
        all(&self.reader()).unwrap()
    }
}

/// A damaged file.
pub(crate) struct Bad {
    pub(crate) name: String,
    pub(crate) base: String,
    pub(crate) bytes: Vec<u8>,
    /// What the real library did.
    pub(crate) real: Value,
}

impl Bad {
    pub(crate) fn all() -> Vec<Self> {
        let all: Vec<Self> =
            names(folder().join("bad"), ".json").iter().map(|name| Self::named(name)).collect();
        assert_eq!(all.len(), 74);
        all
    }

    pub(crate) fn named(name: &str) -> Self {
        let recipe = json(&folder().join("bad").join(format!("{name}.json")));
        let base = recipe.get("base").and_then(Value::as_str).unwrap().to_owned();
        let mut bytes = Golden::named(&base).bytes;
        for step in recipe.get("steps").and_then(Value::as_array).unwrap() {
            apply(step, &mut bytes);
        }
        let digest = recipe.get("sha256").and_then(Value::as_str).unwrap();
        assert_eq!(hex(&sha256(&bytes)), digest, "{name}");
        let real = recipe.get("real").unwrap().clone();
        Self { name: name.to_owned(), base, bytes, real }
    }
}

fn apply(step: &Value, bytes: &mut Vec<u8>) {
    let number = |name| step.get(name).and_then(Value::as_u64).unwrap() as usize;
    let text = || {
        let text = step.get("hex").and_then(Value::as_str).unwrap();
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
    };
    match step.get("op").and_then(Value::as_str).unwrap() {
        "xor" => bytes[number("offset")] ^= number("value") as u8,
        "set" => {
            let start = number("offset");
            text().enumerate().for_each(|(n, byte)| bytes[start + n] = byte);
        }
        "truncate" => bytes.truncate(number("size")),
        "append" => {
            let repeat = step.get("repeat").map_or(1, |n| n.as_u64().unwrap());
            bytes.extend((0..repeat).flat_map(|_| text()));
        }
        "drop" => {
            let start = number("offset");
            bytes.drain(start..start + number("size"));
        }
        other => panic!("unknown step {other}"),
    }
}

pub(crate) fn open(bytes: &[u8]) -> Result<Reader, ArrayRecordError> {
    Reader::over(Buf::copy_from(bytes), &ReaderOptions::default(), Limits::default())
}

pub(crate) fn file(bytes: &[u8]) -> Arc<dyn ReadAt> {
    Arc::new(Buf::copy_from(bytes))
}

pub(crate) fn all(reader: &Reader) -> Result<Vec<Buf>, ArrayRecordError> {
    reader.records(0..reader.len(), &mut reader.decoder())?.collect()
}

pub(crate) fn findings(bytes: &[u8]) -> Vec<Finding> {
    let mut found = Vec::new();
    verify(&file(bytes), Limits::default(), &mut |finding| {
        assert!(!finding.to_string().is_empty());
        found.push(finding);
    });
    found
}

pub(crate) fn salvage(bytes: &[u8]) -> array_record::Salvaged {
    array_record::salvage(&file(bytes), Limits::default())
}
