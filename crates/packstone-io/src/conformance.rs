//! The suite that every writable root must pass.

use std::time::Duration;

use crate::error::Kind;
use crate::path::RelPath;
use crate::root::{EntryKind, RootMut};

/// Runs the whole suite on an empty root.
///
/// # Panics
/// Where the root breaks a rule; meant for tests.
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test suite, not library code")]
pub fn check(root: &dyn RootMut) {
    let path = |text: &str| RelPath::new(text).unwrap();
    let file = path("a/b/file");
    assert_eq!(root.read(&file).unwrap_err().kind(), Kind::NotFound);
    root.create_folder(&path("a/b")).unwrap();
    root.create_folder(&path("a/b")).unwrap();
    root.create(&file, b"one").unwrap();
    root.persist(&file).unwrap();
    root.persist(&path("a/b")).unwrap();
    assert_eq!(root.create(&file, b"two").unwrap_err().kind(), Kind::Exists);
    assert_eq!(&root.read(&file).unwrap()[..], b"one");
    root.replace(&[(file.clone(), b"three".to_vec())]).unwrap();
    let opened = root.open(&file).unwrap();
    assert_eq!((opened.len(), root.len(&file).unwrap()), (5, 5));
    let ranges = opened.read_ranges(&[3..5, 0..1, 5..5]).unwrap();
    assert_eq!([&ranges[0][..], &ranges[1], &ranges[2]], [b"ee" as &[u8], b"t", b""]);
    assert_eq!(opened.read_ranges(&[4..6]).err().unwrap().kind(), Kind::Corrupt);
    let entries = root.list(&path("a/b")).unwrap();
    assert_eq!(entries.len(), 1, "temporary files are gone: {entries:?}");
    assert_eq!((entries[0].kind, entries[0].len), (EntryKind::File, 5));
    assert_eq!(root.list(&RelPath::root()).unwrap()[0].kind, EntryKind::Folder);
    let mut journal = root.journal(&path("a/journal")).unwrap();
    journal.append(b"x\n").unwrap();
    journal.append(b"y\n").unwrap();
    drop(journal);
    assert!(!root.journal_is_held(&path("a/journal")).unwrap());
    assert_eq!(&root.read(&path("a/journal")).unwrap()[..], b"x\ny\n");
    assert_eq!(root.journal(&path("a/journal")).err().unwrap().kind(), Kind::Exists);
    let held = root.lock(Duration::ZERO).unwrap();
    assert_eq!(root.lock(Duration::from_millis(20)).err().unwrap().kind(), Kind::Conflict);
    drop(held);
    drop(root.lock(Duration::ZERO).unwrap());
    assert!(root.remove_folder(&path("a/b")).is_err());
    root.remove(&file).unwrap();
    root.remove_folder(&path("a/b")).unwrap();
    assert_eq!(root.remove(&file).unwrap_err().kind(), Kind::NotFound);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FaultyRoot, LocalRoot, MemoryRoot, Root};

    #[test]
    fn every_root_keeps_the_rules() {
        let temp = tempfile::tempdir().unwrap();
        check(&LocalRoot::open(temp.path()).unwrap());
        let unmapped = tempfile::tempdir().unwrap();
        check(&LocalRoot::open(unmapped.path()).unwrap().with_mapping(false));
        check(&MemoryRoot::new());
        check(&FaultyRoot::new(MemoryRoot::new(), 1000));
    }

    #[test]
    fn a_living_writer_holds_its_journal() {
        let temp = tempfile::tempdir().unwrap();
        let root = LocalRoot::open(temp.path()).unwrap();
        let path = RelPath::new("journal").unwrap();
        let journal = root.journal(&path).unwrap();
        assert!(root.journal_is_held(&path).unwrap());
        drop(journal);
        assert!(!root.journal_is_held(&path).unwrap());
    }

    #[test]
    fn pipes_and_folders_are_no_files() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::create_dir(temp.path().join("folder")).unwrap();
        let root = LocalRoot::open(temp.path()).unwrap();
        for name in ["pipe", "folder"] {
            let error = root.read(&RelPath::new(name).unwrap()).unwrap_err();
            assert_eq!(error.kind(), Kind::Invalid, "{name}");
        }
    }

    #[test]
    fn large_files_read_the_same_mapped_or_not() {
        let temp = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..300_000u32).map(|n| n.to_le_bytes()[0]).collect();
        std::fs::write(temp.path().join("big"), &bytes).unwrap();
        let path = RelPath::new("big").unwrap();
        let mapped = LocalRoot::open(temp.path()).unwrap();
        assert_eq!(&mapped.read(&path).unwrap()[..], bytes);
        assert_eq!(&mapped.with_mapping(false).read(&path).unwrap()[..], bytes);
    }
}
