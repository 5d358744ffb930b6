//! Golden files, and records made from their JSON descriptions.

use std::path::PathBuf;
use std::sync::Arc;

use packstone::formats::sds::layout::COMPACT;
use packstone::formats::sds::parts::axes::{Axis, Coordinate};
use packstone::formats::sds::parts::carrier::{Annotation, Status};
use packstone::formats::sds::parts::record::{DTYPES, Record, RecordField};
use packstone::formats::sds::parts::text::pythonic;
use packstone::formats::sds::reader::SdsDataset;
use packstone::json::{self, Object, ReadOptions, Value};
use packstone::model::DType;
use packstone::{Error, Limits, LocalRoot, Root};
use packstone_io::Buf;
use packstone_testkit::{copy_folder, golden_folder};
use tempfile::TempDir;

/// A JSON file of the golden data.
pub(crate) fn golden_json(path: &str) -> Value {
    let bytes = std::fs::read(golden_folder("signal-dataset").join(path)).unwrap();
    let mut limits = Limits::default();
    limits.depth = 1024;
    json::read(&bytes, &ReadOptions::default().with_limits(limits)).unwrap().value
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).unwrap_or_else(|| panic!("no {key}")).as_str().unwrap()
}

pub(crate) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).unwrap_or_else(|| panic!("no {key}")).as_array().unwrap()
}

pub(crate) fn object(value: &Value, key: &str) -> Object {
    value.get(key).unwrap_or_else(|| panic!("no {key}")).as_object().unwrap().clone()
}

fn optional(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn dtype(numpy: &str) -> DType {
    let found = DTYPES.iter().find(|(dtype, _)| dtype.numpy_str() == numpy);
    found.unwrap_or_else(|| panic!("no {numpy}")).0.clone()
}

fn axis(value: &Value) -> Axis {
    let coordinate = value.get("coordinate").filter(|value| !value.is_null());
    Axis {
        name: text(value, "name").to_owned(),
        length: value.get("length").unwrap().as_u64().unwrap(),
        role: optional(value, "role"),
        id: optional(value, "id"),
        coordinate: coordinate.map(|value| Coordinate {
            values: value.get("values").and_then(Value::as_array).map(<[_]>::to_vec),
            start: value.get("start").and_then(Value::as_number).cloned(),
            step: value.get("step").and_then(Value::as_number).cloned(),
            reference: optional(value, "reference"),
            unit: optional(value, "unit"),
            metadata: object(value, "metadata"),
        }),
        metadata: object(value, "metadata"),
    }
}

/// Fields by name from `{name: {dtype, shape, hex, axes, metadata}}`.
pub(crate) fn fields(value: &Value) -> Vec<(String, RecordField)> {
    let field = |value: &Value| RecordField {
        dtype: dtype(text(value, "dtype")),
        shape: items(value, "shape").iter().map(|n| n.as_u64().unwrap()).collect(),
        data: Buf::from(unhex(text(value, "hex"))),
        axes: items(value, "axes").iter().map(axis).collect(),
        metadata: object(value, "metadata"),
    };
    let fields = value.as_object().unwrap().iter();
    fields.map(|(name, value)| (name.as_str().unwrap().to_owned(), field(value))).collect()
}

/// The record that a golden description gives.
pub(crate) fn record(value: &Value) -> Record {
    Record {
        id: text(value, "id").to_owned(),
        scene_id: optional(value, "scene_id"),
        metadata: object(value, "metadata"),
        fields: fields(value.get("fields").unwrap()),
    }
}

/// The annotation that a golden description gives.
pub(crate) fn annotation(value: &Value) -> Annotation {
    let status = text(value, "status");
    Annotation {
        source_record_id: text(value, "source_record_id").to_owned(),
        source_index: value.get("source_index").unwrap().as_u64().unwrap(),
        status: Status::ALL.into_iter().find(|s| s.name() == status).unwrap(),
        detail_status: optional(value, "detail_status"),
        values: object(value, "values"),
        provenance: object(value, "provenance"),
        fields: fields(value.get("fields").unwrap()),
    }
}

/// A case of edits on a base case, as a folder of its own.
pub(crate) struct Edited {
    pub(crate) name: String,
    /// `expected.json` or `expected_error.json`.
    pub(crate) document: Value,
    folder: TempDir,
}

impl Edited {
    /// The dataset.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn root(&self) -> Arc<dyn Root> {
        Arc::new(LocalRoot::open(self.path()).unwrap())
    }

    pub(crate) fn base(&self) -> &str {
        text(&self.document, "base")
    }
}

/// All cases in a folder of the golden data: `bad` or `variants`.
pub(crate) fn edited(kind: &str) -> Vec<Edited> {
    let folder = golden_folder("signal-dataset").join(kind);
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.into_iter().map(|name| edit(kind, &name)).collect()
}

pub(crate) fn edit(kind: &str, name: &str) -> Edited {
    let document = if kind == "bad" { "expected_error.json" } else { "expected.json" };
    let document = golden_json(&format!("{kind}/{name}/{document}"));
    let base = golden_folder("signal-dataset").join(text(&document, "base")).join("data");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    copy_folder(&base, &data);
    for edit in items(&document, "edits") {
        let path = data.join(text(edit, "path"));
        let number = |key: &str| edit.get(key).unwrap().as_u64().unwrap();
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).unwrap();
        }
        match text(edit, "op") {
            "write" => {
                let utf8 = edit.get("utf8").and_then(Value::as_str).map(|t| t.as_bytes().to_vec());
                std::fs::write(path, utf8.unwrap_or_else(|| unhex(text(edit, "hex")))).unwrap();
            }
            "remove" if path.is_dir() && !path.is_symlink() => {
                std::fs::remove_dir_all(path).unwrap()
            }
            "remove" => std::fs::remove_file(path).unwrap(),
            "mkdir" => std::fs::create_dir_all(path).unwrap(),
            "symlink" => std::os::unix::fs::symlink(text(edit, "target"), path).unwrap(),
            "copy" => drop(std::fs::copy(base.join(text(edit, "from")), path).unwrap()),
            "truncate" => {
                let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                file.set_len(number("size")).unwrap();
            }
            "zero" => std::fs::write(path, vec![0; number("size") as usize]).unwrap(),
            "patch" => {
                let mut bytes = std::fs::read(&path).unwrap();
                let (offset, patch) = (number("offset") as usize, unhex(text(edit, "hex")));
                bytes[offset..offset + patch.len()].copy_from_slice(&patch);
                std::fs::write(path, bytes).unwrap();
            }
            other => panic!("{other}"),
        }
    }
    Edited { name: name.to_owned(), document, folder }
}

pub(crate) fn open(root: Arc<dyn Root>) -> Result<SdsDataset, Error> {
    SdsDataset::open(root, &Limits::default())
}

/// A value as the library would write it.
pub(crate) fn spelled(value: &Value) -> String {
    json::write(&pythonic(value), &COMPACT)
}
