//! What manifests are accepted and refused, as the library does; and that nothing of one is lost.

use packstone::Limits;
use packstone::error::Place;
use packstone::formats::datasetrt::codes::*;
use packstone::formats::datasetrt::document::Manifest;
use packstone_testkit::good_cases;

use crate::kit;
use crate::made::Made;

fn parse(text: &str) -> Result<Manifest, packstone::Error> {
    Manifest::parse(text.as_bytes(), &Place::file("manifest.json"), &Limits::default())
}

fn base() -> String {
    Made::of(&[b"x"]).manifest()
}

fn code(text: &str) -> &'static str {
    parse(text).map(|_| "ok").unwrap_or_else(|error| error.code())
}

#[test]
fn versions_are_two_types_with_their_own_ids() {
    let v3 = parse(&base()).unwrap();
    assert!(matches!(&v3, Manifest::V3(manifest) if manifest.cache_id == 1));
    assert_eq!((v3.version(), v3.cache_id(7)), (3, 1));
    let text = base().replace("\"format_version\": 3", "\"format_version\": 2");
    let v2 = parse(&text).unwrap();
    assert!(matches!(v2, Manifest::V2(_)));
    assert_eq!((v2.version(), v2.cache_id(7)), (2, 7));
    // The member that version 2 does not have is ignored, and told.
    let notes: Vec<_> = v2.contents().notes.iter().map(|note| note.code).collect();
    assert_eq!(notes, [V2_CACHE_ID]);
}

