//! The pickles that tensordict wrote.

use std::path::{Path, PathBuf};

use super::super::PickleErrorKind as Kind;
use super::{Value, bytes, decoded, dict, int, list, scanned, text, tuple};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tensordict")
}

fn pickles(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        // One of the cases is a link to its own folder.
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            pickles(&entry.path(), found);
        } else if entry.path().extension().is_some_and(|e| e == "pickle" || e == "pkl") {
            found.push(entry.path());
        }
    }
}

/// The value of `data`, or of the whole pickle.
fn value(file: &str) -> Value {
    let pickle = std::fs::read(folder().join(file)).unwrap();
    let value = decoded(&pickle).unwrap().value;
    value.get("data").cloned().unwrap_or(value)
}

/// The opcode and the global for which a pickle is refused.
fn refusal(file: &str) -> String {
    let pickle = std::fs::read(folder().join(file)).unwrap();
    match decoded(&pickle).unwrap_err().kind {
        Kind::Refused { opcode, global } => format!("{opcode} {}", global.unwrap()),
        other => panic!("{file}: {other}"),
    }
}

#[test]
fn all_of_them_are_scanned_and_decoded_or_refused_by_name() {
    let mut found = Vec::new();
    pickles(&folder(), &mut found);
    assert_eq!(found.len(), 26);
    let mut plain = 0;
    for path in found {
        let pickle = std::fs::read(&path).unwrap();
        let scan = scanned(&pickle).unwrap();
        assert_eq!((scan.len, scan.declared, scan.hidden_globals), (pickle.len(), Some(4), 0));
        match decoded(&pickle) {
            Ok(_) => plain += 1,
            Err(error) => assert!(matches!(error.kind, Kind::Refused { .. }), "{path:?}: {error}"),
        }
        assert_eq!(decoded(&pickle).is_ok(), scan.is_plain(), "{path:?}");
    }
    assert_eq!(plain, 12);
}

#[test]
fn plain_values_come_out() {
    let plain = |name: &str| value(&format!("non_tensor_pickle/data/{name}/other.pickle"));
    assert_eq!(plain("bytes"), bytes(b"\0\xffab"));
    assert_eq!(plain("int_keys"), dict([(int(1), int(2)), (int(3), list([int(4)]))]));
    assert_eq!(plain("set"), Value::Set([int(1), int(2)].into()));
    assert_eq!(plain("mixed"), dict([(text("a"), bytes(b"x")), (text("b"), int(1))]));
    assert_eq!(
        value("non_tensor_stack_pickle/data/mixed/pickle.pkl"),
        list([bytes(b"1"), Value::Set([int(2)].into())])
    );
    assert_eq!(
        value("non_tensor_stack_pickle/data/deep/pickle.pkl"),
        list([list([bytes(b"a"), text("b")]), list([int(1), tuple([int(2)])])])
    );
    assert_eq!(
        value("tensorclass_meta_fields/data/other.pickle"),
        dict([(text("extra"), Value::Set([int(3), int(4)].into()))])
    );
    assert_eq!(value("bad/pickle_overrides_json/data/v/other.pickle"), text("pickle value"));
}

#[test]
fn what_would_run_is_named() {
    let pickle = |name: &str| format!("non_tensor_pickle/data/{name}/other.pickle");
    assert_eq!(refusal(&pickle("date")), "STACK_GLOBAL datetime date");
    assert_eq!(refusal(&pickle("complex")), "STACK_GLOBAL builtins complex");
    assert!(refusal("bad/pickle_executes/data/v/other.pickle").starts_with("STACK_GLOBAL "));
    let scan = scanned(&std::fs::read(folder().join(pickle("tensor"))).unwrap()).unwrap();
    let names: Vec<_> =
        scan.globals.iter().map(|global| format!("{} {}", global.module, global.name)).collect();
    assert_eq!(
        names,
        [
            "torch._utils _rebuild_tensor_v2",
            "torch.storage _load_from_bytes",
            "collections OrderedDict"
        ]
    );
}
