//! Every file of a dataset cut and flipped: damage is named, never data, and no file is touched.

use std::path::Path;
use std::sync::Arc;

use packstone::format::AuditOptions;
use packstone::formats::sedpack::reader::SedpackDataset;
use packstone::model::Severity;
use packstone::{Limits, LocalRoot, Root};
use packstone_testkit::{Snapshot, copy_folder, cut_points, flip_points, golden_folder};

use crate::kit::{self, Rows};

fn root(folder: &Path) -> Arc<dyn Root> {
    Arc::new(LocalRoot::open(folder).unwrap())
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

struct Sweep<'a> {
    folder: &'a Path,
    whole: Rows,
    /// The checksums of the undamaged root document.
    noted: Vec<String>,
}

impl Sweep<'_> {
    /// Looks at the dataset with one file damaged; `covered` where checksums reach that file.
    fn look(&self, covered: bool, what: &str) {
        let before = Snapshot::of(self.folder);
        let damage = |options: &AuditOptions| match kit::check(root(self.folder), options) {
            Ok(found) => found.iter().any(|f| f.severity == Severity::Error),
            Err(_) => true,
        };
        let mut options = AuditOptions::default();
        let seen = damage(&options);
        assert!(seen || !covered, "{what}: the check finds nothing");
        options.expect.clone_from(&self.noted);
        assert!(damage(&options), "{what}: the check against noted checksums finds nothing");
        options.quick = true;
        let _ = damage(&options);
        if let Ok((rows, _)) = kit::read_with(root(self.folder), true, Limits::default()) {
            assert!(rows == self.whole, "{what}: other values, with checksums compared");
        }
        let _ = kit::read(root(self.folder));
        assert_eq!(Snapshot::of(self.folder), before, "{what}: a file was touched");
    }
}

fn sweep(name: &str) {
    let temp = tempfile::tempdir().unwrap();
    copy_folder(&golden_folder("sedpack").join(name).join("data"), temp.path());
    let dataset = SedpackDataset::open(root(temp.path()), &Limits::default()).unwrap();
    let sweep = Sweep {
        folder: temp.path(),
        whole: kit::read(root(temp.path())).unwrap(),
        noted: dataset.metadata_checksums().unwrap(),
    };
    assert!(!sweep.whole.is_empty());
    let mut damaged = 0;
    for file in files(temp.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let covered = file.file_name().unwrap() != "dataset_info.json";
        for len in cut_points(bytes.len(), 40) {
            std::fs::write(&file, &bytes[..len]).unwrap();
            sweep.look(true, &format!("{} cut to {len} bytes", file.display()));
            damaged += 1;
        }
        for at in flip_points(bytes.len(), 16) {
            for mask in [1 << (at % 8), 0xff] {
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                std::fs::write(&file, &flipped).unwrap();
                sweep.look(covered, &format!("{} byte {at} ^ {mask:#04x}", file.display()));
                damaged += 1;
            }
        }
        std::fs::write(&file, &bytes).unwrap();
    }
    assert!(damaged > 8 * (40 + 90), "{damaged} damages");
    assert_eq!(kit::verdict(root(temp.path())), kit::clean());
}

#[test]
fn fb_gzip() {
    sweep("fb_gzip");
}

#[test]
fn npz_zip() {
    sweep("npz_zip");
}

#[test]
fn tfrec_none() {
    sweep("tfrec_none");
}

#[test]
fn fb_none() {
    sweep("fb_none");
}

#[test]
fn fb_lz4() {
    sweep("fb_lz4");
}
