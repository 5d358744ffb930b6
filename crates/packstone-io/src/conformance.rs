//! The suite that every writable root must pass.

use std::time::Duration;

use crate::buffer::Buf;
use crate::error::Kind;
use crate::path::RelPath;
use crate::root::{EntryKind, Name, RootMut};

/// Runs the whole suite on an empty root.
///
/// # Panics
/// Where the root breaks a rule; meant for tests.
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test suite, not library code")]
pub fn check(root: &dyn RootMut) {
    let path = |text: &str| RelPath::new(text).unwrap();
    let file = path("a/b/file");
    assert_eq!(root.read(&file).unwrap_err().kind(), Kind::NotFound);
    root.persist(&RelPath::root()).unwrap();
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
    editing(root);
    let entries = root.list(&path("a/b")).unwrap();
    assert_eq!(entries.len(), 1, "temporary files are gone: {entries:?}");
    assert_eq!((entries[0].kind, entries[0].len), (EntryKind::File, 5));
    for folder in [RelPath::root(), path("a"), path("a/b")] {
        let listed = root.list(&folder).unwrap().into_iter();
        let listed: Vec<Name> = listed.map(|e| Name { name: e.name, kind: e.kind }).collect();
        assert_eq!(root.names(&folder).unwrap(), listed);
    }
    assert_eq!(root.names(&path("none")).unwrap_err().kind(), Kind::NotFound);
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

/// Drafts, changes in place, and new names; leaves `a/b` as it found it.
#[expect(clippy::unwrap_used, reason = "a test suite, not library code")]
fn editing(root: &dyn RootMut) {
    let path = |text: &str| RelPath::new(text).unwrap();
    let (one, two) = (path("a/b/one"), path("a/c/two"));
    root.create_folder(&path("a/c")).unwrap();
    let mut draft = root.draft(&one).unwrap();
    draft.write(b"never").unwrap();
    drop(draft);
    assert_eq!(root.read(&one).unwrap_err().kind(), Kind::NotFound);
    for content in [&b"old"[..], b"new one"] {
        let mut draft = root.draft(&one).unwrap();
        content.chunks(2).for_each(|part| draft.write(part).unwrap());
        draft.publish().unwrap();
        assert_eq!(&root.read(&one).unwrap()[..], content);
    }
    let third = path("a/c/third");
    let mut drafts = [root.draft(&third).unwrap(), root.draft(&third).unwrap()];
    drafts.iter_mut().zip([b"1st", b"2nd"]).for_each(|(draft, part)| draft.write(part).unwrap());
    let named = drafts.map(|draft| draft.publish_new().map_err(|error| error.kind()));
    assert_eq!(named, [Ok(()), Err(Kind::Exists)]);
    assert_eq!(&root.read(&third).unwrap()[..], b"1st");
    root.remove(&third).unwrap();
    let mut scratch = root.scratch().unwrap();
    [&b"with"[..], b"out a name"].iter().for_each(|part| scratch.write(part).unwrap());
    let back = scratch.read_back().unwrap();
    assert_eq!((back.len(), &back.read_all().unwrap()[..]), (14, &b"without a name"[..]));
    assert_eq!(back.read_ranges(&[4..7]).unwrap(), [Buf::copy_from(b"out")]);
    assert_eq!(root.list(&RelPath::root()).unwrap().len(), 1, "a scratch has no name");
    root.persist_all().unwrap();
    let edit = root.edit(&one).unwrap();
    edit.write_at(4, b"two").unwrap();
    assert_eq!(edit.write_at(5, b"two").unwrap_err().kind(), Kind::Invalid);
    edit.set_len(9).unwrap();
    edit.sync().unwrap();
    assert_eq!((edit.len().unwrap(), edit.is_empty().unwrap()), (9, false));
    assert_eq!(&root.read(&one).unwrap()[..], b"new two\0\0");
    assert_eq!(root.edit(&two).err().unwrap().kind(), Kind::NotFound);
    root.create(&two, b"2").unwrap();
    assert_eq!(root.rename(&one, &two).unwrap_err().kind(), Kind::Exists);
    root.exchange(&path("a/b"), &path("a/c")).unwrap();
    assert_eq!(&root.read(&path("a/b/two")).unwrap()[..], b"2");
    root.exchange(&path("a/b"), &path("a/c")).unwrap();
    root.rename(&one, &path("a/c/one")).unwrap();
    assert_eq!(root.rename(&one, &path("a/c/none")).unwrap_err().kind(), Kind::NotFound);
    root.remove(&path("a/c/one")).unwrap();
    root.remove(&two).unwrap();
    root.remove_folder(&path("a/c")).unwrap();
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
        let lean = tempfile::tempdir().unwrap();
        check(&LocalRoot::open_lean(lean.path()).unwrap());
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
    fn a_lean_root_notices_that_its_folder_was_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let place = temp.path().join("d");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("f"), b"old").unwrap();
        let (held, lean) =
            (LocalRoot::open(&place).unwrap(), LocalRoot::open_lean(&place).unwrap());
        std::fs::rename(&place, temp.path().join("aside")).unwrap();
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("f"), b"new").unwrap();
        let file = RelPath::new("f").unwrap();
        assert_eq!(&held.read(&file).unwrap()[..], b"old");
        assert_eq!(lean.read(&file).unwrap_err().kind(), Kind::Conflict);
    }

    #[test]
    fn a_replaced_file_leaves_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let place = temp.path().join("f");
        std::fs::write(&place, b"old").unwrap();
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o640)).unwrap();
        let root = LocalRoot::open(temp.path()).unwrap();
        let mut draft = root.draft(&RelPath::new("f").unwrap()).unwrap();
        draft.write(b"new").unwrap();
        draft.publish().unwrap();
        assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_root_that_fails_fails_within_files_too() {
        let file = RelPath::new("f").unwrap();
        for good in 0..10 {
            let root = FaultyRoot::new(MemoryRoot::new(), good);
            let write = || {
                let mut draft = root.draft(&file)?;
                draft.write(b"ab")?;
                draft.publish()?;
                let edit = root.edit(&file)?;
                edit.write_at(0, b"c")?;
                edit.sync()?;
                root.scratch()?.write(b"d")
            };
            assert_eq!(write().is_ok(), good > 8, "{good}");
            assert_eq!(root.read(&file).is_ok(), good > 2, "{good}");
        }
    }

    #[test]
    fn entries_are_told_apart_without_following_links() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("file"), b"123").unwrap();
        std::fs::create_dir(temp.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("file", temp.path().join("link")).unwrap();
        let pipe = temp.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let many: Vec<String> = (0..2000).map(|n| format!("x{n:04}{}", "y".repeat(100))).collect();
        many.iter().for_each(|name| std::fs::write(temp.path().join(name), name).unwrap());
        let root = LocalRoot::open(temp.path()).unwrap();
        let listed = root.list(&RelPath::root()).unwrap();
        let found: Vec<_> =
            listed.iter().take(4).map(|e| (e.name.as_str(), e.kind, e.len)).collect();
        use EntryKind::{File, Folder, Other};
        assert_eq!(
            found,
            [("file", File, 3), ("folder", Folder, 0), ("link", Other, 0), ("pipe", Other, 0)]
        );
        assert!(listed.iter().skip(4).map(|e| &e.name).eq(&many));
        let names = root.names(&RelPath::root()).unwrap();
        assert!(
            names.iter().map(|n| (&n.name, n.kind)).eq(listed.iter().map(|e| (&e.name, e.kind)))
        );
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
        let at_hand = |root: &LocalRoot| root.open(&path).unwrap().at_hand().unwrap();
        assert_eq!(&at_hand(&mapped).unwrap()[..], bytes);
        let unmapped = mapped.with_mapping(false);
        assert_eq!(&unmapped.read(&path).unwrap()[..], bytes);
        // What is neither mapped nor small is left where it is.
        assert_eq!(at_hand(&unmapped).is_some(), bytes.len() < 256 << 10);
    }

    #[test]
    fn a_file_behind_a_link_is_replaced_where_it_lies() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("real")).unwrap();
        std::fs::create_dir(temp.path().join("shown")).unwrap();
        std::fs::write(temp.path().join("real/x"), b"old").unwrap();
        let link = temp.path().join("shown/y");
        std::os::unix::fs::symlink("../real/x", &link).unwrap();
        let (root, name, real) = LocalRoot::holding(&link).unwrap();
        assert_eq!(real, temp.path().canonicalize().unwrap().join("real/x"));
        let mut draft = root.draft(&name).unwrap();
        draft.write(b"new").unwrap();
        draft.publish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&link).unwrap(), b"new");
        assert!(LocalRoot::holding(temp.path().join("none")).is_err());
    }
}
