//! `pack`, `unpack`, `refresh`, and tensordicts as targets of `convert`.

use std::path::Path;

use packstone_testkit::{Snapshot, copy_folder};

use crate::support::{Look, clean, golden, golden_of, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_tree_is_packed_and_unpacked_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let source = golden_of("tensordict", "everything/data");
    let before = Snapshot::of(Path::new(&source));
    for compression in ["stored", "deflate", "bzip2", "lzma"] {
        let archive = folder.path().join(format!("{compression}.tdz"));
        let back = folder.path().join(compression);
        let packed = clean(["pack", &source, text(&archive), "--compression", compression]);
        assert!(packed.stdout.starts_with("packed 18 files, "), "{}", packed.stdout);
        clean(["verify", text(&archive)]);
        clean(["diff", &source, text(&archive)]);
        let unpacked = clean(["unpack", text(&archive), text(&back)]);
        assert!(unpacked.stdout.starts_with("unpacked 18 files, "), "{}", unpacked.stdout);
        for file in ["meta.json", "nt.memmap", "nest/k%2F1.memmap", "tc/_tensordict/x.memmap"] {
            let read = |root: &Path| std::fs::read(root.join(file)).unwrap();
            assert_eq!(read(&back), read(Path::new(&source)), "{file}");
        }
    }
    assert_eq!(Snapshot::of(Path::new(&source)), before);
}

#[test]
fn archives_have_the_date_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let source = golden_of("tensordict", "basic/data");
    let pack = |name: &str, more: &[&str]| {
        let archive = folder.path().join(name);
        let summary = clean(["pack", &source, text(&archive), "--json"].iter().chain(more)).line();
        assert_eq!((summary.text("command"), summary.number("files")), ("pack", 4));
        let bytes = std::fs::read(&archive).unwrap();
        assert_eq!(summary.number("bytes"), bytes.len() as u64);
        bytes
    };
    let plain = pack("a.tdz", &[]);
    assert_eq!(plain, pack("b.tdz", &[]));
    assert_eq!(plain[10..14], [0, 0, 0x21, 0]);
    assert_eq!(pack("c.tdz", &["--date", "2024-05-17 08:30:00"])[10..14], [0xc0, 0x43, 0xb1, 0x58]);
    let refused = run(["pack", &source, text(&folder.path().join("d.tdz")), "--date", "soon"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("[tensordict/option_invalid]"), "{}", refused.stderr);
    assert!(!folder.path().join("d.tdz").exists());
}

#[test]
fn what_no_document_names_is_packed_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("x");
    copy_folder(Path::new(&golden_of("tensordict", "basic/data")), &source);
    std::fs::write(source.join("notes.txt"), b"mine").unwrap();
    let files = |name: &str, more: &[&str]| {
        let archive = folder.path().join(name);
        let call = ["pack", text(&source), text(&archive), "--json"];
        clean(call.iter().chain(more)).line().number("files")
    };
    assert_eq!((files("a.tdz", &[]), files("b.tdz", &["--include-stray"])), (4, 5));
    // Keys that are file names as they are.
    let raw = golden_of("tensordict", "robust_key_false/data");
    let archive = folder.path().join("c.tdz");
    assert_eq!(run(["pack", &raw, text(&archive)]).code, 2);
    clean(["pack", &raw, text(&archive), "--raw-keys"]);
}

