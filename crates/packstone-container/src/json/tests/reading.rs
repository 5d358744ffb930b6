//! What is accepted, what is noted, what is refused and how that is said.

use super::{plain, tolerant};
use crate::json;
use crate::json::{JsonErrorKind as Kind, Key, Note, NoteKind, ReadOptions, Value, Wide, read};

fn value(text: &str) -> Value {
    let document = plain(text).unwrap();
    assert_eq!((document.notes, document.notes_left_off), (vec![], 0));
    document.value
}

#[test]
fn reads_values() {
    for (text, expected) in [
        ("null", json!(null)),
        (" \n\t\r true \n", json!(true)),
        ("false", json!(false)),
        ("-12", json!(-12)),
        ("\"\"", json!("")),
        ("[]", json!([])),
        ("[ ]", json!([])),
        ("{\n}", json!({})),
        ("[[],{},[[]]]", json!([[], {}, [[]]])),
        (
            "{\"a\":{\"b\":[1,2,{\"c\":null}]},\"d\":\"e\"}",
            json!({"a": {"b": [1, 2, {"c": null}]}, "d": "e"}),
        ),
        (" { \"a\" : [ 1 , 2 ] , \"b\" : { } } ", json!({ "a": [1, 2], "b": {} })),
        ("{\"\":{\"\":0}}", json!({ "": { "": 0 } })),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn keeps_the_text_of_numbers() {
    for text in ["0", "-0", "1.0e5", "1.50", "1E+05", "1e400", "1180591620717411303424", "-0.0"] {
        assert_eq!(value(&format!("[{text}]")).to_string(), format!("[{text}]"));
    }
}

#[test]
fn decodes_strings() {
    for (text, expected) in [
        (r#""plain, and longer than eight bytes""#, "plain, and longer than eight bytes"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""a\u00e9\u00E9\u0000b""#, "aéé\0b"),
        (r#""é\u6f22漢\ud83d\ude00😀""#, "é漢漢😀😀"),
        ("\"\u{7f}\u{80}\u{2028}\u{ffff}\"", "\u{7f}\u{80}\u{2028}\u{ffff}"),
    ] {
        assert_eq!(value(text), Value::from(expected), "{text}");
    }
}

#[test]
fn keeps_unpaired_surrogates_in_strings_and_names() {
    let units = |units: &[u16]| Wide::from_units(units).unwrap();
    assert_eq!(value(r#""\ud800""#), units(&[0xd800]).into());
    assert_eq!(
        value(r#""a\udc80\ud800😀""#),
        units(&[0x61, 0xdc80, 0xd800, 0xd83d, 0xde00]).into()
    );
    assert_eq!(value(r#""\ude00\ud83d""#), units(&[0xde00, 0xd83d]).into());
    let object = value(r#"{"\udc80":1,"\\udc80":2}"#);
    let names: Vec<Key> = object.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, [units(&[0xdc80]).into(), Key::from("\\udc80")]);
    assert_eq!(object.get("\\udc80"), Some(&json!(2)));
}

#[test]
fn notes_duplicate_names_and_keeps_the_last_value() {
    let text = r#"{"a":1,"b":[0,{"x y":1,"x\u0020y":2,"z":0,"x y":3}],"a":{"c":5}}"#;
    let document = plain(text).unwrap();
    assert_eq!(document.value, json!({ "a": { "c": 5 }, "b": [0, { "x y": 3, "z": 0 }] }));
    let found: Vec<_> =
        document.notes.iter().map(|note| (note.kind, note.path.as_str(), note.offset)).collect();
    assert_eq!(
        found,
        [
            (NoteKind::DuplicateKey, r#"$.b[1]["x y"]"#, 23),
            (NoteKind::DuplicateKey, r#"$.b[1]["x y"]"#, 42),
            (NoteKind::DuplicateKey, "$.a", 52),
        ]
    );
    let error =
        read(text.as_bytes(), &ReadOptions::default().with_refused_duplicates(true)).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"expected distinct member names, found $.b[1]["x y"] again at line 1, column 24 (byte 23)"#
    );
}

#[test]
fn notes_duplicates_of_large_objects() {
    let members: Vec<String> = (0..500).map(|i| format!("\"{}\":{i}", i % 400)).collect();
    let document = plain(&format!("{{{}}}", members.join(","))).unwrap();
    assert_eq!(document.notes.len(), 100);
    assert_eq!(document.notes[7].path, "$[\"7\"]");
    assert_eq!(document.value.as_object().unwrap().len(), 400);
    assert_eq!(document.value.get("7"), Some(&json!(407)));
}

#[test]
fn reads_non_finite_numbers_only_where_allowed() {
    let text = r#"{"a":[NaN, Infinity],"b":-Infinity}"#;
    let document = read(text.as_bytes(), &tolerant()).unwrap();
    let note = |path: &str, offset| (NoteKind::NonFinite, path.to_owned(), offset);
    assert_eq!(
        document.notes.into_iter().map(|n: Note| (n.kind, n.path, n.offset)).collect::<Vec<_>>(),
        [note("$.a[0]", 6), note("$.a[1]", 11), note("$.b", 25)]
    );
    assert_eq!(document.value.get("b").unwrap().as_f64(), Some(f64::NEG_INFINITY));
    for (text, token) in [("NaN", "NaN"), ("[Infinity]", "Infinity"), ("-Infinity", "-Infinity")] {
        assert_eq!(plain(text).unwrap_err().kind, Kind::NonFinite { token });
    }
    let error = read(b"[nan]", &tolerant()).unwrap_err();
    assert_eq!((error.offset, error.kind), (2, Kind::Unexpected { expected: "null", found: 'a' }));
    let error = read(b"-Inf", &tolerant()).unwrap_err();
    assert_eq!((error.offset, error.kind), (4, Kind::Truncated { expected: "-Infinity" }));
}

#[test]
fn takes_a_byte_order_mark_only_where_allowed() {
    assert_eq!(plain("\u{feff}{}").unwrap_err().kind, Kind::ByteOrderMark);
    let document = read("\u{feff} [1]".as_bytes(), &tolerant()).unwrap();
    assert_eq!(document.value, json!([1]));
    assert_eq!((document.notes[0].kind, document.notes[0].offset), (NoteKind::ByteOrderMark, 0));
    let error = read("\u{feff}\u{feff}1".as_bytes(), &tolerant()).unwrap_err();
    assert_eq!(
        (error.offset, error.kind),
        (3, Kind::Unexpected { expected: "a value", found: '\u{feff}' })
    );
}

#[test]
fn says_what_is_wrong_and_where() {
    for (text, message) in [
        ("", "expected a value, found the end of the document at line 1, column 1 (byte 0)"),
        (" \n ", "expected a value, found the end of the document at line 2, column 2 (byte 3)"),
        ("[1,]", "expected a value, found ']' at line 1, column 4 (byte 3)"),
        ("[,1]", "expected a value, found ',' at line 1, column 2 (byte 1)"),
        (
            "[1 2]",
            "expected a comma or the end of the array, found '2' at line 1, column 4 (byte 3)",
        ),
        ("[1}", "expected a comma or the end of the array, found '}' at line 1, column 3 (byte 2)"),
        ("{\"a\":1,}", "expected a member name, found '}' at line 1, column 8 (byte 7)"),
        (
            "{a:1}",
            "expected a member name or the end of the object, found 'a' at line 1, column 2 (byte 1)",
        ),
        ("{\"a\" 1}", "expected a colon, found '1' at line 1, column 6 (byte 5)"),
        ("{\"a\":}", "expected a value, found '}' at line 1, column 6 (byte 5)"),
        (
            "{\"a\":1 \"b\"",
            "expected a comma or the end of the object, found '\"' at line 1, column 8 (byte 7)",
        ),
        (
            "{\"a\":[1",
            "expected a comma or the end of the array, found the end of the document at line 1, column 8 (byte 7)",
        ),
        ("// x\n1", "expected a value, found '/' at line 1, column 1 (byte 0)"),
        ("1 // x", "expected the end of the document, found '/' at line 1, column 3 (byte 2)"),
        ("{}\n\né", "expected the end of the document, found 'é' at line 3, column 1 (byte 4)"),
        ("null\0", "expected the end of the document, found '\\0' at line 1, column 5 (byte 4)"),
        ("\u{a0}1", "expected a value, found '\\u{a0}' at line 1, column 1 (byte 0)"),
        ("'a'", "expected a value, found '\\'' at line 1, column 1 (byte 0)"),
        ("nul", "expected null, found the end of the document at line 1, column 4 (byte 3)"),
        ("[tRue]", "expected true, found 'R' at line 1, column 3 (byte 2)"),
        ("truely", "expected the end of the document, found 'l' at line 1, column 5 (byte 4)"),
        ("[01]", "expected a number without leading zeros at line 1, column 2 (byte 1)"),
        ("-012", "expected a number without leading zeros at line 1, column 2 (byte 1)"),
        ("[1.]", "expected a digit, found ']' at line 1, column 4 (byte 3)"),
        ("-", "expected a digit, found the end of the document at line 1, column 2 (byte 1)"),
        ("1e+", "expected a digit, found the end of the document at line 1, column 4 (byte 3)"),
        ("+1", "expected a value, found '+' at line 1, column 1 (byte 0)"),
        (".5", "expected a value, found '.' at line 1, column 1 (byte 0)"),
        ("0x10", "expected the end of the document, found 'x' at line 1, column 2 (byte 1)"),
        (
            "\"abc",
            "expected the end of the string, found the end of the document at line 1, column 5 (byte 4)",
        ),
        (
            "\"\\",
            "expected one of \"\\/bfnrtu, found the end of the document at line 1, column 3 (byte 2)",
        ),
        ("[\"é\\x\"]", "expected one of \"\\/bfnrtu, found 'x' at line 1, column 5 (byte 5)"),
        ("\"\\u12g4\"", "expected a hexadecimal digit, found 'g' at line 1, column 6 (byte 5)"),
        ("\"\\u00é\"", "expected a hexadecimal digit, found 'é' at line 1, column 6 (byte 5)"),
        (
            "\"a\nb\"",
            "expected an escape, found the bare control character '\\n' at line 1, column 3 (byte 2)",
        ),
        (
            "{\"a\tb\":1}",
            "expected an escape, found the bare control character '\\t' at line 1, column 4 (byte 3)",
        ),
        ("\u{feff}1", "expected JSON, found a byte order mark at line 1, column 1 (byte 0)"),
        ("[NaN]", "expected a finite number, found NaN at line 1, column 2 (byte 1)"),
        (
            "{\n  \"a\": 1,\r\n  \"é\": ?\n}",
            "expected a value, found '?' at line 3, column 8 (byte 21)",
        ),
    ] {
        assert_eq!(plain(text).unwrap_err().to_string(), message, "{text:?}");
    }
}

#[test]
fn refuses_what_is_not_utf8() {
    for (bytes, offset) in [
        (&b"\"ab\xff\""[..], 3),
        (b"\"\xc0\xaf\"", 1),
        (b"\"\xed\xa0\x80\"", 1),
        (b"\"a\xe6\xbc", 2),
        (b"\xff\xfe{\0}\0", 0),
        (b"{}\x80", 2),
    ] {
        let error = read(bytes, &tolerant()).unwrap_err();
        assert_eq!((error.offset, error.kind), (offset, Kind::InvalidUtf8), "{bytes:?}");
    }
}
