//! Control documents: every golden one is read without a remark and written back byte by byte.

use std::path::{Path, PathBuf};

use packstone::Place;
use packstone::formats::sds::document::RootDocument;
use packstone::formats::sds::options::CONTROL;
use packstone::formats::sds::parts::catalog::{CatalogPointer, Revision, SetRoot};
use packstone::formats::sds::parts::manifest::Manifest;
use packstone::formats::sds::parts::notes::Notes;
use packstone::formats::sds::parts::pointer::WorkerPointer;
use packstone::formats::sds::parts::snapshot::Snapshot;
use packstone_testkit::good_cases;

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

fn written_back(path: &str, bytes: &[u8], notes: &mut Notes) -> String {
    let parts: Vec<_> = path.split('/').collect();
    match parts[..] {
        [.., "annotations", "catalog.json"] => {
            CatalogPointer::parse(bytes, &CONTROL, notes).unwrap().text()
        }
        [.., "annotations", "catalogs", name] => {
            let path = format!("annotations/catalogs/{name}");
            Revision::parse(bytes, &path, &CONTROL, notes).unwrap().text()
        }
        [.., "shards", _, _] => WorkerPointer::parse(bytes, &CONTROL, notes).unwrap().text(),
        [.., "sets", _, _, "root.json"] => SetRoot::parse(bytes, &CONTROL, notes).unwrap().text(),
        [.., "manifests", _, _] => Manifest::parse(bytes, &CONTROL, notes).unwrap().text(),
        [.., "snapshot.json"] => Snapshot::parse(bytes, &CONTROL, notes).unwrap().text(),
        _ => {
            let root = RootDocument::parse(bytes, &CONTROL, notes).unwrap();
            let made = RootDocument::new(&root.dataset_id, root.snapshot.clone(), &root.metadata);
            assert_eq!(made.text(), root.text());
            root.text()
        }
    }
}

#[test]
fn golden_documents_are_read_and_written_back_byte_by_byte() {
    let mut count = 0;
    for case in good_cases("signal-dataset") {
        let mut all = Vec::new();
        files(&case.data, &mut all);
        for path in all.iter().filter(|path| path.extension().is_some_and(|e| e == "json")) {
            let relative = path.strip_prefix(&case.data).unwrap().to_str().unwrap();
            let bytes = std::fs::read(path).unwrap();
            let mut notes = Notes::new(Place::file(relative));
            let text = written_back(relative, &bytes, &mut notes);
            assert_eq!(text.as_bytes(), bytes, "{}: {relative}", case.name);
            assert_eq!(notes.findings, [], "{}: {relative}", case.name);
            count += 1;
        }
    }
    assert!(count >= 36, "{count} documents");
}
