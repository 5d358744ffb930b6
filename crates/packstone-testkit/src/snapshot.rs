//! Copies of datasets, and proof that nobody touched one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Names, sizes and times of everything below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, (u64, SystemTime)>);

impl Snapshot {
    /// Takes one.
    pub fn of(folder: &Path) -> Self {
        let mut found = BTreeMap::new();
        walk(folder, &mut |path| {
            let meta = path.symlink_metadata().unwrap();
            found.insert(path.to_owned(), (meta.len(), meta.modified().unwrap()));
        });
        Self(found)
    }
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        visit(&path);
        if path.is_dir() && !path.is_symlink() {
            walk(&path, visit);
        }
    }
}

/// Copies a folder with everything below it.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    walk(from, &mut |path| {
        let target = to.join(path.strip_prefix(from).unwrap());
        if path.is_dir() {
            std::fs::create_dir_all(target).unwrap();
        } else {
            std::fs::copy(path, target).unwrap();
        }
    });
}