#[test]
fn nothing_that_is_there_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (tree, archive) =
        (golden_of("tensordict", "basic/data"), golden_of("tensordict", "tdz_stored/data.tdz"));
    let file = folder.path().join("file");
    std::fs::write(&file, b"mine").unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let before = Snapshot::of(folder.path());
    for name in ["file", "folder"] {
        let target = folder.path().join(name);
        for call in [["pack", &tree, text(&target)], ["unpack", &archive, text(&target)]] {
            let refused = run(call);
            assert_eq!(refused.code, 2);
            assert!(refused.stderr.contains("[site/exists]"), "{}", refused.stderr);
        }
    }
    for (verb, source, code) in [
        ("unpack", tree.as_str(), "tensordict/not_an_archive"),
        ("unpack", text(&file), "tensordict/not_an_archive"),
        ("refresh", &tree, "tensordict/not_an_archive"),
        ("pack", &golden_of("tensordict", "bad/truncated_leaf/data"), "tensordict/truncated_leaf"),
        (
            "unpack",
            &golden_of("tensordict", "bad/archive_bomb/data.tdz"),
            "tensordict/size_mismatch",
        ),
        (
            "unpack",
            &golden_of("tensordict", "bad/archive_traversal_names/data.tdz"),
            "tensordict/path_escape",
        ),
    ] {
        let new = folder.path().join("new");
        let mut call = vec![verb, source];
        if verb != "refresh" {
            call.push(text(&new));
        }
        let refused = run(call);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(code), "{verb}: {}", refused.stderr);
    }
    assert_eq!(Snapshot::of(folder.path()), before);
}

#[test]
fn checksums_are_refreshed_where_leaves_have_changed() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("a.tdz");
    std::fs::copy(golden_of("tensordict", "tdz_rplus_stale_crc/data.tdz"), &archive).unwrap();
    assert_eq!(run(["verify", text(&archive)]).code, 1);
    let summary = clean(["refresh", text(&archive), "--json"]).line();
    assert_eq!(
        (summary.number("stored"), summary.number("changed"), summary.number("compressed")),
        (5, 2, 0)
    );
    clean(["verify", text(&archive)]);
    assert_eq!(
        clean(["refresh", text(&archive)]).stdout,
        "refreshed 0 checksums; looked at 5 stored, kept those of 0 compressed\n"
    );
}

#[test]
fn sedpack_goes_into_tensordict_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = golden("fb_text_and_bytes");
    let digests = |path: &str| clean(["digest", path]).stdout;
    for (name, options) in [("tree", &[][..]), ("file.tdz", &["--compression", "deflate"])] {
        let there = folder.path().join(name);
        let call = ["convert", &source, text(&there), "--to", "tensordict"];
        let run = clean(call.iter().chain(options));
        assert!(run.stdout.contains("content is equal"), "{}", run.stdout);
        assert_eq!(digests(&source), digests(text(&there)));
        clean(["verify", text(&there)]);
        // A copy within the format is the same files.
        let copy = folder.path().join(format!("copy_{name}"));
        clean(["convert", text(&there), text(&copy), "--to", "tensordict"]);
        clean(["diff", text(&there), text(&copy)]);
        let back = folder.path().join(format!("back_{name}"));
        clean(["convert", text(&there), text(&back), "--to", "sedpack", "--strict"]);
        assert_eq!(digests(&source), digests(text(&back)));
    }
    let tree = folder.path().join("tree");
    let packed = folder.path().join("packed.tdz");
    clean(["pack", text(&tree), text(&packed)]);
    assert_eq!(digests(&source), digests(text(&packed)));
}

#[test]
fn datasets_of_other_formats_are_refused_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new");
    let cache = golden_of("datasetrt", "v3_basic_none/data/basic_none_s1");
    let sedpack = golden_of("sedpack", "fb_lz4/data");
    for (command, path, name) in [
        (vec!["pack", &cache, text(&target)], &cache, "datasetrt"),
        (vec!["pack", &sedpack, text(&target)], &sedpack, "sedpack"),
        (vec!["unpack", &cache, text(&target)], &cache, "datasetrt"),
        (vec!["refresh", &sedpack], &sedpack, "sedpack"),
    ] {
        let refused = run(command.iter().copied().chain(["--json"]));
        let error = refused.line();
        assert_eq!((refused.code, error.text("code")), (2, "cli/wrong_format"));
        assert_eq!(error.text("file"), path);
        let message = error.text("message");
        assert!(message.contains(command[0]) && message.contains(name), "{message}");
        assert!(!message.contains('\n') && !target.exists());
    }
    // What is no dataset is told by what is missing.
    let refused = run(["pack", text(folder.path()), text(&target)]);
    assert!(refused.stderr.contains("[tensordict/missing_meta]"), "{}", refused.stderr);
}