#[test]
fn ids_are_unsigned_integers_of_64_bits() {
    let with = |id: &str| code(&base().replace("\"cache_id\": 1", &format!("\"cache_id\": {id}")));
    for id in ["0", "1", "9223372036854775808", "18446744073709551615"] {
        assert_eq!(with(id), "ok", "{id}");
    }
    for id in ["-1", "-0", "18446744073709551616", "1.0", "1e0", "null", "\"1\"", "true", "[1]"] {
        assert_eq!(with(id), MANIFEST_INVALID, "{id}");
    }
    assert_eq!(code(&base().replace("\"cache_id\": 1,", "")), MANIFEST_INVALID);
    // No id is asked of version 2, whatever stands there.
    let old = base().replace(
        "\"format_version\": 3, \"cache_id\": 1",
        "\"format_version\": 2, \"cache_id\": null",
    );
    assert_eq!(code(&old), "ok");
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

#[test]
fn only_strict_json_of_one_object_is_read() {
    for (text, want) in [
        (String::new(), MANIFEST_NOT_JSON),
        (format!("\u{feff}{}", base()), MANIFEST_NOT_JSON),
        (format!("[{}]", base()), MANIFEST_NOT_JSON),
        (format!("{} x", base()), MANIFEST_NOT_JSON),
        (base().replace("\"made\"", "\"\\ud800\""), MANIFEST_NOT_JSON),
        (base().replacen('{', "{\"x\": {\"\\udc00\": 1},", 1), MANIFEST_NOT_JSON),
        (base().replacen('{', "{\"x\": NaN,", 1), MANIFEST_NOT_JSON),
        (base().replacen('{', "{// no\n", 1), MANIFEST_NOT_JSON),
        // The original's reader ends at doubles and at so many levels, in members that nobody knows as well.
        (base().replacen('{', "{\"x\": [-1e999],", 1), MANIFEST_NOT_JSON),
        (base().replacen("\"name\"", "\"name\": \"\\ud800\", \"name\"", 1), MANIFEST_NOT_JSON),
        (base().replacen('{', &format!("{{\"x\": 1{},", "0".repeat(309)), 1), MANIFEST_NOT_JSON),
        (base().replacen('{', &format!("{{\"x\": 1{},", "0".repeat(300)), 1), "ok"),
        (base().replacen('{', &format!("{{\"x\": {},", nested(127)), 1), MANIFEST_NOT_JSON),
        (base().replacen('{', &format!("{{\"x\": {},", nested(126)), 1), "ok"),
        (format!("{}\n\n ", base()), "ok"),
        (base().replacen('{', "{\"sample_count\": 1,", 1), MANIFEST_DUPLICATE_KEY),
        (base().replacen('{', "{\"x\": 1, \"x\": 2,", 1), MANIFEST_DUPLICATE_KEY),
    ] {
        assert_eq!(code(&text), want, "{text}");
    }
    let message = parse("{\n \"format_version\": x").unwrap_err().to_string();
    assert!(message.contains("line 2, column 20"), "{message}");
    for cut in 0..base().len() {
        assert!(parse(&base()[..cut]).is_err());
    }
}

#[test]
fn a_member_given_twice_inside_counts_with_its_last_value_and_is_told() {
    let text = base().replace("\"name\": \"i\"", "\"name\": \"j\", \"name\": \"i\"");
    let manifest = parse(&text).unwrap();
    assert_eq!(manifest.contents().columns[0].name, "i");
    let notes: Vec<_> = manifest.contents().notes.iter().map(|note| note.code).collect();
    assert_eq!(notes, [MANIFEST_DUPLICATE_KEY]);
    let root = Made::of(&[b"x"]).root();
    packstone::RootMut::replace(&root, &[(kit::path("manifest.json"), text.into_bytes())]).unwrap();
    let found: Vec<_> =
        kit::verdict(vec![std::sync::Arc::new(root)]).into_iter().map(|f| f.1).collect();
    assert!(found.contains(&MANIFEST_DUPLICATE_KEY), "{found:?}");
}

#[test]
fn members_have_their_shape() {
    for (from, to, want) in [
        ("\"kind\": \"int\"", "\"kind\": \"Int\"", MANIFEST_UNKNOWN_KIND),
        ("\"kind\": \"int\"", "\"kind\": 1", MANIFEST_INVALID),
        ("\"algo\": \"none\"", "\"algo\": \"zstd\"", MANIFEST_UNKNOWN_ALGO),
        ("\"ratio\": 1.0", "\"ratio\": 0", "ok"),
        ("\"ratio\": 1.0", "\"ratio\": -7", "ok"),
        ("\"ratio\": 1.0", "\"ratio\": \"1\"", MANIFEST_INVALID),
        ("\"ratio\": 1.0", "\"ratio\": 1e999", MANIFEST_NOT_JSON),
        ("\"sample_count\": 1", "\"sample_count\": 1.0", MANIFEST_INVALID),
        ("\"source_name\": \"made\"", "\"source_name\": \"any/thing\\n\"", "ok"),
        ("\"source_name\": \"made\"", "\"source_name\": 7", MANIFEST_INVALID),
        ("000000.bin", "sub/./x.bin", "ok"),
        ("000000.bin", ".", PATH_ESCAPE),
        ("000000.bin", "C:/x", PATH_ESCAPE),
        ("000000.bin", "a\\\\b", PATH_ESCAPE),
        (
            "[{\"name\": \"i\"",
            "[{\"name\": \"i\", \"kind\": \"int\"}, {\"name\": \"i\"",
            MANIFEST_INVALID,
        ),
        ("\"index_sha256\": \"", "\"index_sha256\": \"0", MANIFEST_INVALID),
        ("\"index_sha256\"", "\"index_md5\"", MANIFEST_INVALID),
    ] {
        let text = base().replacen(from, to, 1);
        assert_ne!(text, base(), "{from}");
        assert_eq!(code(&text), want, "{to}");
    }
}

#[test]
fn manifests_of_the_library_are_written_back_byte_for_byte() {
    let mut count = 0;
    for case in good_cases("datasetrt") {
        // The edited ones have another layout.
        if case.name == "v3_manifest_variants" {
            continue;
        }
        for path in kit::paths(&case) {
            let file = case.data.parent().unwrap().join(path).join("manifest.json");
            let text = std::fs::read_to_string(file).unwrap();
            assert_eq!(parse(&text).unwrap().text(), text, "{}", case.name);
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn members_that_nobody_knows_survive_at_every_depth() {
    let text = base()
        .replacen('{', "{\"z\": {\"b\": 1.50, \"a\": [1E5, null]}, \"a\": -0,", 1)
        .replacen("{\"name\": \"i\"", "{\"more\": true, \"name\": \"i\"", 1)
        .replacen("\"ratio\": 1.0", "\"ratio\": 1.00, \"level\": 9", 1)
        .replacen("\"uncompressed", "\"x\": {\"y\": \"é\"}, \"uncompressed", 1);
    let again = parse(&text).unwrap().text();
    for kept in [
        "\"z\": {\n    \"a\": [\n      1E5,\n      null\n    ],\n    \"b\": 1.50\n  }",
        "\"a\": -0",
        "\"more\": true",
        "\"ratio\": 1.00,\n        \"level\": 9",
        "\"x\": {\n        \"y\": \"é\"\n      }",
    ] {
        assert!(again.contains(kept), "{kept}: {again}");
    }
    assert_eq!(parse(&again).unwrap().text(), again);
}
