//! `inspect`, `head`, `dump`, `formats`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use packstone_container::json::Value;
use packstone_testkit::good_cases;

use crate::support::{Look, clean, expected, golden, program, run};

#[test]
fn dump_tells_the_hashes_of_every_golden_case() {
    let mut samples = 0;
    for case in good_cases("sedpack") {
        let run = clean(["dump", "--verify", case.data.to_str().unwrap()]);
        let lines = run.lines();
        let splits = case.expected.at("splits").as_object().unwrap();
        let total: usize =
            splits.values().map(|s| s.at("examples").as_array().unwrap().len()).sum();
        assert_eq!(lines.len(), total, "{}", case.name);
        for (split, expected) in splits.iter() {
            let name = split.as_str().unwrap();
            let mut lines = lines.iter().filter(|line| line.text("collection") == name);
            let examples = expected.at("examples").as_array().unwrap();
            for (index, example) in examples.iter().enumerate() {
                let line = lines.next().unwrap();
                assert_eq!(line.text("type"), "sample");
                assert_eq!(line.number("index"), index as u64);
                let fields = line.at("fields").as_object().unwrap();
                assert_eq!(fields.len(), example.as_object().unwrap().len());
                for (name, expected) in example.as_object().unwrap().iter() {
                    let expected = expected.get("as_declared").unwrap_or(expected);
                    let found = fields.get(name.as_str().unwrap()).unwrap();
                    for member in ["sha256", "dtype"] {
                        assert_eq!(found.text(member), expected.text(member), "{}", case.name);
                    }
                    assert_eq!(found.number("nbytes"), expected.number("nbytes"), "{}", case.name);
                }
                samples += 1;
            }
        }
    }
    assert!(samples > 350, "{samples}");
}

#[test]
fn a_sample_has_its_shard_metadata_and_values() {
    let path = golden("fb_custom_metadata");
    let expected = expected("fb_custom_metadata");
    let shards = expected.at("splits").at("train").at("shards").as_array().unwrap().to_vec();
    for line in clean(["dump", "--values", &format!("{path}#train")]).lines() {
        let shard = shards
            .iter()
            .find(|shard| {
                shard.at("file_infos").as_array().unwrap()[0].text("file_path")
                    == line.text("shard")
            })
            .unwrap();
        assert_eq!(line.at("metadata"), shard.at("custom_metadata"));
        assert_eq!(line.at("values").at("x").as_array().unwrap().len(), 2);
    }
    let line =
        &clean(["dump", "--values", "--start=1", "--limit=1", &golden("fb_text_and_bytes")]).line();
    assert_eq!(line.at("values").to_string(), r#"{"text":"a","blob":"616263"}"#);
    assert_eq!(line.number("index"), 1);
    assert_eq!(line.at("metadata").to_string(), "{}");
    let keys: Vec<String> = line.as_object().unwrap().keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["type", "collection", "index", "shard", "fields", "metadata", "values"]);
}

#[test]
fn dump_selects_ranges_collections_and_fields_on_any_number_of_threads() {
    let path = golden("fb_multi_split");
    let all = clean(["dump", &path, "--threads", "0"]).lines();
    for threads in ["1", "3"] {
        assert_eq!(clean(["dump", &path, "--threads", threads]).lines(), all);
    }
    let of = |name: &str| -> Vec<Value> {
        all.iter().filter(|line| line.text("collection") == name).cloned().collect()
    };
    assert_eq!(clean(["dump", &format!("{path}#test")]).lines(), of("test"));
    assert_eq!(clean(["dump", &path, "--collection", "test"]).lines(), of("test"));
    let train = format!("{path}#train");
    let some = clean(["dump", &train, "--start", "1", "--limit", "3"]).lines();
    assert_eq!(some, of("train")[1..4]);
    assert_eq!(clean(["dump", &train, "--start", "999999"]).stdout, "");
    assert_eq!(clean(["dump", &train, "--limit", "0"]).stdout, "");

    let path = golden("tiny_aes_like");
    let lines = clean(["dump", &path, "--field", "plaintext", "key", "--limit", "1"]).lines();
    let names = lines[0].at("fields").as_object().unwrap().keys().map(ToString::to_string);
    assert_eq!(names.collect::<Vec<_>>(), ["plaintext", "key"]);
    let unknown = run(["dump", &path, "--field", "nosuch"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("trace1"), "{}", unknown.stderr);
}

#[test]
fn inspect_reads_one_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = golden("tiny_aes_like");
    let info = "dataset_info.json";
    std::fs::copy(format!("{path}/{info}"), folder.path().join(info)).unwrap();
    let line = clean(["inspect", "--json", folder.path().to_str().unwrap()]).line();
    assert_eq!((line.text("type"), line.text("format")), ("dataset", "sedpack"));
    assert_eq!(line.number("schema_version"), 1);
    assert_eq!((line.number("samples"), line.number("shards")), (40, 5));
    let field = &line.at("schema").as_array().unwrap()[0];
    assert_eq!((field.text("name"), field.text("dtype")), ("trace1", "float16"));
    assert_eq!(field.at("shape").to_string(), "[200]");
    let expected = expected("tiny_aes_like");
    assert_eq!(line.at("metadata"), expected.at("metadata"));
    let structure = expected.at("dataset_structure");
    assert_eq!(line.at("native").at("dataset_structure"), structure);
    for collection in line.at("collections").as_array().unwrap() {
        let split = expected.at("splits").at(collection.text("name"));
        assert_eq!(collection.number("samples"), split.number("number_of_examples"));
        assert_eq!(collection.number("shards"), split.number("number_of_shards"));
        assert!(collection.get("bytes").is_none());
    }

    let line = clean(["inspect", "--json", "--sizes", &format!("{path}#test")]).line();
    let collections = line.at("collections").as_array().unwrap();
    assert_eq!(collections.len(), 1);
    let shard = &expected.at("splits").at("test").at("shards").as_array().unwrap()[0];
    let file = shard.at("file_infos").as_array().unwrap()[0].text("file_path");
    let bytes = std::fs::metadata(format!("{path}/{file}")).unwrap().len();
    assert_eq!(collections[0].number("bytes"), bytes);
}

#[test]
fn people_get_tables_without_colour_on_a_pipe() {
    let run = clean(["inspect", "--sizes", &golden("tiny_aes_like")]);
    for part in ["trace1", "float16[200]", "400 B", "collection", "holdout", "KiB", "LZ4", "sha256"]
    {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(!run.stdout.contains('\x1b'));
    let run = clean(["head", "-n2", &format!("{}#train", golden("fb_text_and_bytes"))]);
    assert!(run.stdout.contains("#1") && !run.stdout.contains("#2"), "{}", run.stdout);
    assert!(run.stdout.contains("616263 (3 B)"), "{}", run.stdout);
    let lines = clean(["head", "-n2", "--json", &golden("fb_text_and_bytes")]).lines();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1].at("values").text("text"), "a");
}

#[test]
fn formats_tells_the_options_of_writing() {
    let lines = clean(["formats", "--json"]).lines();
    let line = lines.iter().find(|line| line.text("format") == "sedpack").unwrap();
    assert!(line.at("write_options").get("compression").is_some());
    assert!(clean(["formats"]).stdout.contains("examples_per_shard"));
}

#[test]
fn a_closed_pipe_is_success() {
    // More output than pipes and buffers hold.
    let path = golden("fb_large_lz4");
    let mut child = program()
        .args(["dump", "--values", &path])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(64, child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"type\":\"sample\""));
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
