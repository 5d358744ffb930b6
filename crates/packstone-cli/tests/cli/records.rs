//! Bare ArrayRecord files on the command line.

use std::path::Path;

use crate::support::{Look, clean, golden, golden_of, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn file(name: &str) -> String {
    golden_of("arrayrecord", &format!("{name}.arrayrecord"))
}

#[test]
fn files_are_shown_read_and_checked() {
    let three = file("three_zstd");
    let shown = clean(["inspect", &three, "--json"]).line();
    assert_eq!((shown.text("format"), shown.number("samples")), ("arrayrecord", 3));
    let native = shown.at("native");
    assert_eq!((native.number("group_size"), native.number("chunks")), (1, 3));
    assert_eq!(native.text("compression"), "zstd:3");
    assert!(clean(["inspect", &three]).stdout.contains("writer_options"));
    let head = clean(["head", &three, "-n", "1"]);
    assert!(head.stdout.contains("68656c6c6f"), "{}", head.stdout);
    let lines = clean(["dump", &three]).lines();
    assert_eq!(lines.len(), 3);
    clean(["verify", &three]);
    // Two files as one.
    let two = clean(["digest", &three, &file("one_none")]).stdout;
    assert!(two.contains('4'), "{two}");
    assert_eq!(clean(["dump", &three, &file("one_none")]).lines().len(), 4);
    assert_eq!(clean(["select", &three, "--count"]).stdout, "3 of 3 samples\n");
}

#[test]
fn damage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.arrayrecord");
    let mut bytes = std::fs::read(file("three_none")).unwrap();
    bytes[110] ^= 1;
    std::fs::write(&bad, &bytes).unwrap();
    let found = run(["verify", text(&bad)]);
    assert_eq!(found.code, 1);
    assert!(found.stdout.contains("[arrayrecord/chunk_data_hash]"), "{}", found.stdout);
    let refused = run(["dump", text(&bad)]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("record 0"), "{}", refused.stderr);
    // A file that was cut is mended in place.
    bytes[110] ^= 1;
    std::fs::write(&bad, &bytes[..70_000]).unwrap();
    assert!(run(["inspect", text(&bad)]).stderr.contains("[arrayrecord/file_size]"));
    clean(["repair", text(&bad)]);
    assert_eq!(std::fs::read(&bad).unwrap(), bytes);
}

#[test]
fn datasets_go_into_a_file_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = golden("fb_text_and_bytes");
    let there = folder.path().join("x.arrayrecord");
    let options = ["--compression", "brotli:5", "--option", "group_size=2"];
    let call = ["convert", &source, text(&there), "--to", "arrayrecord"];
    let done = clean(call.iter().chain(&options));
    assert!(done.stdout.contains("content is equal"), "{}", done.stdout);
    let native = clean(["inspect", text(&there), "--json"]).line();
    assert_eq!(native.at("native").text("compression"), "brotli:5");
    clean(["verify", text(&there)]);
    clean(["diff", &source, text(&there)]);
    let back = folder.path().join("back");
    clean(["convert", text(&there), text(&back), "--to", "sedpack", "--strict"]);
    clean(["diff", &source, text(&back)]);
    // Nothing is replaced, and the name has to say what it is.
    for (target, code) in
        [(&there, "site/exists"), (&folder.path().join("y"), "arrayrecord/not_a_file")]
    {
        let refused = run(["convert", &source, text(target), "--to", "arrayrecord"]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(code), "{}", refused.stderr);
    }
    assert!(!folder.path().join("y").exists());
    let plain = folder.path().join("plain.arrayrecord");
    clean(["convert", &file("three_none"), text(&plain), "--to", "arrayrecord"]);
    assert_eq!(std::fs::read(plain).unwrap(), std::fs::read(file("three_none")).unwrap());
}
